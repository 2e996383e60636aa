"""What a member of a broker group must never forget, as one value, and how it may change. Pure.

    config/signalboxGroup.json   {"epoch":3,"reign":…,"master":1,"epochs":[[1,…,0],[3,…,4096]],
                                  "members":{"0":"10.0.0.1:10911",…},
                                  "inSync":{"epoch":3,"version":5,"ids":[0,1],"minInSync":2},
                                  "confirmedOffset":8192,"copiedFrom":0,"wholeAt":0,
                                  "startOffset":4096,"neededFrom":4096,"promisedInSync":2}

The epoch only rises, and with it whom this member obeys: every transition returns a new value or raises
StaleEpoch, and the caller stores the new value on disk before it acts on it or answers. A member that cannot
read its file must not guess and does not start.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from engine.broker.replication.epochs import Epoch, History, begin, check_history, log_epoch
from engine.errors import CorruptRecord, Refused

GROUP_FILE = "signalboxGroup.json"


class StaleEpoch(Refused):
    """Somebody speaks for an epoch, or a reign, that this member has left behind."""


@dataclass(frozen=True, slots=True)
class GroupName:
    cluster: str
    broker: str
    member_id: int


@dataclass(frozen=True, slots=True)
class InSyncSet:
    """The members that acknowledgements wait for. Of two sets the one with the higher (epoch, version) is
    newer."""

    epoch: int = 0
    version: int = 0
    ids: tuple[int, ...] = ()
    min_in_sync: int = 1
    settled: tuple[int, ...] = ()
    """The members that counted when it was proposed. Who is on the list besides may be known to too few, and
    a new master must see to it first."""

    def is_newer_than(self, other: InSyncSet) -> bool:
        return (self.epoch, self.version) > (other.epoch, other.version)


@dataclass(frozen=True, slots=True)
class GroupState:
    epoch: int = 0
    """The highest promised: nothing of a lower one is obeyed."""
    reign: int = 0
    master_id: int | None = None
    """None from the promise until the outcome is known."""
    history: History = ()
    members: Mapping[int, str] = field(default_factory=dict)
    """Member id to remoting address."""
    in_sync: InSyncSet = InSyncSet()
    confirmed_offset: int = 0
    copied_from: int = 0
    whole_at: int = 0
    """Where the master's log ended when this one was begun, empty: until it is there, this member may once
    have acknowledged what it does not have."""
    start_offset: int | None = None
    """Where the group's log starts by its master's decision: nothing at or behind it may be deleted here.
    None: this member has not heard of one (docs/adr/0015)."""
    needed_from: int = 0
    """Start of the oldest segment that had not expired, as the master said last."""
    promised_in_sync: int = 1
    """The highest minInSyncReplicas that this member has heard of: what was acknowledged rests on it, also
    under a master whose own settings promise less."""


def check_reign(state: GroupState, epoch: int, reign: int) -> None:
    """Refuse whoever speaks for the past, or for another reign of the same epoch."""
    if epoch < state.epoch or (epoch == state.epoch and reign != state.reign):
        raise StaleEpoch(f"epoch {epoch} is over: this member has promised epoch {state.epoch}")


def promise(state: GroupState, epoch: int, reign: int) -> GroupState:
    """From now on only this reign counts. Asked twice it promises once."""
    check_reign(state, epoch, reign)
    return state if epoch == state.epoch else replace(state, epoch=epoch, reign=reign, master_id=None)


def found(member_id: int, address: str, reign: int, min_in_sync: int) -> GroupState:
    """A group begins with its first master, alone."""
    in_sync = InSyncSet(1, 1, (member_id,), min_in_sync, (member_id,))
    history, members = begin((), 1, reign, 0), {member_id: address}
    return remember_promise(GroupState(1, reign, member_id, history, members, in_sync, start_offset=0))


def crown(state: GroupState, epoch: int, reign: int, member_id: int, log_end: int) -> GroupState:
    """This member won: its entry begins at its log's end, and it is the only one known to be in sync."""
    check_reign(state, epoch, reign)
    if epoch != state.epoch:
        raise StaleEpoch(f"nobody asked this member to promise epoch {epoch}")
    if state.master_id not in (None, member_id):
        raise StaleEpoch(f"member {state.master_id} is already master of epoch {epoch}")
    if log_epoch(state.history) == epoch:
        # A repeated request: whoever stopped reigning needs a new epoch, since its log may have lost its end.
        raise StaleEpoch(f"this member has been master of epoch {epoch} already")
    return replace(
        state,
        master_id=member_id,
        history=begin(state.history, epoch, reign, log_end),
        in_sync=replace(state.in_sync, epoch=epoch, version=1, ids=(member_id,)),
        confirmed_offset=min(state.confirmed_offset, log_end),
        start_offset=state.start_offset or 0,
    )


