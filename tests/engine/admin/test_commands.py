"""The command line against a real name server and broker: tables, JSON, errors, exit codes."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from engine.admin.commands import Facts, Table, registered
from engine.admin.main import build_parser, main
from engine.admin.rendering import Renderer, printable
from engine.admin.times import shown_time, timestamp
from tests.engine.client.conftest import cluster, fresh, namesrv

__all__ = ["cluster", "fresh", "namesrv"]

CLUSTER = "DefaultCluster"


@pytest.fixture
def run(namesrv, capsys):
    def call(*arguments: str, status: int = 0) -> str:
        capsys.readouterr()
        assert main([arguments[0], "-n", namesrv, *arguments[1:]]) == status
        captured = capsys.readouterr()
        return captured.out if status == 0 else captured.err

    return call


@pytest.fixture
def ask(run):
    """The command's JSON; commands that show several tables give several lines."""

    def call(*arguments: str):
        lines = run(*arguments, "--json").splitlines()
        return (
            json.loads(lines[0]) if len(lines) == 1 else [item for line in lines for item in json.loads(line)]
        )

    return call


@pytest.fixture
def cluster_name(ask) -> str:
    return ask("clusterList")[0]["cluster"]


@pytest.fixture
def broker(cluster) -> str:
    return cluster.broker


@pytest.fixture
def topic(run, fresh, cluster_name) -> str:
    name = fresh("admin")
    run("updateTopic", "-c", cluster_name, "-t", name, "-r", "2", "-w", "2")
    return name


def test_a_sent_message_is_found_in_every_way(run, ask, topic):
    (sent,) = ask("sendMessage", "-t", topic, "-p", "hi there", "-k", "k1 k2", "-c", "tagA")
    assert sent["send_result"] == "SEND_OK"
    place = (sent["broker_name"], str(sent["qid"]), str(sent["offset"]))
    by_offset = ask("queryMsgByOffset", "-t", topic, "-b", place[0], "-i", place[1], "-o", place[2])
    assert (by_offset["Body"], by_offset["Tags"], by_offset["Keys"]) == ("hi there", "tagA", "k1 k2")
    assert ask("queryMsgById", "-i", by_offset["OffsetID"], "-t", topic)["Body"] == "hi there"
    assert ask("queryMsgByUniqueKey", "-t", topic, "-i", sent["message_id"])["Body"] == "hi there"
    assert [row["body"] for row in ask("queryMsgByKey", "-t", topic, "-k", "k2")] == ["hi there"]
    assert [row["body"] for row in ask("printMsg", "-t", topic)] == ["hi there"]
    assert ask("printMsg", "-t", topic, "-d", "false")[0]["body"] is None
    assert [row["body"] for row in ask("consumeMessage", "-t", topic)] == ["hi there"]
    assert [row["size"] > 0 for row in ask("queryCq", "-t", topic, "-q", place[1], "-i", "0")] == [True]
    assert "hi there" in run("printMsgByQueue", "-t", topic, "-a", place[0], "-i", place[1])


def test_a_message_goes_to_the_queue_that_was_named(ask, topic, cluster):
    (sent,) = ask("sendMessage", "-t", topic, "-p", "x", "-b", cluster.broker_name, "-i", "1")
    assert (sent["broker_name"], sent["qid"]) == (cluster.broker_name, 1)


def test_topics_are_listed_shown_changed_and_deleted(run, ask, topic, cluster_name):
    assert {"topic": topic} in ask("topicList")
    (route,) = ask("topicRoute", "-t", topic)["queueDatas"]
    assert (route["readQueueNums"], route["perm"]) == (2, 6)
    assert [row["qid"] for row in ask("topicStatus", "-t", topic)] == [0, 1]
    assert ask("topicClusterList", "-t", topic) == [{"cluster": cluster_name}]
    (changed,) = ask("updateTopicPerm", "-t", topic, "-p", "4")
    assert (changed["from"], changed["to"]) == (6, 4)
    assert topic in run("topicList", "-c")
    run("deleteTopic", "-t", topic, "-c", cluster_name)
    assert {"topic": topic} not in ask("topicList")
    assert "TOPIC_NOT_EXIST (17)" in run("topicStatus", "-t", topic, status=1)


