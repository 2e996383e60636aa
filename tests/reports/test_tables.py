"""Tables of a run: pages, masks, CSV that no spreadsheet runs, Parquet that pandas reads, safe names."""

from __future__ import annotations

import csv
import io
import json
import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pandas
import pyarrow
import pyarrow.parquet
import pytest
from django.http import StreamingHttpResponse
from django.utils import timezone
from rest_framework.test import APIClient

from clusters.models import Cluster, Host, MaskRule
from console.core.models import AuditEntry
from reports.models import ReportRun
from reports.selectors import tables
from reports.selectors.cells import csv_cell, json_value
from reports.submitting.folders import folders_of
from reports.submitting.results import tables_of
from tests.platform_fixtures import People

pytestmark = pytest.mark.django_db
STORED = datetime(2026, 11, 16, 8, 30, tzinfo=UTC)


def rows(count: int, first: int = 0) -> pyarrow.Table:
    numbers = range(first, first + count)
    return pyarrow.table(
        {
            "topic": [f"topic-{number % 2}" for number in numbers],
            "offset": pyarrow.array([2**60 + number for number in numbers], pyarrow.int64()),
            "share": [number / 2 for number in numbers],
            "note": ["=cmd|calc"] * count,
            "key": [f"key-{number}" for number in numbers],
            "at": pyarrow.array([STORED] * count, pyarrow.timestamp("us", "UTC")),
            "body": pyarrow.array([b'{"card": 1}'] * count, pyarrow.binary()),
            "properties": pyarrow.array(
                [[("KEYS", "k"), ("shop", "7")]] * count, pyarrow.map_(pyarrow.string(), pyarrow.string())
            ),
        }
    )


@pytest.fixture
def run(shop: Cluster, host: Host) -> ReportRun:
    """Done, with a table of 25 rows in two parts of several row groups."""
    run_id = uuid.uuid4()
    folder = f"report=usage/day=2026-11-16/run={run_id}"
    place = folders_of(host.data_root).results / folder
    (place / "keys").mkdir(parents=True)
    (place / "summary.json").write_text("{}")
    pyarrow.parquet.write_table(rows(20), place / "keys" / "part-00000-x.parquet", row_group_size=6)
    pyarrow.parquet.write_table(rows(5, first=20), place / "keys" / "part-00001-x.parquet", row_group_size=6)
    now = timezone.now()
    return ReportRun.objects.create(
        id=run_id,
        cluster=shop,
        report="usage",
        host=host,
        state="done",
        folder=folder,
        tables=tables_of(place, {"tables": {"keys": {"rows": 25}}}),
        keep_days=1,
        created_by="t",
        created_at=now,
        expires_at=now + timedelta(days=1),
    )


def path(run: ReportRun, rest: str = "") -> str:
    return f"/api/v1/clusters/attached/reports/runs/{run.pk}/tables/keys/{rest}"


def content(response: StreamingHttpResponse) -> bytes:
    return b"".join(response.streaming_content)  # type: ignore[arg-type]


def test_a_page_has_its_rows_its_columns_and_the_count(api: APIClient, run: ReportRun) -> None:
    page = api.get(path(run), {"limit": 4, "offset": 18, "columns": "offset,share,at"}).json()
    assert (page["count"], page["is_masked"]) == ("25", False)
    assert [column["name"] for column in page["columns"]] == ["offset", "share", "at"]
    assert page["columns"][0]["type"] == "int64"
    at = "2026-11-16T08:30:00.000Z"
    assert page["rows"] == [[str(2**60 + number), number / 2, at] for number in range(18, 22)]
    whole = api.get(path(run), {"limit": 500}).json()
    assert len(whole["rows"]) == 25 and whole["rows"][0][7] == {"KEYS": "k", "shop": "7"}
    assert api.get(path(run), {"offset": 25}).json()["rows"] == []
    assert api.get(path(run), {"offset": 10**18}).json()["rows"] == []


def test_what_is_not_there_is_said_so(api: APIClient, run: ReportRun) -> None:
    assert api.get(path(run), {"columns": "nonsense"}).status_code == 400
    assert api.get(path(run, "download/"), {"format": "xlsx"}).status_code == 400
    here = f"/api/v1/clusters/attached/reports/runs/{run.pk}/tables/"
    for name in ("nothing", "..", "%2e%2e%2fkeys", "keys%00", "KEYS"):
        assert api.get(f"{here}{name}/").status_code in (400, 404), name
    ReportRun.objects.update(tables={"../../etc": {"rows": 1, "files": [{"name": "passwd", "bytes": 1}]}})
    assert api.get(f"{here}..%2F..%2Fetc/").status_code in (400, 404)
    ReportRun.objects.update(state="expired")
    assert api.get(path(run)).status_code == 410


