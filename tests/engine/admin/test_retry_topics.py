"""Groups without a retry topic: brokers make it at the first heartbeat after the group exists."""

from __future__ import annotations

from engine.client import MessageQueue, blocking
from tests.engine.admin.command_line import CommandLine, Names
from tests.engine.admin.conftest import until


def test_a_group_without_a_retry_topic_is_found(command_line: CommandLine, stage: Names) -> None:
    queue = MessageQueue(stage["topic"], stage["broker_name"], 0)
    with blocking.LitePullConsumer("lite", namesrv=stage["namesrv"]) as consumer:
        consumer.assign([queue])
        consumer.seek(queue, 1)
        assert len(until(lambda: consumer.poll(timeout_ms=1000))) == 1
        consumer.commit()
        until(lambda: command_line.run("consumerConnection -g lite").status == 0)
        command_line.done(f"deleteTopic -t %RETRY%lite -c {stage['cluster']}")
        (client,) = command_line.json("consumerConnection -g lite")["connectionSet"]
        assert list(command_line.json("consumerStatus -g lite")) == [client["clientId"]]
        (row,) = [row for row in command_line.json("consumerProgress") if row["group"] == "lite"]
        assert (row["count"], row["type"], row["diff_total"]) == (1, "CONSUME_ACTIVELY", 0)
