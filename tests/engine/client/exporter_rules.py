"""How rocketmq-exporter reads a cluster: its requests, and what each metric family needs of an answer.

Written from what it does with answers, and held against the real one once: with a broker, a slave and traffic
it shows these 86 families (85 without a slave); three more that it declares have no code that fills them. One
value of GET_BROKER_RUNTIME_INFO that it cannot read costs all the families of that answer.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping

from engine.client import blocking
from engine.errors import EngineError
from engine.protocol.bodies.routes import BrokerData
from engine.protocol.names import DLQ_PREFIX, RETRY_PREFIX

MASTER = 0
Rule = Callable[[str], float]
Families = dict[str, list[float]]


def long(text: str) -> float:
    """Long.parseLong: neither blanks nor fractions."""
    assert re.fullmatch(r"[+-]?[0-9]{1,19}", text) and -(2**63) <= int(text) < 2**63, text
    return int(text)


def int32(text: str) -> float:
    assert -(2**31) <= long(text) < 2**31, text
    return int(text)


def double(text: str) -> float:
    assert re.fullmatch(r"[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?", text), text
    return float(text)


def first_double(text: str) -> float:
    return double(text.split(" ")[0])


def nth(number: int) -> Rule:
    """Of three rates: of the last 10, 60 and 600 seconds."""

    def rule(text: str) -> float:
        rates = text.split(" ")
        assert len(rates) == 3, text
        return double(rates[number])

    return rule


def in_class(name: str) -> Rule:
    """One of the 13 classes of putMessageDistributeTime, by its name."""

    def rule(text: str) -> float:
        parts = [part.split(":") for part in text.rstrip(" ").split(" ")]
        counts = {part[0].replace("[", "").replace("]", ""): int32(part[1]) for part in parts}
        assert len(counts) == len(parts) == 13, text
        return counts[name]

    return rule


def capacity(number: int) -> Rule:
    """Of `Total : 252.0 GiB, Free : 70.6 GiB.`: words by their place, less the last character of the unit."""

    def rule(text: str) -> float:
        words = text.split(" ")
        unit = words[number + 1][:-1]
        return double(words[number]) * 1024 ** (0 if unit == "B" else "KMGTPE".index(unit[0]) + 1)

    return rule


def _thread_pools() -> Iterator[tuple[str, str]]:
    for pool in ("send", "pull", "query"):
        yield f"{pool}_threadpoolqueue_headwait_timemills", f"{pool}ThreadPoolQueueHeadWaitTimeMills"
        size = "send_threadpool_queue_size" if pool == "send" else f"{pool}_threadpoolqueue_size"
        yield size, f"{pool}ThreadPoolQueueSize"
        most = "query_threadpool_queue_capacity" if pool == "query" else f"{pool}_threadpoolqueue_capacity"
        yield most, f"{pool}ThreadPoolQueueCapacity"


_LONGS = {
    "msg_put_total_today_now": "msgPutTotalTodayNow",
    "msg_gettotal_today_now": "msgGetTotalTodayNow",
    "msg_puttotal_todaymorning": "msgPutTotalTodayMorning",
    "msg_gettotal_todaymorning": "msgGetTotalTodayMorning",
    "msg_puttotal_yesterdaymorning": "msgPutTotalYesterdayMorning",
    "msg_gettotal_yesterdaymorning": "msgGetTotalYesterdayMorning",
    "dispatch_behind_bytes": "dispatchBehindBytes",
    "dispatch_maxbuffer": "dispatchMaxBuffer",
    "put_message_size_total": "putMessageSizeTotal",
    "putmessage_times_total": "putMessageTimesTotal",
    "putmessage_entire_time_max": "putMessageEntireTimeMax",
    "getmessage_entire_time_max": "getMessageEntireTimeMax",
    "remain_transientstore_buffer_numbs": "remainTransientStoreBufferNumbs",
    "earliest_message_timestamp": "earliestMessageTimeStamp",
    "start_accept_sendrequest_time": "startAcceptSendRequestTimeStamp",
    "pagecache_lock_time_mills": "pageCacheLockTimeMills",
    "commitlog_minoffset": "commitLogMinOffset",
    "commitlog_maxoffset": "commitLogMaxOffset",
    **dict(_thread_pools()),
}
_DOUBLES = {
    "put_message_average_size": "putMessageAverageSize",
    "commitlog_disk_ratio": "commitLogDiskRatio",
    "consumequeue_disk_ratio": "consumeQueueDiskRatio",
    "put_latency_99": "putLatency99",
    "put_latency_999": "putLatency999",
}
_RATES = {
    "put": "putTps",
    "getfound": "getFoundTps",
    "getmiss": "getMissTps",
    "gettotal": "getTotalTps",
    "gettransfered": "getTransferredTps",
}
_CLASSES = {
    "0ms": "<=0ms",
    "0to10ms": "0~10ms",
    "10to50ms": "10~50ms",
    "50to100ms": "50~100ms",
    "100to200ms": "100~200ms",
    "200to500ms": "200~500ms",
    "500to1s": "500ms~1s",
    "1to2s": "1~2s",
    "2to3s": "2~3s",
    "3to4s": "3~4s",
    "4to5s": "4~5s",
    "5to10s": "5~10s",
    "10stomore": "10s~",
}
RUNTIME: Mapping[str, tuple[str, Rule]] = {
    **{name: (key, long) for name, key in _LONGS.items()},
    **{name: (key, double) for name, key in _DOUBLES.items()},
    **{
        f"{name}_tps{seconds}": (key, nth(number))
        for name, key in _RATES.items()
        for number, seconds in enumerate((10, 60, 600))
    },
    **{f"pmdt_{name}": ("putMessageDistributeTime", in_class(text)) for name, text in _CLASSES.items()},
    "commitlogdir_capacity_total": ("commitLogDirCapacity", capacity(2)),
    "commitlogdir_capacity_free": ("commitLogDirCapacity", capacity(6)),
    "remain_howmanydata_toflush": ("remainHowManyDataToFlush", first_double),
}
"""Families of the runtime info, less their prefix; and what else it reads there without showing it."""
READ_UNSHOWN: Mapping[str, Rule] = {"bootTimestamp": long, "brokerVersion": int32}
TEXTS = ("runtime", "brokerVersionDesc")
_OTHERS = [
    "broker_tps",
    "broker_qps",
    "broker_commitlog_diff",
    "producer_count",
    "producer_offset",
    "topic_retry_offset",
    "topic_dlq_offset",
    "producer_tps",
    "producer_message_size",
    "consumer_tps",
    "consumer_message_size",
    "send_back_nums",
    "consumer_offset",
    "group_count",
    "group_diff",
    "group_retrydiff",
    "group_get_latency_by_storetime",
    "client_consume_fail_msg_count",
    "client_consume_fail_msg_tps",
    "client_consume_ok_msg_tps",
    "client_consume_rt",
    "client_consumer_pull_rt",
    "client_consumer_pull_tps",
]
FAMILIES = frozenset(f"rocketmq_brokeruntime_{name}" for name in RUNTIME) | {
    f"rocketmq_{name}" for name in _OTHERS
}


def runtime_families(info: Mapping[str, str]) -> Iterator[tuple[str, float]]:
    assert all(info[key] for key in TEXTS)
    for key, rule in READ_UNSHOWN.items():
        rule(info[key])
    for key, text in info.items():
        if key.startswith("scheduleMessageOffset"):
            assert len([long(part) for part in text.split(",")]) == 2, (key, text)
    for name, (key, rule) in RUNTIME.items():
        yield f"brokeruntime_{name}", rule(info[key])


def collected(admin: blocking.Admin) -> Families:
    """One round of the exporter, by family."""
    found: Families = defaultdict(list)
    for name, value in _round(admin):
        found[f"rocketmq_{name}"].append(value)
    return found


def _round(admin: blocking.Admin) -> Iterator[tuple[str, float]]:
    brokers = admin.cluster.info().broker_addr_table.values()
    for data in brokers:
        yield from _of_broker(admin, data)
    for topic in admin.topics.names():
        yield from _of_topic(admin, topic)


def _of_broker(admin: blocking.Admin, data: BrokerData) -> Iterator[tuple[str, float]]:
    master = data.broker_addrs[MASTER]
    info = admin.brokers.runtime_info(master)
    yield from runtime_families(info)
    yield "broker_tps", admin.brokers.stats(master, "BROKER_PUT_NUMS", data.cluster).stats_minute.tps
    yield "broker_qps", admin.brokers.stats(master, "BROKER_GET_NUMS", data.cluster).stats_minute.tps
    for number, address in data.broker_addrs.items():
        if number != MASTER:
            slave = admin.brokers.runtime_info(address)
            list(runtime_families(slave))
            yield (
                "broker_commitlog_diff",
                long(info["commitLogMaxOffset"]) - long(slave["commitLogMaxOffset"]),
            )
    for members in admin.clients.all_producers(master).values():
        yield "producer_count", len(members)


def _of_topic(admin: blocking.Admin, topic: str) -> Iterator[tuple[str, float]]:
    kind = "producer_offset"
    if topic.startswith((RETRY_PREFIX, DLQ_PREFIX)):
        kind = "topic_retry_offset" if topic.startswith(RETRY_PREFIX) else "topic_dlq_offset"
    ends = [queue.max_offset for queue in admin.topics.stats(topic).offset_table.values()]
    if ends:
        yield kind, sum(ends)
    for data in admin.topics.route(topic).broker_datas:
        master = data.broker_addrs[MASTER]
        if kind == "producer_offset":
            yield from _stats(admin, master, topic, producer_tps="TOPIC_PUT_NUMS")
            yield from _stats(admin, master, topic, producer_message_size="TOPIC_PUT_SIZE")
        if kind != "topic_dlq_offset":
            for group in admin.topics.groups(topic):
                yield from _of_group(admin, master, topic, group, is_retry=kind == "topic_retry_offset")


def _stats(admin: blocking.Admin, master: str, key: str, **families: str) -> Iterator[tuple[str, float]]:
    """Code 1 says that there is nothing to count yet: the exporter passes over it."""
    for family, name in families.items():
        try:
            yield family, admin.brokers.stats(master, name, key).stats_minute.tps
        except EngineError as error:
            assert error.code == 1, error


def _of_group(
    admin: blocking.Admin, master: str, topic: str, group: str, *, is_retry: bool
) -> Iterator[tuple[str, float]]:
    if not is_retry:
        key = f"{topic}@{group}"
        yield from _stats(admin, master, key, consumer_tps="GROUP_GET_NUMS")
        yield from _stats(admin, master, key, consumer_message_size="GROUP_GET_SIZE")
        yield from _stats(admin, master, key, send_back_nums="SNDBCK_PUT_NUMS")
    connected = admin.clients.consumers(master, group).connection_set
    yield "group_count", len(connected)
    for connection in connected:
        rates = admin.clients.running_info(master, group, connection.client_id).status_table
        for each in rates.values():
            yield "client_consume_fail_msg_count", each.consume_failed_msgs
            yield "client_consume_fail_msg_tps", each.consume_failed_tps
            yield "client_consume_ok_msg_tps", each.consume_ok_tps
            yield "client_consume_rt", each.consume_rt
            yield "client_consumer_pull_rt", each.pull_rt
            yield "client_consumer_pull_tps", each.pull_tps
    progress = admin.groups.consume_stats_on_broker(master, group, topic).offset_table
    if progress:
        yield "group_retrydiff" if is_retry else "group_diff", sum(each.lag for each in progress.values())
        yield "consumer_offset", sum(each.consumer_offset for each in progress.values())
    for queue, offsets in progress.items():
        message = next(
            iter(admin.messages.read(queue, offsets.consumer_offset, max_messages=1).messages), None
        )
        yield "group_get_latency_by_storetime", 0 if message is None else message.store_timestamp
