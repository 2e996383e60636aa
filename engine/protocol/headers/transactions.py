"""Headers of half messages: deciding (37), asking back (39), resuming the asking (323).

`tran_state_table_offset` is the queue offset of the half message.
"""

from __future__ import annotations

from engine.protocol.wire import Header, Int32, Int64


class EndTransactionRequest(Header, frozen=True):
    """37; commit_or_rollback is the transaction type of a system flag: 8, 12, or 0 for unknown."""

    producer_group: str
    tran_state_table_offset: Int64
    commit_log_offset: Int64
    commit_or_rollback: Int32
    msg_id: str
    from_transaction_check: bool = False
    transaction_id: str | None = None
    topic: str | None = None


class CheckTransactionStateRequest(Header, frozen=True):
    """39, broker to producer; msg_id and transaction_id are both the unique key."""

    tran_state_table_offset: Int64
    commit_log_offset: Int64
    topic: str | None = None
    msg_id: str | None = None
    transaction_id: str | None = None
    offset_msg_id: str | None = None


class ResumeCheckHalfMessageRequest(Header, frozen=True):
    """323; msg_id is an offset message id."""

    topic: str | None = None
    msg_id: str | None = None
