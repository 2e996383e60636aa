"""Answer to 30020, our own: what a slave of ours takes besides what RocketMQ's slaves ask for.

`files` are state files by name, base64. All of it was so before the log ended at `commit_log_max_offset`:
who has the log up to there has everything that this state rests on.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from binascii import Error
from collections.abc import Mapping

from msgspec import field

from engine.errors import ProtocolError
from engine.protocol.wire import Body, Int64


class ReplicaState(Body, frozen=True):
    commit_log_max_offset: Int64 = 0
    files: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, commit_log_max_offset: int, files: Mapping[str, bytes]) -> ReplicaState:
        return cls(commit_log_max_offset, {name: b64encode(data).decode() for name, data in files.items()})

    def contents(self) -> dict[str, bytes]:
        try:
            return {name: b64decode(data, validate=True) for name, data in self.files.items()}
        except Error:
            raise ProtocolError("a state file is not base64") from None