def test_groups_are_made_moved_and_deleted(run, ask, topic, fresh, cluster_name, cluster):
    group, other = fresh("admin-group"), fresh("admin-group")
    for name in (group, other):
        run("updateSubGroup", "-c", cluster_name, "-g", name, "-r", "3")
    assert {"broker": cluster.broker, "name": "retryMaxTimes", "value": 3} in ask(
        "getConsumerConfig", "-g", group
    )
    for text in ("a", "b"):
        ask("sendMessage", "-t", topic, "-p", text, "-b", cluster.broker_name, "-i", "0")
    assert {"broker_name": cluster.broker_name, "qid": 0, "offset": 2} in ask(
        "skipAccumulatedMessage", "-g", group, "-t", topic
    )
    assert {"broker_name": cluster.broker_name, "qid": 0, "offset": 0} in ask(
        "resetOffsetByTime", "-g", group, "-t", topic, "-s", "2020-01-01#00:00:00:000"
    )
    run("resetOffsetByTime", "-g", group, "-t", topic, "-b", cluster.broker, "-q", "0", "-o", "1")
    progress = {row["qid"]: row for row in ask("consumerProgress", "-g", group, "-t", topic)}
    assert (progress[0]["broker_offset"], progress[0]["consumer_offset"], progress[0]["diff"]) == (2, 1, 1)
    run("cloneGroupOffset", "-s", group, "-d", other, "-t", topic, "-o", "true")
    assert {row["qid"]: row["diff"] for row in ask("consumerProgress", "-g", other)}[0] == 1
    assert "Diff Total" in run("brokerConsumeStats", "-b", cluster.broker)
    run("deleteSubGroup", "-c", cluster_name, "-g", group)
    assert ask("getConsumerConfig", "-g", group) == []


def test_brokers_and_name_servers_tell_and_take_settings(run, ask, broker, cluster_name):
    (row,) = ask("clusterList")
    assert (row["addr"], row["version"], row["active"]) == (broker, "V5_3_3", "true")
    assert len(ask("clusterList", "-m")) == 1
    assert ask("brokerStatus", "-b", broker)[broker]["brokerVersionDesc"] == "V5_3_3"
    assert "traceOn" in ask("getBrokerConfig", "-c", cluster_name)[broker]
    run("updateBrokerConfig", "-b", broker, "-k", "traceOn", "-v", "false")
    assert ask("getBrokerConfig", "-b", broker)[broker]["traceOn"] == "false"
    run("updateBrokerConfig", "-b", broker, "-k", "traceOn", "-v", "true")
    assert "NO_PERMISSION (16)" in run(
        "updateBrokerConfig", "-b", broker, "-k", "storePathRootDir", "-v", "/x", status=1
    )
    assert any(row["name"] == "orderMessageEnable" for row in ask("getNamesrvConfig"))
    run("updateNamesrvConfig", "-k", "orderMessageEnable", "-v", "true")
    for command in ("cleanExpiredCQ", "cleanUnusedTopic", "deleteExpiredCommitLog"):
        assert "success" in run(command, "-b", broker)
    assert "topics" in ask("exportMetadata", "-b", broker)[broker]
    assert broker in ask("haStatus", "-b", broker)
    assert "master" in run("haStatus", "-b", broker)


def test_key_value_pairs_and_write_permission(run, ask, topic, cluster):
    run("updateKvConfig", "-s", "app", "-k", "colour", "-v", "blue")
    run("deleteKvConfig", "-s", "app", "-k", "colour")
    assert ask("updateOrderConf", "-t", topic, "-m", "put", "-v", "a:2")["orderConf"] == "a:2"
    assert ask("updateOrderConf", "-t", topic, "-m", "delete")["orderConf"] is None
    (wiped,) = ask("wipeWritePerm", "-b", cluster.broker_name)
    assert wiped["topics"] > 0
    assert ask("topicRoute", "-t", topic)["queueDatas"][0]["perm"] == 4
    ask("addWritePerm", "-b", cluster.broker_name)
    assert ask("topicRoute", "-t", topic)["queueDatas"][0]["perm"] == 6


def test_statistics_allocation_and_producers(run, ask, topic, broker):
    ask("sendMessage", "-t", topic, "-p", "x")
    (row,) = ask("statsAll", "-t", topic)
    assert row["topic"] == topic
    shares = ask("allocateMQ", "-t", topic, "-i", "c1,c2")
    assert [(share["client"], share["qid"]) for share in shares] == [("c1", 0), ("c2", 1)]
    assert ask("checkMsgSendRT", "-t", topic, "-a", "3")["sent"] == 3
    assert isinstance(ask("producer", "-b", broker), list)