def follow(state: GroupState, epoch: int, reign: int, master_id: int) -> GroupState:
    """Somebody else won."""
    promised = promise(state, epoch, reign)
    if promised.master_id not in (None, master_id):
        raise StaleEpoch(f"member {promised.master_id} is the master of epoch {epoch}, not {master_id}")
    return replace(promised, master_id=master_id)


def take_set(state: GroupState, epoch: int, in_sync: InSyncSet, members: Mapping[int, str]) -> GroupState:
    """A master's word about who waits for whom; an older word changes nothing."""
    if epoch != state.epoch:
        raise StaleEpoch(f"epoch {epoch} is over: this member has promised epoch {state.epoch}")
    if not in_sync.is_newer_than(state.in_sync):
        return state
    return replace(state, in_sync=in_sync, members=dict(members))


def decide_start(state: GroupState, epoch: int, start_offset: int, needed_from: int) -> GroupState:
    """A master's own decision. The start never goes back."""
    if epoch != state.epoch:
        raise StaleEpoch(f"epoch {epoch} is over: this member has promised epoch {state.epoch}")
    start_offset = max(start_offset, state.start_offset or 0)
    if (start_offset, needed_from) == (state.start_offset, state.needed_from):
        return state
    return replace(state, start_offset=start_offset, needed_from=needed_from)


def take_start(
    state: GroupState, epoch: int, start_offset: int | None, needed_from: int | None
) -> GroupState:
    """The master's word counts, also where it is lower than that of the master before: what only a replaced
    master decided was not decided by the group. None: a master of the first release, which says nothing."""
    if epoch != state.epoch:
        raise StaleEpoch(f"epoch {epoch} is over: this member has promised epoch {state.epoch}")
    needed_from = needed_from or 0
    if (start_offset, needed_from) == (state.start_offset, state.needed_from):
        return state
    return replace(state, start_offset=start_offset, needed_from=needed_from)


def remember_promise(state: GroupState) -> GroupState:
    """After every change."""
    promised = state.in_sync.min_in_sync
    return state if promised <= state.promised_in_sync else replace(state, promised_in_sync=promised)


def wire_id(member_id: int, master_id: int | None) -> int:
    """The brokerId that a member shows to clients: the master is 0, and member 0 as a slave borrows the
    number that the master does not use. Without a known master member 0 shows the lowest number that no
    member should have."""
    if member_id == master_id:
        return 0
    if member_id != 0:
        return member_id
    return master_id if master_id is not None else 1


# --- on disk -------------------------------------------------------------------------------------------


def to_json(state: GroupState) -> dict[str, Any]:
    return {
        "epoch": state.epoch,
        "reign": state.reign,
        "master": state.master_id,
        "epochs": [[entry.number, entry.reign, entry.start_offset] for entry in state.history],
        "members": {str(member): address for member, address in state.members.items()},
        "inSync": set_to_json(state.in_sync),
        "confirmedOffset": state.confirmed_offset,
        "copiedFrom": state.copied_from,
        "wholeAt": state.whole_at,
        "startOffset": state.start_offset,
        "neededFrom": state.needed_from,
        "promisedInSync": state.promised_in_sync,
    }


def from_json(content: Any) -> GroupState:
    """The state, or CorruptRecord: with any doubt about it this member must not take part."""
    try:
        master, start = content["master"], content.get("startOffset")
        state = GroupState(
            epoch=int(content["epoch"]),
            reign=int(content["reign"]),
            master_id=None if master is None else int(master),
            history=check_history([Epoch(*map(int, entry)) for entry in content["epochs"]]),
            members={int(member): str(address) for member, address in content["members"].items()},
            in_sync=set_from_json(content["inSync"]),
            confirmed_offset=int(content["confirmedOffset"]),
            copied_from=int(content["copiedFrom"]),
            whole_at=int(content.get("wholeAt", 0)),
            start_offset=None if start is None else int(start),
            needed_from=int(content.get("neededFrom", 0)),
            promised_in_sync=int(content.get("promisedInSync", 1)),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise CorruptRecord(f"{GROUP_FILE}: {error}") from None
    return remember_promise(state)


def set_to_json(in_sync: InSyncSet) -> dict[str, Any]:
    return {
        "epoch": in_sync.epoch,
        "version": in_sync.version,
        "ids": list(in_sync.ids),
        "minInSync": in_sync.min_in_sync,
        "settled": list(in_sync.settled),
    }


def set_from_json(content: Any) -> InSyncSet:
    ids, settled = (tuple(sorted(map(int, content[key]))) for key in ("ids", "settled"))
    return InSyncSet(int(content["epoch"]), int(content["version"]), ids, int(content["minInSync"]), settled)
