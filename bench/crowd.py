"""A broker with many topics and groups: how they are made, and the requests whose cost is measured.

Topics and groups are created by the administrators' list requests, each topic then gets one message (a topic
without messages has no queue on disk), and each group one heartbeat. Requests are spoken by
`tests.crash.wire`, `IN_FLIGHT` at a time on each connection, so that the broker's reads look alike whatever
the number of topics is.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from itertools import islice
from pathlib import Path

import orjson

from engine.protocol.codes import RequestCode
from tests.crash.wire import Address, Link, encode_request
from tests.interop.processes import Server, free_port_base
from tests.interop.remoting import is_listening
from tests.interop.signalbox import REPOSITORY, launch_name_server

HOST = "127.0.0.1"
CONNECTIONS = 20
IN_FLIGHT = 32
LIST_LENGTH = 2_000
BODY = b"x" * 128
_ANSWER_S = 120.0
_START_S = 300.0

Request = tuple[int, dict[str, str], bytes]
Progress = Callable[[str], None]


def topic_name(number: int) -> str:
    return f"topic-{number:06d}"


def group_name(number: int) -> str:
    return f"group-{number:06d}"


def process_cpu_s(pid: int) -> float:
    """Processor seconds of all threads so far, to the nanosecond: what clock_getcpuclockid leads to."""
    return time.clock_gettime((~pid << 3) | 2)


def resident_bytes(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    raise ValueError(f"/proc/{pid}/status says nothing of resident memory")


def descriptors(pid: int) -> int:
    return sum(1 for _ in Path(f"/proc/{pid}/fd").iterdir())


class ScaledBroker:
    """A name server and a broker below `home`, as an operator starts them."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._port = free_port_base()
        self._name_server = f"{HOST}:{free_port_base()}"
        config = {
            "brokerName": "scale",
            "brokerIP1": HOST,
            "listenPort": str(self._port),
            "namesrvAddr": self._name_server,
            "storePathRootDir": str(home / "store"),
            "diskMaxUsedSpaceRatio": "95",
            # The load comes as fast as it goes: it should be slow on a busy machine, and not refused.
            "brokerFastFailureEnable": "false",
        }
        (home / "broker.conf").write_text("".join(f"{key}={value}\n" for key, value in config.items()))
        self._servers = [launch_name_server(self._name_server, home)]
        self._servers[0].wait_until(lambda: is_listening(self._name_server))
        self.start()

    @property
    def address(self) -> Address:
        return HOST, self._port

    @property
    def pid(self) -> int:
        return self._servers[-1].pid

    def start(self) -> float:
        """Returns when it answers and is registered; the seconds that took."""
        begun = time.monotonic()
        log = self._home / "engine.broker.log"
        known = log.read_text().count(" ready on ") if log.exists() else 0
        self._servers.append(self._run("engine.broker", "-c", str(self._home / "broker.conf")))
        self._servers[-1].wait_until(lambda: log.read_text().count(" ready on ") > known, _START_S)
        return time.monotonic() - begun

    def stop(self) -> float:
        """By SIGTERM; the seconds until the process is gone."""
        begun = time.monotonic()
        if self._servers.pop().stop() != 0:
            raise RuntimeError("the broker did not end cleanly")
        return time.monotonic() - begun

    def kill(self) -> None:
        self._servers.pop().kill()

    def close(self) -> None:
        for server in reversed(self._servers):
            server.kill()

    def _run(self, module: str, *arguments: str) -> Server:
        return Server(
            [sys.executable, "-m", module, *arguments], self._home / f"{module}.log", None, REPOSITORY
        )


# -- requests -----------------------------------------------------------------------------------------------


def ask_all(address: Address, requests: Iterable[Request], expected: Sequence[int] = (0,)) -> int:
    """Sends all of them over `CONNECTIONS` connections, and waits for every answer; how many there were."""
    with ExitStack() as stack:
        links = [stack.enter_context(Link(address, _ANSWER_S)) for _ in range(CONNECTIONS)]
        return sum(1 for _ in _answers(links, iter(requests), expected))


