"""How far each group has consumed each queue: committed offsets, pulled offsets and pending resets.

Pure. A committed offset is kept as given, even a smaller or a negative one: the Node client commits −1 for
what it does not know, and a negative offset reads as none. A reset mark means: the next pull of that group
and queue is sent to the marked offset, and commits until then do not count. An offset that a pop has moved
(`give`) may be saved only after the log with the pop's checkpoint: if that is lost, the messages must be
given again. Loop thread only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from engine.protocol.bodies.basics import DataVersion
from engine.protocol.names import is_valid_group, is_valid_topic

OFFSETS_FILE = "consumerOffset.json"

_Key = tuple[str, str]
"""(topic, group)"""


_NOTHING: dict[int, int] = {}


class ConsumerOffsets:
    def __init__(self) -> None:
        self._committed: dict[_Key, dict[int, int]] = {}
        # Indexes of its keys in both directions, dicts as ordered sets: a broker may have 100,000 of them.
        self._topics_of: dict[str, dict[str, None]] = {}
        self._groups_of: dict[str, dict[str, None]] = {}
        self._pulled: dict[_Key, dict[int, int]] = {}
        self._resets: dict[_Key, dict[int, int]] = {}
        self._changed: set[_Key] = set()
        self._given: dict[_Key, dict[int, int]] = {}
        """The offsets before the moves of pops since the last snapshot; below, since the one before."""
        self._given_before: dict[_Key, dict[int, int]] = {}
        self.version = DataVersion()
        self.is_dirty = False

    # -- commits --------------------------------------------------------------------------------------------

    def commit(self, topic: str, group: str, queue_id: int, queue_offset: int) -> None:
        key = topic, group
        queues = self._committed.get(key)
        if queues is None:
            queues = self._new_pair(topic, group)
        queues[queue_id] = queue_offset
        self._changed.add(key)
        self.is_dirty = True

    def give(self, topic: str, group: str, queue_id: int, queue_offset: int) -> None:
        """A commit by a pop."""
        found = self.committed(topic, group, queue_id)
        self._given.setdefault((topic, group), {}).setdefault(queue_id, -1 if found is None else found)
        self.commit(topic, group, queue_id, queue_offset)

    def adopt(self, table: Mapping[str, Mapping[int, int]], version: DataVersion | None) -> bool:
        """A slave takes its master's offsets; pairs that the master does not know stay, as in RocketMQ.
        Returns whether anything changed. The version becomes the master's."""
        is_changed = False
        self._given, self._given_before = {}, {}
        for name, queues in table.items():
            topic, separator, group = name.partition("@")
            if not separator or not is_valid_topic(topic) or not is_valid_group(group):
                continue
            key = topic, group
            if self._committed.get(key) != queues:
                self._new_pair(topic, group).update(queues)
                self._changed.add(key)
                is_changed = True
        if version is not None:
            self.version = version
        return is_changed

    def _new_pair(self, topic: str, group: str) -> dict[int, int]:
        self._topics_of.setdefault(group, {})[topic] = None
        self._groups_of.setdefault(topic, {})[group] = None
        queues = self._committed[topic, group] = {}
        return queues

    def committed(self, topic: str, group: str, queue_id: int) -> int | None:
        """None when there is no usable offset."""
        queues = self._committed.get((topic, group))
        if queues is None:
            return None
        queue_offset = queues.get(queue_id, -1)
        return queue_offset if queue_offset >= 0 else None

    def queues(self, topic: str, group: str) -> dict[int, int]:
        """A copy: queue id to committed offset."""
        queues = self._committed.get((topic, group))
        return queues.copy() if queues else {}

    def committed_of(self, pair: _Key) -> Mapping[int, int]:
        """Queue id to committed offset, as they are at this moment; not to be kept."""
        return self._committed.get(pair, _NOTHING)

    def topics_of(self, group: str) -> list[str]:
        return list(self._topics_of.get(group, ()))

    def groups_of(self, topic: str) -> list[str]:
        return list(self._groups_of.get(topic, ()))

    def pairs(self) -> list[_Key]:
        return list(self._committed)

    def pairs_on(self, topics: Iterable[str]) -> list[list[_Key]]:
        """For each topic: its pairs with the groups that have committed on it."""
        groups_of = self._groups_of.get
        return [[(topic, group) for group in groups_of(topic, ())] for topic in topics]

    def take_changed(self) -> set[_Key]:
        """The pairs whose committed offsets were changed since the last call."""
        changed, self._changed = self._changed, set()
        return changed

    def clone(self, source: str, target: str, topic: str) -> None:
        queues = self._committed.get((topic, source))
        if queues is not None:
            self._new_pair(topic, target).update(queues)
            self._changed.add((topic, target))
            self.is_dirty = True

    def forget_topic(self, topic: str) -> None:
        self._forget([(topic, group) for group in self.groups_of(topic)])

    def forget_group(self, group: str) -> None:
        self._forget([(topic, group) for topic in self.topics_of(group)])

    def _forget(self, keys: list[_Key]) -> None:
        for key in keys:
            topic, group = key
            del self._committed[key]
            _discard(self._topics_of, group, topic)
            _discard(self._groups_of, topic, group)
            self._pulled.pop(key, None)
            self._resets.pop(key, None)
            self._changed.add(key)
            self.is_dirty = True

    # -- pulls and resets -----------------------------------------------------------------------------------

    def note_pulled(self, topic: str, group: str, queue_id: int, queue_offset: int) -> None:
        queues = self._pulled.get((topic, group))
        if queues is None:
            queues = self._pulled[topic, group] = {}
        queues[queue_id] = queue_offset

    def pulled(self, topic: str, group: str, queue_id: int) -> int:
        """The furthest place known: never before the committed one."""
        pulled = self._pulled.get((topic, group), {}).get(queue_id, -1)
        return max(pulled, self.committed(topic, group, queue_id) or 0)

    def reset(self, topic: str, group: str, queue_id: int, queue_offset: int) -> None:
        self.commit(topic, group, queue_id, queue_offset)
        self._resets.setdefault((topic, group), {})[queue_id] = queue_offset

    def has_reset(self, topic: str, group: str, queue_id: int) -> bool:
        return bool(self._resets) and queue_id in self._resets.get((topic, group), ())

    def take_reset(self, topic: str, group: str, queue_id: int) -> int | None:
        """Removes and returns the pending reset of this queue."""
        if not self._resets:
            return None
        queues = self._resets.get((topic, group))
        if queues is None:
            return None
        queue_offset = queues.pop(queue_id, None)
        if not queues:
            del self._resets[topic, group]
        return queue_offset

    # -- the file -------------------------------------------------------------------------------------------

    def snapshot(self, now_ms: int) -> Mapping[str, object]:
        """What consumerOffset.json holds, copied, so that a thread may encode it."""
        if self.is_dirty:
            self.version = self.version.next_version(now_ms)
        self.is_dirty = False
        self._given_before, self._given = self._given, {}
        table = {f"{topic}@{group}": dict(queues) for (topic, group), queues in self._committed.items()}
        return {"dataVersion": self.version.to_json(), "offsetTable": table}

    def without_given(self, snapshot: Mapping[str, object]) -> Mapping[str, object]:
        """The snapshot without the moves of pops, while the log with their checkpoints is not on disk."""
        table = snapshot["offsetTable"]
        assert isinstance(table, dict)
        for (topic, group), queues in self._given_before.items():
            table.get(f"{topic}@{group}", {}).update(queues)
            self._given.setdefault((topic, group), {}).update(queues)
        self.is_dirty = True
        return snapshot

    def mark_dirty(self) -> None:
        """The last snapshot could not be written."""
        self.is_dirty = True

    def load(self, table: Mapping[str, Mapping[int, int]], version: DataVersion | None) -> None:
        for key, queues in table.items():
            topic, separator, group = key.partition("@")
            if separator and is_valid_topic(topic) and is_valid_group(group):
                self._new_pair(topic, group).update(queues)
        self.version = version or DataVersion()


def _discard(index: dict[str, dict[str, None]], name: str, member: str) -> None:
    members = index.get(name, {})
    members.pop(member, None)
    if not members:
        index.pop(name, None)
