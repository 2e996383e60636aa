"""Headers of everything that stores a message: sends, replies, send-backs, recalls, ends of transactions.

Codes 10 and 324 use long names, codes 310, 320 and 325 one letter per field. Both are read into the same
value, `SendMessageRequest`, so that no handler knows which form arrived: `decode_send` picks the form.
The two classes must therefore list the same fields in the same order (a test compares them). In the headers
of transactions, `tran_state_table_offset` is the queue offset of the half message.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import field
from msgspec.structs import astuple

from engine.protocol._sends_cy import everyday_arguments
from engine.protocol.codes import RequestCode
from engine.protocol.wire import Header, Int32, Int64, header_arguments

_LONG_NAMES = frozenset({RequestCode.SEND_MESSAGE, RequestCode.SEND_REPLY_MESSAGE})


class SendMessageRequest(Header, frozen=True):
    """10, 324, and what any other form of a send decodes to."""

    producer_group: str
    topic: str
    default_topic: str
    default_topic_queue_nums: Int32
    queue_id: Int32
    sys_flag: Int32
    born_timestamp: Int64
    flag: Int32
    properties: str | None = None
    reconsume_times: Int32 | None = None
    unit_mode: bool = False
    max_reconsume_times: Int32 | None = None
    batch: bool = False
    broker_name: str | None = field(default=None, name="bname")

    def to_v2(self) -> SendMessageRequestV2:
        return SendMessageRequestV2(*astuple(self))


class SendMessageRequestV2(Header, frozen=True):
    """310, 320, 325: the same fields under one letter each."""

    producer_group: str = field(name="a")
    topic: str = field(name="b")
    default_topic: str = field(name="c")
    default_topic_queue_nums: Int32 = field(name="d")
    queue_id: Int32 = field(name="e")
    sys_flag: Int32 = field(name="f")
    born_timestamp: Int64 = field(name="g")
    flag: Int32 = field(name="h")
    properties: str | None = field(default=None, name="i")
    reconsume_times: Int32 | None = field(default=None, name="j")
    unit_mode: bool = field(default=False, name="k")
    max_reconsume_times: Int32 | None = field(default=None, name="l")
    batch: bool = field(default=False, name="m")
    broker_name: str | None = field(default=None, name="n")


def decode_send(code: int, ext_fields: Mapping[str, str]) -> SendMessageRequest:
    """The header of any send code, in either form."""
    if code in _LONG_NAMES:
        return SendMessageRequest(*header_arguments(SendMessageRequest, ext_fields))
    fields = ext_fields if type(ext_fields) is dict else dict(ext_fields)
    return SendMessageRequest(*(everyday_arguments(fields) or header_arguments(SendMessageRequestV2, fields)))


class SendMessageResponse(Header, frozen=True):
    """Answer to every send. MSG_REGION and TRACE_ON are always there, because Java reads them unchecked."""

    msg_id: str
    queue_id: Int32
    queue_offset: Int64
    transaction_id: str | None = None
    batch_uniq_id: str | None = None
    recall_handle: str | None = None
    region_id: str = field(default="DefaultRegion", name="MSG_REGION")
    trace_on: bool = field(default=True, name="TRACE_ON")


class ConsumerSendMsgBackRequest(Header, frozen=True):
    """36; `offset` is the commit-log offset of the message that could not be consumed."""

    offset: Int64
    group: str
    delay_level: Int32
    origin_msg_id: str | None = None
    origin_topic: str | None = None
    unit_mode: bool = False
    max_reconsume_times: Int32 | None = None


class RecallMessageRequest(Header, frozen=True):
    """370."""

    topic: str
    recall_handle: str
    producer_group: str | None = None


class RecallMessageResponse(Header, frozen=True):
    msg_id: str


class ReplyMessageRequest(Header, frozen=True):
    """326, broker to the client that waits for a reply."""

    producer_group: str
    topic: str
    default_topic: str
    default_topic_queue_nums: Int32
    queue_id: Int32
    sys_flag: Int32
    born_timestamp: Int64
    flag: Int32
    born_host: str
    store_host: str
    store_timestamp: Int64
    properties: str | None = None
    reconsume_times: Int32 | None = None
    unit_mode: bool = False


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