@pytest.mark.parametrize(
    ("arguments", "status", "expected"),
    [
        (("topicRoute", "-t", "nothing-here"), 1, "TOPIC_NOT_EXIST (17)"),
        (("consumerProgress", "-g", "nobody"), 1, "CONSUMER_NOT_ONLINE (206)"),
        (("consumerConnection", "-g", "nobody"), 1, "CONSUMER_NOT_ONLINE (206)"),
        (("queryMsgById", "-i", "not-hex"), 2, "message id"),
        (("queryMsgById", "-i", "0A0000010000000100000000000000FF"), 2, "not a broker of this cluster"),
        (("deleteTopic", "-t", "x", "-c", "no-such-cluster"), 1, "no-such-cluster"),
        (("sendMessage", "-t", "../evil", "-p", "x"), 1, "evil"),
        (("sendMessage", "-t", "x", "-p", "x", "-b", "a"), 2, "--broker and --qid"),
        (("resetOffsetByTime", "-g", "g", "-t", "t", "-o", "5"), 2, "--broker and --queue"),
    ],
)
def test_bad_input_is_one_clear_line(run, arguments, status, expected):
    error = run(*arguments, status=status)
    assert expected in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ["updateTopic", "-t", "x"],
        ["updateTopic", "-t", "x", "-b", "h:1", "-r", "many"],
        ["updateTopic", "-t", "x", "-b", "h:1", "-p", "9"],
        ["topicRoute"],
        ["resetOffsetByTime", "-g", "g", "-t", "t", "-s", "yesterday"],
        ["updateSubGroup", "-b", "h:1", "-g", "g", "-s", "perhaps"],
        ["noSuchCommand"],
    ],
)
def test_wrong_use_exits_with_two(arguments, capsys):
    with pytest.raises(SystemExit) as exit_:
        main(arguments)
    assert exit_.value.code == 2
    assert "error" in capsys.readouterr().err


def test_an_unreachable_name_server_is_one_line(capsys):
    assert main(["clusterList", "-n", "127.0.0.1:1"]) == 1
    assert capsys.readouterr().err == (
        "error: no name server answers: cannot connect to 127.0.0.1:1: Connection refused\n"
    )


def test_every_command_has_help_and_an_example_that_parses():
    parser = build_parser()
    for command in registered().values():
        assert command.help
        assert command.example.split()[0] == command.name
        parser.parse_args(["".join(command.name), *_words(command.example)[1:]])


def _words(example: str) -> list[str]:
    import shlex

    return shlex.split(example)


def test_the_module_runs_and_a_closed_pipe_is_no_error(namesrv):
    root = Path(__file__).parents[3]
    command = f"{sys.executable} -m engine.admin topicList -n {namesrv} | head -1"
    done = subprocess.run(command, shell=True, cwd=root, env=dict(os.environ), capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "Topic\n"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_tables_are_aligned_in_a_pipe_and_drawn_on_a_terminal():
    table = Table(("Name", "Size"), [("a", 1), ("long-name", 22)], ("a note",))
    plain, drawn = io.StringIO(), Terminal()
    Renderer(plain).show(table)
    Renderer(drawn).show(table)
    assert plain.getvalue() == "Name       Size\na          1\nlong-name  22\na note\n"
    assert "long-name" in drawn.getvalue() and "a note" in drawn.getvalue()


def test_control_characters_of_strangers_are_shown_escaped():
    out = io.StringIO()
    Renderer(out).show(Facts({"Body": "\x1b[2Jgone\nforged : line"}))
    assert out.getvalue() == "Body : \\x1b[2Jgone\\nforged : line\n"
    assert printable(None) == "-"


def test_times_are_read_in_mqadmins_forms():
    moment = timestamp("2026-01-31#23:59:59:250")
    assert shown_time(moment) == "2026-01-31 23:59:59,250"
    assert timestamp("20260131235959") == moment - 250
    assert timestamp("1700000000000") == 1_700_000_000_000
    assert timestamp("now") > 1_700_000_000_000
    assert (shown_time(0), shown_time(10**18)) == ("-", "1000000000000000000")
