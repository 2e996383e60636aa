"""Headers between the members of a broker set."""

from __future__ import annotations

from engine.protocol.wire import Header, Int64


class ExchangeHAInfoRequest(Header, frozen=True):
    """906; all absent asks, else tells. The master's answer has the same fields."""

    master_ha_address: str | None = None
    master_flush_offset: Int64 | None = None
    master_address: str | None = None

    @property
    def only_asks(self) -> bool:
        return (
            self.master_ha_address is None
            and self.master_flush_offset is None
            and self.master_address is None
        )


ExchangeHAInfoResponse = ExchangeHAInfoRequest


class ResetMasterFlushOffsetRequest(Header, frozen=True):
    """908."""

    master_flush_offset: Int64
