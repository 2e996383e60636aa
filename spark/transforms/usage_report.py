"""The usage report: who sends how much of what, which keys are hot, what nobody uses, what teams cost.

usage     per topic, kind, producer group and day: messages, bytes, senders, sizes
sizes     per topic and day: how many bodies of which size
tags  keys  the most frequent ones per topic and day
unused    topics and groups that nobody seems to need
costs     per team label
"""

from __future__ import annotations

from datetime import datetime

from pyspark.sql import DataFrame

from spark.transforms import costs, skew, usage
from spark.transforms.costs import Prices
from spark.transforms.subscriptions import consuming
from spark.transforms.trace_events import decoded, distinct_events
from spark.transforms.trace_report import Keep
from spark.transforms.unused import unused

__all__ = ["usage_report"]


def usage_report(
    log: DataFrame,
    traces: DataFrame,
    names: DataFrame,
    committed: DataFrame,
    labels: DataFrame,
    *,
    until: datetime,
    prices: Prices,
    most: int,
    hot_share: float,
    keep: Keep,
) -> dict[str, DataFrame]:
    """`log` is of the range alone; `until` is where the range ends: up to there stored bytes cost."""
    senders = usage.producer_groups(distinct_events(decoded(traces)))
    messages = keep("attributed", usage.attributed(log, senders))
    used = keep("usage", usage.usage(messages))
    return {
        "usage": used,
        "sizes": usage.sizes(messages),
        "tags": skew.tags(messages, most=most),
        "keys": skew.keys(messages, most=most, hot_share=hot_share),
        "unused": unused(names, used, consuming(committed)),
        "costs": costs.costs(costs.holdings(messages, until=until), labels, prices),
    }
