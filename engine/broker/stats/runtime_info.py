"""What GET_BROKER_RUNTIME_INFO (28) returns: every key that mqadmin and the dashboards read, as text.

Tools feed these into parsers that throw: a number is always a number, never empty or "NaN". The …Tps values
are three decimals, for the last 10, 60 and 600 seconds. Keys of features that this version does not have
(thread pools) stand at zero, because `clusterList` parses them. Everything is passed in.
"""

from __future__ import annotations

from collections.abc import Iterable

from engine.broker.stats.broker_stats import BrokerStats, Totals
from engine.broker.stats.put_times import PutTimes
from engine.broker.storage.disk_room import DiskSpace
from engine.protocol.codes import MQ_VERSION
from engine.store.message_store import MessageStore

VERSION_NAME = "V5_3_3"
_WINDOWS_S = (10, 60, 600)
_PUT_AVERAGE_UNKNOWN = 1.0
_QUEUE_CAPACITIES = {"send": 10_000, "pull": 100_000, "litePull": 100_000, "query": 20_000, "ack": 100_000}
"""RocketMQ's defaults. Requests do not queue here, but dashboards divide by these."""
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")


def runtime_info(
    store: MessageStore,
    stats: BrokerStats,
    times: PutTimes,
    disk: DiskSpace,
    *,
    now_ms: int,
    boot_ms: int,
    loop_lag_ms: float,
    start_accepting_ms: int,
    is_active: bool,
) -> dict[str, str]:
    """`disk`, the clocks and the loop's lag are passed in: the tables do not know them."""
    return {
        "bootTimestamp": str(boot_ms),
        "runtime": format_uptime(now_ms - boot_ms),
        "brokerActive": "true" if is_active else "false",
        "startAcceptSendRequestTimeStamp": str(start_accepting_ms),
        **_store_info(store, stats.totals(), times, disk),
        **_rates(stats, now_ms),
        **_day_totals(stats),
        **_constants(loop_lag_ms),
    }


def _store_info(store: MessageStore, totals: Totals, times: PutTimes, disk: DiskSpace) -> dict[str, str]:
    stored = store.stats
    average = stored.put_bytes / stored.put_count if stored.put_count else _PUT_AVERAGE_UNKNOWN
    ratio = f"{disk.usage_ratio:.4f}"
    first = store.log.record_at(store.log.min_offset)
    return {
        "putMessageEntireTimeMax": str(times.max_us // 1000),
        "putMessageTimesTotal": str(totals.put),
        "putMessageFailedTimes": str(stored.put_failed_count),
        "putMessageSizeTotal": str(stored.put_bytes),
        "putMessageAverageSize": f"{average:.1f}",
        "putMessageDistributeTime": times.distribution(),
        "putLatency99": f"{times.percentile_ms(0.99):.2f}",
        "putLatency999": f"{times.percentile_ms(0.999):.2f}",
        "getMessageEntireTimeMax": "0",
        "dispatchMaxBuffer": "0",
        "commitLogDiskRatio": ratio,
        "consumeQueueDiskRatio": ratio,
        "commitLogMinOffset": str(store.log.min_offset),
        "commitLogMaxOffset": str(store.log.max_offset),
        # Our own two, for readers of the files (Spark): up to where the log may be read, and up to where it
        # is dispatched to the queues.
        "commitLogReadableOffset": str(store.log.readable_end()),
        "commitLogDispatchedOffset": str(store.queues.dispatched_offset),
        "commitLogDirCapacity": (
            f"Total : {format_size(disk.total_bytes)}, Free : {format_size(disk.free_bytes)}."
        ),
        "remainHowManyDataToFlush": format_size(store.log.max_offset - store.log.flushed_offset),
        "dispatchBehindBytes": str(max(0, store.log.max_offset - store.queues.dispatched_offset)),
        "earliestMessageTimeStamp": str(-1 if first is None else first.store_timestamp),
        "remainHowManyDataToCommit": "0 B",
        "remainTransientStoreBufferNumbs": "2147483647",
    }


def _rates(stats: BrokerStats, now_ms: int) -> dict[str, str]:
    windows = [stats.rates(now_ms, seconds) for seconds in _WINDOWS_S]
    transferred = _decimals(window.got for window in windows)
    return {
        "putTps": _decimals(window.put for window in windows),
        "getFoundTps": _decimals(window.pulls_found for window in windows),
        "getMissTps": _decimals(window.pulls_missed for window in windows),
        "getTotalTps": _decimals(window.pulls_found + window.pulls_missed for window in windows),
        # Both spellings: 4.x readers know only the one with a single r.
        "getTransferredTps": transferred,
        "getTransferedTps": transferred,
    }


def _day_totals(stats: BrokerStats) -> dict[str, str]:
    """Tools subtract the mornings from now: all count from the broker's start."""
    totals = stats.totals()
    return {
        "msgPutTotalYesterdayMorning": str(stats.yesterday_morning.put),
        "msgPutTotalTodayMorning": str(stats.today_morning.put),
        "msgPutTotalTodayNow": str(totals.put),
        "msgGetTotalYesterdayMorning": str(stats.yesterday_morning.got),
        "msgGetTotalTodayMorning": str(stats.today_morning.got),
        "msgGetTotalTodayNow": str(totals.got),
    }


def _constants(loop_lag_ms: float) -> dict[str, str]:
    info = {
        "brokerVersionDesc": VERSION_NAME,
        "brokerVersion": str(MQ_VERSION),
        "pageCacheLockTimeMills": "0",
        "timerEnqueueTps": "0.0",
        "timerDequeueTps": "0.0",
        "EndTransactionQueueSize": "0",
        "EndTransactionThreadPoolQueueCapacity": "100000",
    }
    for name, capacity in _QUEUE_CAPACITIES.items():
        info[f"{name}ThreadPoolQueueSize"] = "0"
        info[f"{name}ThreadPoolQueueCapacity"] = str(capacity)
        # The one thing that requests wait for here is the loop.
        info[f"{name}ThreadPoolQueueHeadWaitTimeMills"] = str(int(loop_lag_ms))
    return info


def _decimals(rates: Iterable[float]) -> str:
    return " ".join(f"{rate:.3f}" for rate in rates)


def format_uptime(uptime_ms: int) -> str:
    minutes, seconds = divmod(max(0, uptime_ms) // 1000, 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    return f"[ {days} days, {hours} hours, {minutes} minutes, {seconds} seconds ]"


def format_size(size_bytes: int) -> str:
    size = float(max(0, size_bytes))
    for unit in _UNITS:
        if size < 1024 or unit == _UNITS[-1]:
            break
        size /= 1024
    return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