def test_files_that_were_swapped_or_damaged_are_not_shown(api: APIClient, run: ReportRun, host: Host) -> None:
    part = folders_of(host.data_root).results / run.folder / "keys" / "part-00000-x.parquet"
    damaged = bytearray(part.read_bytes())
    damaged[-8:-4] = b"\xff\xff\xff\x7f"
    part.write_bytes(damaged)
    answer = api.get(path(run))
    assert (answer.status_code, answer.json()["code"]) == (422, "damaged")
    Host.objects.update(heartbeat_at=None)
    part.write_bytes(b"another size")
    answer = api.get(path(run))
    assert (answer.status_code, answer.json()["code"]) == (503, "host_silent")


def test_parquet_is_one_file_that_pandas_reads(api: APIClient, run: ReportRun) -> None:
    answer = api.get(path(run, "download/"))
    assert answer["Content-Disposition"] == f'attachment; filename="keys-{run.pk}.parquet"'
    frame = pandas.read_parquet(io.BytesIO(content(answer)))
    assert list(frame["offset"]) == [2**60 + number for number in range(25)]
    entry = AuditEntry.objects.get(action="report.download")
    assert (entry.target, entry.details["format"]) == ("keys", "parquet")


def test_a_single_part_is_sent_as_it_lies_there(api: APIClient, run: ReportRun, host: Host) -> None:
    run.tables["keys"]["files"].pop()
    run.save()
    part = folders_of(host.data_root).results / run.folder / "keys" / "part-00000-x.parquet"
    assert content(api.get(path(run, "download/"))) == part.read_bytes()


def test_csv_has_every_row_and_no_formula(api: APIClient, run: ReportRun) -> None:
    answer = api.get(path(run, "download/"), {"format": "csv"})
    found = list(csv.DictReader(io.StringIO(content(answer).decode())))
    assert (len(found), found[3]["offset"], found[3]["at"]) == (
        25,
        str(2**60 + 3),
        "2026-11-16T08:30:00.000Z",
    )
    assert found[0]["note"] == "'=cmd|calc"
    assert json.loads(found[0]["properties"]) == {"KEYS": "k", "shop": "7"}


@pytest.mark.parametrize(
    ("value", "cell"),
    [
        ("=1+1", "'=1+1"),
        ("+1", "'+1"),
        ("-1", "'-1"),
        ("@sum", "'@sum"),
        ("\tx", "'\tx"),
        (-5, -5),
        (None, ""),
        (b"\x00\xff", "AP8="),
        (["=a"], '["=a"]'),
        (True, True),
    ],
)
def test_cells(value: Any, cell: Any) -> None:
    assert csv_cell(value) == cell


def test_long_texts_of_a_page_are_cut_and_say_so() -> None:
    assert json_value("x" * 5000).endswith("…") and len(json_value("x" * 5000)) == 4097
    assert len(json_value(b"x" * 5000)) == 4097


def test_masks_hold_for_pages_and_downloads(people: People, run: ReportRun) -> None:
    MaskRule.objects.create(
        cluster_pattern="*",
        topic_pattern="topic-1",
        hides_body=True,
        properties=["KEYS"],
        created_by="t",
        created_at=timezone.now(),
    )
    page = people.viewer.get(path(run), {"columns": "key,body,properties", "limit": 2}).json()
    assert page["is_masked"] is True
    assert page["rows"][0][0] == "key-0" and page["rows"][1][0] == "•••"
    assert page["rows"][1][1] is None and page["rows"][1][2] == {"KEYS": "•••", "shop": "7"}
    frame = pandas.read_parquet(io.BytesIO(content(people.viewer.get(path(run, "download/")))))
    assert set(frame[frame["topic"] == "topic-1"]["key"]) == {"•••"}
    assert set(frame[frame["topic"] == "topic-0"]["key"]) == {f"key-{number}" for number in range(0, 25, 2)}
    text = content(people.viewer.get(path(run, "download/"), {"format": "csv"})).decode()
    assert "key-1," not in text and "key-2," in text
    assert people.admin.get(path(run), {"columns": "key", "limit": 2}).json()["rows"][1] == ["key-1"]


def test_roles_of_tables(people: People, run: ReportRun) -> None:
    assert people.viewer.get(path(run, "download/")).status_code == 200
    assert people.other.get(path(run)).status_code == 404
    assert people.anonymous.get(path(run)).status_code == 401


def test_a_page_reads_the_row_groups_that_it_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "part-0.parquet"
    pyarrow.parquet.write_table(rows(100), file, row_group_size=10)
    asked: list[list[int]] = []
    real = pyarrow.parquet.ParquetFile.iter_batches

    def noted(self: Any, *args: Any, **kwargs: Any) -> Any:
        asked.append(kwargs["row_groups"])
        return real(self, *args, **kwargs)

    monkeypatch.setattr(pyarrow.parquet.ParquetFile, "iter_batches", noted)
    batch = tables.page([file], None, offset=95, limit=3)
    assert batch is not None and batch.num_rows == 3 and asked == [[9]]
