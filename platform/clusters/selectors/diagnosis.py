"""What is wrong with a consumer group: pure checks over gathered evidence, each with advice.

A check says `ok`, `warning`, `critical` or `unknown`; unknown when what it needs could not be learnt, which
is never shown as ok. Evidence is what was looked at, so that a person can check the check.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from clusters.selectors.members import differing_subscriptions
from clusters.selectors.thread_dumps import parse_dump, where_listeners_stand
from engine.protocol.names import is_retry_topic

OK, WARNING, CRITICAL, UNKNOWN = "ok", "warning", "critical", "unknown"
STATES = [OK, UNKNOWN, WARNING, CRITICAL]
"""From the best to the worst."""
_SLOW_MS = 1_000.0
_QUIET_MS = 60_000
_SAME_CALL = 2
"""As many listener threads at one call are no accident."""


@dataclass(frozen=True, slots=True)
class Queue:
    topic: str
    broker: str
    queue: int
    committed: int | None
    minimum: int | None
    maximum: int | None
    oldest_unread_ms: int | None = None

    @property
    def lag(self) -> int | None:
        if self.committed is None or self.maximum is None:
            return None
        return self.maximum - self.committed

    @property
    def label(self) -> str:
        return f"{self.topic} {self.broker}/{self.queue}"


@dataclass(frozen=True, slots=True)
class Evidence:
    """`members` None: no broker could say. `lag_history` are (seconds, lag), oldest first."""

    now_ms: int
    model: str
    members: list[dict[str, Any]] | None
    queues: list[Queue]
    stacks: dict[str, str] = field(default_factory=dict)
    lag_history: list[tuple[float, int]] = field(default_factory=list)
    retries: int | None = None
    """Unread messages of its retry topics."""
    dead_letters: int | None = None
    is_enabled: bool | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """`code` names what was found within its check, `values` what its text tells: for other languages."""

    check: str
    state: str
    code: str
    text: str
    advice: str = ""
    evidence: list[Any] = field(default_factory=list)
    values: dict[str, str] = field(default_factory=dict)


def diagnose(evidence: Evidence) -> list[Finding]:
    return [check(evidence) for check in CHECKS]


def _enabled(given: Evidence) -> Finding:
    if given.is_enabled is None:
        return Finding("enabled", UNKNOWN, "not_said", "no broker said whether the group may consume")
    if given.is_enabled:
        return Finding("enabled", OK, "allowed", "the group may consume")
    advice = "PATCH the group: is_enabled=true."
    return Finding("enabled", CRITICAL, "off", "consumption is switched off", advice)


def _members(given: Evidence) -> Finding:
    if given.members is None:
        return Finding("members", UNKNOWN, "not_said", "no broker said who is online")
    if given.members:
        count = len(given.members)
        told = {"count": str(count)}
        return Finding("members", OK, "online", f"{count} members are online", values=told)
    is_behind = any((queue.lag or 0) > 0 for queue in given.queues)
    return Finding(
        "members",
        CRITICAL if is_behind else WARNING,
        "nobody_and_lag" if is_behind else "nobody",
        "no member is online" + (", and messages wait" if is_behind else ""),
        "Start the consumers, or look into their logs for why they left; rebalances say when.",
    )


def _subscriptions(given: Evidence) -> Finding:
    if given.members is None:
        return Finding("subscriptions", UNKNOWN, "not_said", "no broker said who is online")
    if not given.members:
        return Finding("subscriptions", OK, "nobody", "no member is online, so none differs")
    told = [member for member in given.members if member["subscriptions"] is not None]
    differing = differing_subscriptions(told)
    if differing:
        return Finding(
            "subscriptions",
            CRITICAL,
            "differ",
            f"members of one group subscribe differently to {differing[0]['topic']}",
            "All members of a group must have the same subscriptions, or messages are lost between them:"
            " deploy one version everywhere, or give them groups of their own.",
            differing,
            {"topic": differing[0]["topic"]},
        )
    silent = len(given.members) - len(told)
    if silent:
        text = f"{silent} members did not say what they subscribe to"
        return Finding("subscriptions", UNKNOWN, "silent", text, values={"count": str(silent)})
    return Finding("subscriptions", OK, "alike", "all members subscribe alike")


def _spare_members(given: Evidence) -> Finding:
    name = "spare_members"
    if given.members is None:
        return Finding(name, UNKNOWN, "not_said", "no broker said who is online")
    if not given.members:
        return Finding(name, OK, "nobody", "no member is online")
    if given.model == "BROADCASTING":
        return Finding(name, OK, "broadcasting", "every member gets every queue")
    if any(member["consume_type"] == "CONSUME_POP" for member in given.members):
        return Finding(name, OK, "pop", "members that pop share queues")
    by_topic: dict[str, int] = {}
    for queue in given.queues:
        if not is_retry_topic(queue.topic):
            by_topic[queue.topic] = by_topic.get(queue.topic, 0) + 1
    widest = max(by_topic.values(), default=0)
    if by_topic and len(given.members) > widest:
        return Finding(
            name,
            WARNING,
            "spare",
            f"{len(given.members)} members share {widest} queues: {len(given.members) - widest} have none",
            "Give the topic more queues, or run fewer members.",
            [{"topic": topic, "queues": count} for topic, count in sorted(by_topic.items())],
            {"members": str(len(given.members)), "queues": str(widest)},
        )
    return Finding(name, OK, "enough", "no more members than queues")


def _stuck_queues(given: Evidence) -> Finding:
    """Messages wait on a queue, and the member that holds it has not consumed for a minute."""
    if given.members is None:
        return Finding("stuck_queues", UNKNOWN, "not_said", "no broker said who is online")
    behind = {(one.topic, one.broker, one.queue): one for one in given.queues if (one.lag or 0) > 0}
    held: dict[tuple[str, str, int], dict[str, Any]] = {}
    for member in given.members:
        for queue in member["queues"] or ():
            held[queue["topic"], queue["broker"], queue["queue"]] = queue | {"client_id": member["client_id"]}
    stuck = []
    for place, one in behind.items():
        holder = held.get(place)
        if holder is None:
            is_told = all(member["queues"] is not None for member in given.members)
            if is_told and not is_retry_topic(one.topic):
                stuck.append({"queue": one.label, "lag": str(one.lag), "held_by": None})
        elif _is_quiet(holder, given.now_ms):
            stuck.append({"queue": one.label, "lag": str(one.lag), "held_by": holder["client_id"]})
    if stuck:
        first = stuck[0]
        who = f"held by {first['held_by']}" if first["held_by"] else "held by nobody"
        return Finding(
            "stuck_queues",
            CRITICAL,
            "held" if first["held_by"] else "free",
            f"{len(stuck)} queues do not move; {first['queue']} is {who}",
            "Look at the thread stack of the member that holds it; restart that member, or add one.",
            stuck[:50],
            {"count": str(len(stuck)), "queue": first["queue"], "member": first["held_by"] or ""},
        )
    text = "every queue with waiting messages is being consumed" if behind else "no messages wait"
    return Finding("stuck_queues", OK, "moving" if behind else "no_lag", text)


def _is_quiet(holder: dict[str, Any], now_ms: int) -> bool:
    last = holder.get("last_consume_ms")
    return last is not None and now_ms - last > _QUIET_MS and bool(holder.get("cached_messages"))


def _growing_lag(given: Evidence) -> Finding:
    points = given.lag_history
    if len(points) < 3:
        return Finding("growing_lag", UNKNOWN, "too_few", "too few points of history to say")
    first, last = points[0], points[-1]
    grown = last[1] - first[1]
    minutes = (last[0] - first[0]) / 60
    is_rising = all(later[1] >= earlier[1] for earlier, later in pairwise(points))
    if grown > 0 and is_rising and minutes > 0:
        return Finding(
            "growing_lag",
            WARNING,
            "growing",
            f"lag grew by {grown} in {minutes:.0f} minutes and never shrank",
            "Consumers are slower than producers: add members (up to the number of queues) or speed them up.",
            [[at, str(lag)] for at, lag in points[-20:]],
            {"grown": str(grown), "minutes": f"{minutes:.0f}"},
        )
    return Finding("growing_lag", OK, "steady", "lag does not grow steadily")


def _slow_consumers(given: Evidence) -> Finding:
    if given.members == []:
        return Finding("slow_consumers", OK, "nobody", "no member is online, so none is slow")
    if given.members is None or any(member["rates"] is None for member in given.members):
        text = "not every member said how long its listener takes"
        return Finding("slow_consumers", UNKNOWN, "not_said", text)
    slow = [
        {"client_id": member["client_id"], "topic": topic, "consume_ms": rate["consume_ms"]}
        for member in given.members
        for topic, rate in member["rates"].items()
        if rate["consume_ms"] >= _SLOW_MS
    ]
    failing = [
        {"client_id": member["client_id"], "topic": topic, "failed_per_s": rate["failed_per_s"]}
        for member in given.members
        for topic, rate in member["rates"].items()
        if rate["failed_per_s"] > max(0.0, rate["ok_per_s"])
    ]
    if failing:
        first = failing[0]
        text = f"{first['client_id']} fails more often than it succeeds on {first['topic']}"
        advice = "Read the member's log: its listener throws."
        told = {"member": first["client_id"], "topic": first["topic"]}
        return Finding("slow_consumers", CRITICAL, "failing", text, advice, failing, told)
    if slow:
        first = slow[0]
        took_ms = f"{first['consume_ms']:.0f}"
        text = f"{first['client_id']} takes {took_ms} ms per message of {first['topic']}"
        advice = "Look at its thread stack for what it waits for."
        told = {"member": first["client_id"], "topic": first["topic"], "ms": took_ms}
        return Finding("slow_consumers", WARNING, "slow", text, advice, slow, told)
    return Finding("slow_consumers", OK, "quick", "no listener takes a second per message")


def _blocked_threads(given: Evidence) -> Finding:
    if not given.stacks:
        return Finding("blocked_threads", UNKNOWN, "not_taken", "no thread stack was taken")
    stands = []
    for client_id, stack in given.stacks.items():
        for stand in where_listeners_stand(parse_dump(stack)):
            is_blocked = stand.state == "BLOCKED"
            if is_blocked or stand.count >= _SAME_CALL:
                row = {
                    "client_id": client_id,
                    "call": stand.call,
                    "threads": stand.count,
                    "state": stand.state,
                }
                stands.append(row)
    if stands:
        first = stands[0]
        return Finding(
            "blocked_threads",
            WARNING,
            "blocked",
            f"{first['threads']} listener threads of {first['client_id']} stand in {first['call']}",
            "What they wait for there (a lock, a database, a remote call) holds up consumption.",
            stands[:20],
            {"count": str(first["threads"]), "member": first["client_id"], "call": first["call"]},
        )
    return Finding("blocked_threads", OK, "free", "no two listener threads stand at the same call")


def _retries(given: Evidence) -> Finding:
    if given.retries is None and given.dead_letters is None:
        text = "no broker said how many retries and dead letters there are"
        return Finding("retries", UNKNOWN, "not_said", text)
    retries, dead = given.retries or 0, given.dead_letters or 0
    seen = [{"retries": None if given.retries is None else str(retries)}]
    seen.append({"dead_letters": None if given.dead_letters is None else str(dead)})
    if dead:
        advice = "Look at the dead letters, mend what made them fail, redrive them."
        told = {"count": str(dead)}
        return Finding("retries", WARNING, "dead", f"{dead} dead letters are kept", advice, seen, told)
    if retries:
        advice = "Listeners fail: read the members' logs before these become dead letters."
        text, told = f"{retries} messages wait to be tried again", {"count": str(retries)}
        return Finding("retries", WARNING, "retrying", text, advice, seen, told)
    text = "nothing waits to be tried again, and there are no dead letters"
    return Finding("retries", OK, "none", text, "", seen)


def _offsets_in_range(given: Evidence) -> Finding:
    odd = []
    for queue in given.queues:
        if queue.committed is None or queue.minimum is None or queue.maximum is None:
            continue
        if queue.committed > queue.maximum:
            odd.append({"queue": queue.label, "committed": str(queue.committed), "max": str(queue.maximum)})
        elif queue.committed < queue.minimum:
            odd.append({"queue": queue.label, "committed": str(queue.committed), "min": str(queue.minimum)})
    if odd:
        return Finding(
            "offsets_in_range",
            CRITICAL,
            "outside",
            f"{len(odd)} committed offsets lie outside of what their queues hold",
            "Beyond the end: nothing is delivered until the queue gets there; reset to latest. Before the"
            " beginning: messages were deleted unread; retention is too short for this lag.",
            odd[:50],
            {"count": str(len(odd))},
        )
    return Finding("offsets_in_range", OK, "inside", "all committed offsets are within their queues")


CHECKS: tuple[Callable[[Evidence], Finding], ...] = (
    _enabled,
    _members,
    _subscriptions,
    _spare_members,
    _stuck_queues,
    _growing_lag,
    _slow_consumers,
    _blocked_threads,
    _retries,
    _offsets_in_range,
)