def _answers(links: list[Link], requests: Iterator[Request], expected: Sequence[int]) -> Iterator[int]:
    while True:
        counts = [_write(link, list(islice(requests, IN_FLIGHT))) for link in links]
        if not any(counts):
            return
        for link, count in zip(links, counts, strict=True):
            while count > 0:
                for answer in link.receive(_ANSWER_S):
                    if answer.code not in expected:
                        raise RuntimeError(f"refused: {answer}")
                    count -= 1
                    yield answer.code


def _write(link: Link, requests: list[Request]) -> int:
    frames = [encode_request(code, link.next_opaque(), fields, body) for code, fields, body in requests]
    if frames:
        link.write(b"".join(frames), _ANSWER_S)
    return len(frames)


def send_to(topics: Iterable[str]) -> Iterator[Request]:
    for topic in topics:
        now_ms = str(int(time.time() * 1000))
        fields = {"a": "bench", "b": topic, "c": "TBW102", "d": "1", "e": "0", "f": "0", "g": now_ms}
        yield RequestCode.SEND_MESSAGE_V2, fields | {"h": "0", "i": "", "j": "0", "m": "false"}, BODY


def pull_from(pairs: Iterable[tuple[str, str]]) -> Iterator[Request]:
    """The first message of each (group, topic), with a subscription of its own and without waiting."""
    for group, topic in pairs:
        place = {"consumerGroup": group, "topic": topic, "queueId": "0", "queueOffset": "0"}
        limits = {"maxMsgNums": "1", "sysFlag": "4", "commitOffset": "0", "suspendTimeoutMillis": "0"}
        wanted = {"subscription": "*", "subVersion": "0", "expressionType": "TAG"}
        yield RequestCode.PULL_MESSAGE, place | limits | wanted, b""


def heartbeat_of(pairs: Iterable[tuple[str, str]]) -> Iterator[Request]:
    """One consumer of each (group, topic)."""
    for group, topic in pairs:
        names = (topic, f"%RETRY%{group}")
        consumer = {
            "groupName": group,
            "consumeType": "CONSUME_PASSIVELY",
            "messageModel": "CLUSTERING",
            "consumeFromWhere": "CONSUME_FROM_LAST_OFFSET",
            "subscriptionDataSet": [{"topic": name, "subString": "*", "subVersion": 1} for name in names],
        }
        content = {"clientID": f"client@{group}", "consumerDataSet": [consumer], "producerDataSet": []}
        yield RequestCode.HEART_BEAT, {}, orjson.dumps(content)


# -- making them --------------------------------------------------------------------------------------------


def populate(address: Address, count: int, say: Progress) -> None:
    """`count` topics of one queue with one message each, and `count` groups with a heartbeat each."""
    for start in range(0, count, LIST_LENGTH):
        numbers = range(start, min(count, start + LIST_LENGTH))
        say(f"{count:,}: {start:,} topics and groups created")
        ask_all(address, [_topic_list(numbers), _group_list(numbers)])
    for start in range(0, count, 10 * LIST_LENGTH):
        numbers = range(start, min(count, start + 10 * LIST_LENGTH))
        say(f"{count:,}: messages in {start:,} topics, members in as many groups")
        ask_all(address, send_to(map(topic_name, numbers)))
        ask_all(address, heartbeat_of(pairs(numbers)))


def _topic_list(numbers: range) -> Request:
    topics = [
        {"topicName": topic_name(number), "readQueueNums": 1, "writeQueueNums": 1, "perm": 6}
        for number in numbers
    ]
    return RequestCode.UPDATE_AND_CREATE_TOPIC_LIST, {}, orjson.dumps({"topicConfigList": topics})


def _group_list(numbers: range) -> Request:
    groups = [{"groupName": group_name(number)} for number in numbers]
    return RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST, {}, orjson.dumps({"groupConfigList": groups})


def pairs(numbers: Iterable[int]) -> list[tuple[str, str]]:
    return [(group_name(number), topic_name(number)) for number in numbers]


def drawn(count: int, among: int, seed: int = 1) -> list[int]:
    """`count` numbers below `among`, each as likely as any other."""
    draw = random.Random(seed)
    return [draw.randrange(among) for _ in range(count)]
