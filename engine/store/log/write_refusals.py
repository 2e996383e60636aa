"""Why puts are refused at the moment: a failed sync (for good), a role that may not write, a full disk."""

from __future__ import annotations

from engine.store.results import PutResult, PutStatus

_FENCED = PutResult(PutStatus.FENCED, remark="a sync failed: the store takes no more writes")
_DISK_FULL = PutResult(PutStatus.DISK_FULL, remark="no room or no descriptor for queue and index files")


class WriteRefusals:
    def __init__(self) -> None:
        self.is_fenced = False
        self.is_full = False
        self.closed_for: str | None = None

    def first(self) -> PutResult | None:
        """What a put is told; None: it may go ahead."""
        if self.is_fenced:
            return _FENCED
        if self.closed_for is not None:
            return PutResult(PutStatus.SERVICE_NOT_AVAILABLE, remark=self.closed_for)
        return _DISK_FULL if self.is_full else None
