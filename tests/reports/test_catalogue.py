"""Options of reports: what may be asked, what the job gets for it, and that jobs know every one of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from rest_framework.test import APIClient

from console.core.problems import Problem
from reports.selectors.catalogue import REPORTS, find_report
from reports.submitting.commands import Submission, command_of, environment_of
from tests.platform_fixtures import People

JOBS = Path(__file__).parents[2] / "spark" / "jobs"


@pytest.mark.parametrize(
    ("report", "options", "words"),
    [
        ("retention", {}, []),
        (
            "retention",
            {"reserved_hours": 48, "settings": "24,72"},
            ["--reserved-hours=48", "--settings=24,72"],
        ),
        ("message_trace", {"topic": ["a", "%RETRY%b"], "slow_call_ms": 5}, ["--topic=a", "--topic=%RETRY%b"]),
        ("usage", {"label": ["topic:pay-*=money"], "hot_share": 0.5}, ["--label=topic:pay-*=money"]),
    ],
)
def test_every_value_stands_behind_its_own_name(
    report: str, options: dict[str, Any], words: list[str]
) -> None:
    said = find_report(report).words(options)
    assert set(words) <= set(said) and all(word.startswith("--") for word in said)


@pytest.mark.parametrize(
    ("report", "options", "field"),
    [
        ("retention", {"reserved_hours": 0}, "options.reserved_hours"),
        ("retention", {"reserved_hours": "72"}, "options.reserved_hours"),
        ("retention", {"reserved_hours": True}, "options.reserved_hours"),
        ("retention", {"full_ratio": float("nan")}, "options.full_ratio"),
        ("retention", {"settings": "1;rm -rf"}, "options.settings"),
        ("retention", {"output": "/etc"}, "options.output"),
        ("message_trace", {"topic": "a"}, "options.topic"),
        ("message_trace", {"topic": ["--output=/etc\n"]}, "options.topic"),
        ("usage", {"labels": "/etc/passwd"}, "options.labels"),
        ("usage", {"label": ["topic:a"]}, "options.label"),
        ("audit", {"anything": 1}, "options.anything"),
    ],
)
def test_what_a_report_does_not_take_is_refused_by_name(
    report: str, options: dict[str, Any], field: str
) -> None:
    with pytest.raises(Problem) as refused:
        find_report(report).words(options)
    assert (refused.value.status, refused.value.errors[0]["field"]) == (400, field)


@pytest.mark.parametrize("report", REPORTS, ids=lambda report: report.name)
def test_the_job_of_every_report_knows_every_option(report: Any) -> None:
    text = (JOBS / report.job).read_text()
    for option in report.options:
        flag = option.word if not option.word.startswith("--price-per-") else "--price-per-"
        assert f'"{flag}' in text, f"{report.job} has no {option.word}"


def submission(**changes: Any) -> Submission:
    values: dict[str, Any] = {
        "spark_submit": Path("/spark/bin/spark-submit"),
        "job": Path("/jobs/retention.py"),
        "master": "local[*]",
        "memory_mb": 3072,
        "cluster": "shop",
        "stores": ("shop/broker-a=/data/a",),
        "begin": None,
        "end": None,
        "time_zone": "UTC",
        "run_id": "7",
        "output": Path("/out"),
        "progress": Path("/progress"),
        "temporary": Path("/temporary"),
        "arguments": ("--reserved-hours=48",),
    }
    return Submission(**(values | changes))


def test_the_command_is_the_contracts_and_its_heap_a_third() -> None:
    words = command_of(submission())
    assert words[:5] == ["/spark/bin/spark-submit", "--master", "local[*]", "--driver-memory", "1024m"]
    after = words[words.index("/jobs/retention.py") + 1 :]
    assert after == [
        "--store=shop/broker-a=/data/a",
        "--cluster=shop",
        "--time-zone=UTC",
        "--run-id=7",
        "--output=/out",
        "--progress=/progress",
        "--reserved-hours=48",
    ]


def test_sparks_environment_has_what_it_needs_and_no_secret() -> None:
    given = {
        "PATH": "/bin",
        "JAVA_HOME": "/java",
        "AWS_REGION": "x",
        "SIGNALBOX_CONSOLE_KEY": "secret",
        "DATABASE_URL": "postgres://u:secret@h/d",
        "REDIS_URL": "redis://:secret@h",
    }
    made = environment_of(given, master="local[2]", python="/py", sources=[Path("/repo")])
    assert "secret" not in str(made)
    assert (made["PYTHONPATH"], made["PYSPARK_PYTHON"], made["SPARK_LOCAL_IP"]) == (
        "/repo",
        "/py",
        "127.0.0.1",
    )
    assert "SPARK_LOCAL_IP" not in environment_of(given, master="spark://h:7077", python="/py", sources=[])


def test_the_catalogue_describes_every_report_and_names_hosts_to_few(people: People) -> None:
    found = people.viewer.get("/api/v1/reports/").json()
    assert [report["name"] for report in found["reports"]] == ["message_trace", "retention", "usage", "audit"]
    assert all(option["about"] for report in found["reports"] for option in report["options"])
    assert (found["is_available"], found["hosts"]) == (None, [])
    assert people.other.get("/api/v1/reports/").json()["hosts"] == []
    assert people.anonymous.get("/api/v1/reports/").status_code == 401


def test_the_schema_names_the_options_of_every_report(api: APIClient) -> None:
    text = api.get("/api/v1/schema/").content.decode()
    for report in REPORTS:
        for option in report.options if report.is_listed else ():
            assert f"{option.name}:" in text
