"""What a member of a broker group must never forget, as one value, and how it may change. Pure.

    config/signalboxGroup.json   {"epoch":3,"reign":…,"master":1,"epochs":[[1,…,0],[3,…,4096]],
                                  "members":{"0":"10.0.0.1:10911",…},
                                  "inSync":{"epoch":3,"version":5,"ids":[0,1],"minInSync":2,"settled":[0,1]},
                                  "confirmedOffset":8192,"copiedFrom":0,"wholeAt":0,
                                  "startOffset":4096,"neededFrom":4096,"promisedInSync":2}

The names in the file and on the wire are those of release 0.1.0 and stay: "reign" is the term id, a
random number that tells two masters of one epoch apart; "wholeAt" is `caught_up_at`. The file is written
with the keys in this order.

The epoch only rises, and with it the master that this member obeys: every transition returns a new value
or raises StaleEpoch, and the caller stores the new value on disk before it acts on it or answers. A
member that cannot read its file must not guess and does not start.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct, ValidationError, convert, field, to_builtins
from msgspec.structs import replace

from engine.broker.replication.epochs import History, begin, check_history, log_epoch
from engine.errors import CorruptRecord, Refused
from engine.protocol.bodies.brokers import InSyncInfo

GROUP_FILE = "signalboxGroup.json"
_ALWAYS_WRITTEN = {"epoch", "reign", "master", "epochs", "members", "inSync", "confirmedOffset", "copiedFrom"}

InSyncSet = InSyncInfo
"""The members that acknowledgements wait for. `settled` are the members that counted when it was proposed: a
member that is on the list besides may be known to too few, and a new master must announce it again first."""


class StaleEpoch(Refused):
    """A request for an epoch, or a term, that this member has left behind."""


class GroupName(Struct, frozen=True):
    cluster: str
    broker: str
    member_id: int


class GroupState(Struct, frozen=True, rename="camel"):
    epoch: int = 0
    """The highest promised: nothing of a lower one is obeyed."""
    term_id: int = field(default=0, name="reign")
    master_id: int | None = field(default=None, name="master")
    """None from the promise until the outcome is known."""
    history: History = field(default=(), name="epochs")
    members: Mapping[int, str] = field(default_factory=dict)
    """Member id to remoting address."""
    in_sync: InSyncSet = InSyncSet()
    confirmed_offset: int = 0
    copied_from: int = 0
    caught_up_at: int = field(default=0, name="wholeAt")
    """Where the master's log ended when this one began, empty: before this log has reached it, this member
    may once have acknowledged messages that it does not have."""
    start_offset: int | None = None
    """Where the group's log starts by its master's decision: nothing at or behind it may be deleted here.
    None: this member knows of no decision (docs/adr/0015)."""
    needed_from: int = 0
    """Start of the oldest segment that had not expired, as the master reported last."""
    promised_in_sync: int = 1
    """The highest minInSyncReplicas that this member knows of: earlier acknowledgements depend on it,
    also under a master whose own settings require less."""


def check_term(state: GroupState, epoch: int, term_id: int) -> None:
    """Refuse an earlier epoch, and another term of the same epoch."""
    if epoch < state.epoch or (epoch == state.epoch and term_id != state.term_id):
        raise _stale(state, epoch)


def promise(state: GroupState, epoch: int, term_id: int) -> GroupState:
    """From now on only this term counts. Asked twice it promises once."""
    check_term(state, epoch, term_id)
    return state if epoch == state.epoch else replace(state, epoch=epoch, term_id=term_id, master_id=None)


def create_group(member_id: int, address: str, term_id: int, min_in_sync: int) -> GroupState:
    """A group begins with its first master, alone."""
    in_sync = InSyncSet(1, 1, (member_id,), min_in_sync, (member_id,))
    history, members = begin((), 1, term_id, 0), {member_id: address}
    return remember_promise(GroupState(1, term_id, member_id, history, members, in_sync, start_offset=0))


def group_of_one(state: GroupState, member_id: int, address: str, min_in_sync: int) -> GroupState:
    """For a member that takes over from a plain master: its log begins where its copy began."""
    alone = InSyncSet(0, 0, (member_id,), min_in_sync, (member_id,))
    return replace(state, members={member_id: address}, in_sync=alone)


def become_master(state: GroupState, epoch: int, term_id: int, member_id: int, log_end: int) -> GroupState:
    """This member won: its entry begins at its log's end, and it is the only one known to be in sync."""
    check_term(state, epoch, term_id)
    if epoch != state.epoch:
        raise StaleEpoch(f"this member was not asked to promise epoch {epoch}")
    if state.master_id not in (None, member_id):
        raise StaleEpoch(f"member {state.master_id} is already master of epoch {epoch}")
    if log_epoch(state.history) == epoch:
        # A repeated request: a master that stopped needs a new epoch, since its log may have lost its end.
        raise StaleEpoch(f"this member has been master of epoch {epoch} already")
    return replace(
        state,
        master_id=member_id,
        history=begin(state.history, epoch, term_id, log_end),
        in_sync=replace(state.in_sync, epoch=epoch, version=1, ids=(member_id,)),
        confirmed_offset=min(state.confirmed_offset, log_end),
        start_offset=state.start_offset or 0,
    )


