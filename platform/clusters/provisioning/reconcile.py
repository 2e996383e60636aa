"""Looking after a host: what should run and does not is started again, what should not run is stopped.

`decide` is pure. A crash costs a wait that doubles from 1 s to 60 s; five crashes in five minutes are a crash
loop, shown as such and tried again every minute. A reboot and an orderly stop are no crashes. Processes that
a step has in hand are left alone, and whoever acts raises the process's fence, so a step and a look never act
on one process at once. No master is made here: who is master is written in the group's own files (confs.py).
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from clusters.models import Broker, Host
from clusters.provisioning import driver, fences, running
from clusters.provisioning.driver import DriverError, Presence, Seen
from clusters.provisioning.folders import UnsafeName
from clusters.provisioning.inventory import Process, cluster_of, is_worked_on, processes_on, spec_of
from console.core.events import publish
from console.core.problems import Problem

log = logging.getLogger(__name__)

Observed = Broker.Observed
WINDOW_S = 300.0
LOOP_CRASHES = 5
LONGEST_S = 60.0
_WAS_THERE = (Observed.RUNNING, Observed.STARTING, Observed.SILENT)
_SHOWN = {
    Presence.ANSWERS: Observed.RUNNING,
    Presence.STARTING: Observed.STARTING,
    Presence.SILENT: Observed.SILENT,
}


@dataclass(frozen=True, slots=True)
class Decision:
    observed: str
    does: str = ""
    """`start`, `stop`, or nothing."""
    crashes: tuple[float, ...] = ()
    next_start_at: float | None = None
    why: str = ""


def decide(
    seen: Seen, desired: str, was: str, crashes: Sequence[float], next_start_at: float | None, now: float
) -> Decision:
    recent = tuple(at for at in crashes if now - at < WINDOW_S)
    if seen.presence is not Presence.ABSENT:
        if seen.presence is Presence.FOREIGN:
            return Decision(
                Observed.CRASHED, "", recent, now + LONGEST_S, "a process that is not ours is there"
            )
        does = "stop" if desired == Broker.Desired.STOPPED else ""
        return Decision(_SHOWN[seen.presence], does, recent, None)
    if desired == Broker.Desired.STOPPED:
        return Decision(Observed.STOPPED, "", recent, None)
    if seen.was_rebooted:
        return Decision(Observed.STARTING, "start", recent, None, "the host was rebooted")
    if was in _WAS_THERE:
        return crashed(recent, now, "it ended by itself")
    if next_start_at is not None and now < next_start_at:
        return Decision(was, "", recent, next_start_at)
    return Decision(Observed.STARTING, "start", recent, None)


def crashed(recent: Sequence[float], now: float, why: str) -> Decision:
    crashes = (*(at for at in recent if now - at < WINDOW_S), now)
    is_loop = len(crashes) >= LOOP_CRASHES
    wait_s = LONGEST_S if is_loop else min(LONGEST_S, 2.0 ** (len(crashes) - 1))
    return Decision(
        Observed.CRASH_LOOP if is_loop else Observed.CRASHED, "", crashes[-20:], now + wait_s, why
    )


def look_after(host: Host, now: datetime) -> float | None:
    """Every process of the host once. Seconds until one that crashed is to be started, when that is soon."""
    soonest: float | None = None
    for process in processes_on(host.pk):
        try:
            next_at = look_after_process(process, now)
        except (fences.Busy, fences.Outdated):
            continue
        except (Problem, UnsafeName, OSError) as error:
            log.warning("%s could not be looked after: %s", process.label, error)
            continue
        if next_at is not None:
            soonest = next_at if soonest is None else min(soonest, next_at)
    return None if soonest is None else max(0.0, soonest - now.timestamp())


def look_after_process(process: Process, now: datetime) -> float | None:
    if is_worked_on(process):
        return None
    seen = driver.look(spec_of(process))
    next_at = None if process.next_start_at is None else process.next_start_at.timestamp()
    decision = decide(seen, process.desired, process.observed, process.crashes, next_at, now.timestamp())
    if decision.does == "start":
        return _start(process, decision, now)
    if decision.does == "stop":
        log.warning("%s of %s is not to run: it is stopped", process.label, cluster_of(process).name)
        running.stop(process, now, why="it is not to run")
        return None
    _note(process, decision, now, seen)
    return decision.next_start_at


def _start(process: Process, decision: Decision, now: datetime) -> float | None:
    log.warning("%s of %s is started again", process.label, cluster_of(process).name)
    try:
        running.start(process, now, waits=False)
    except (DriverError, Problem) as error:
        again = crashed(decision.crashes, now.timestamp(), str(error))
        _note(process, again, now, None)
        log.warning("%s: %s", process.label, error)
        return again.next_start_at
    _tell(process, Observed.RUNNING)
    return None


def _note(process: Process, decision: Decision, now: datetime, seen: Seen | None) -> None:
    changes: dict[str, object] = {"crashes": list(decision.crashes)}
    at = decision.next_start_at
    changes["next_start_at"] = None if at is None else datetime.fromtimestamp(at, UTC)
    if decision.why:
        changes["last_exit"] = decision.why[:255]
    if seen is not None and seen.pid is not None:
        changes |= {"pid": seen.pid, "token": seen.token, "running_config_digest": seen.digest}
    was = process.observed
    running.note(process, now, decision.observed, **changes)
    if was != decision.observed:
        _tell(process, decision.observed)


def _tell(process: Process, observed: str) -> None:
    payload = {"process": process.label, "observed": str(observed)}
    publish(f"cluster/{cluster_of(process).name}", payload)


SILENT_AFTER = timedelta(seconds=30)


def forget_silent_hosts(now: datetime) -> int:
    """Nobody knows how processes are whose host's agent is silent: they are shown as unknown."""
    silent = [host for host in Host.objects.filter(removed_at=None) if is_silent(host, now)]
    count = 0
    for process in _known(silent):
        running.note(process, now, Observed.UNKNOWN)
        _tell(process, Observed.UNKNOWN)
        count += 1
    return count


def is_silent(host: Host, now: datetime) -> bool:
    return host.heartbeat_at is None or now - host.heartbeat_at > SILENT_AFTER


def _known(hosts: Sequence[Host]) -> Iterator[Process]:
    for host in hosts:
        for process in processes_on(host.pk):
            if process.observed != Observed.UNKNOWN:
                yield process