def follow(state: GroupState, epoch: int, term_id: int, master_id: int) -> GroupState:
    """Another member won."""
    promised = promise(state, epoch, term_id)
    if promised.master_id not in (None, master_id):
        raise StaleEpoch(f"member {promised.master_id} is the master of epoch {epoch}, not {master_id}")
    return replace(promised, master_id=master_id)


def take_set(state: GroupState, epoch: int, in_sync: InSyncSet, members: Mapping[int, str]) -> GroupState:
    """The in-sync set and members as a master sends them; an older set changes nothing."""
    _check_epoch(state, epoch)
    if (in_sync.epoch, in_sync.version) <= (state.in_sync.epoch, state.in_sync.version):
        return state
    return replace(state, in_sync=in_sync, members=dict(members))


def decide_start(state: GroupState, epoch: int, start_offset: int, needed_from: int) -> GroupState:
    """A master's own decision. The start never goes back."""
    return take_start(state, epoch, max(start_offset, state.start_offset or 0), needed_from)


def take_start(
    state: GroupState, epoch: int, start_offset: int | None, needed_from: int | None
) -> GroupState:
    """The master's decision counts, also where it is lower than that of the master before: what only a
    replaced master decided was not decided by the group. None: a master of the first release, which sends
    nothing."""
    _check_epoch(state, epoch)
    needed_from = needed_from or 0
    if (start_offset, needed_from) == (state.start_offset, state.needed_from):
        return state
    return replace(state, start_offset=start_offset, needed_from=needed_from)


def remember_promise(state: GroupState) -> GroupState:
    """After every change."""
    promised = state.in_sync.min_in_sync
    return state if promised <= state.promised_in_sync else replace(state, promised_in_sync=promised)


def wire_id(member_id: int, master_id: int | None) -> int:
    """The brokerId that a member shows to clients: the master is 0, and member 0 as a slave takes the id
    that the master does not use. Without a known master member 0 shows the lowest id that no member should
    have."""
    if member_id == master_id:
        return 0
    if member_id != 0:
        return member_id
    return master_id if master_id is not None else 1


def to_json(state: GroupState) -> Any:
    return to_builtins(state, str_keys=True)


def from_json(content: Any) -> GroupState:
    """The state, or CorruptRecord: a member with an unreadable state must not take part."""
    try:
        state = convert(content, GroupState, str_keys=True)
    except ValidationError as error:
        raise CorruptRecord(f"{GROUP_FILE}: {error}") from None
    if missing := _ALWAYS_WRITTEN - content.keys():
        raise CorruptRecord(f"{GROUP_FILE}: {', '.join(sorted(missing))} missing")
    check_history(state.history)
    return remember_promise(state)


def _check_epoch(state: GroupState, epoch: int) -> None:
    if epoch != state.epoch:
        raise _stale(state, epoch)


def _stale(state: GroupState, epoch: int) -> StaleEpoch:
    return StaleEpoch(f"epoch {epoch} is over: this member has promised epoch {state.epoch}")
