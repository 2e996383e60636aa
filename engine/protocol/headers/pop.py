"""Headers of POP consumption. Their codes exceed 16 bits, so they travel in JSON headers only."""

from __future__ import annotations

from engine.protocol.wire import Header, Int32, Int64


class PopMessageRequest(Header, frozen=True):
    """200050; queue -1 means all queues, init_mode 0 starts at the minimum, 1 at the maximum."""

    consumer_group: str
    topic: str
    queue_id: Int32
    max_msg_nums: Int32
    invisible_time: Int64
    poll_time: Int64
    born_time: Int64
    init_mode: Int32
    exp_type: str | None = None
    exp: str | None = None
    order: bool | None = None
    attempt_id: str | None = None


class PopMessageResponse(Header, frozen=True):
    pop_time: Int64
    invisible_time: Int64
    revive_qid: Int32
    rest_num: Int64
    start_offset_info: str | None = None
    msg_offset_info: str | None = None
    order_count_info: str | None = None


class AckMessageRequest(Header, frozen=True):
    """200051; extra_info is the handle that the pop gave."""

    consumer_group: str
    topic: str
    queue_id: Int32
    extra_info: str
    offset: Int64


class PeekMessageRequest(Header, frozen=True):
    """200052."""

    topic: str
    queue_id: Int32
    max_msg_nums: Int32
    consumer_group: str


class ChangeInvisibleTimeRequest(Header, frozen=True):
    """200053."""

    consumer_group: str
    topic: str
    queue_id: Int32
    extra_info: str
    offset: Int64
    invisible_time: Int64


class ChangeInvisibleTimeResponse(Header, frozen=True):
    pop_time: Int64
    invisible_time: Int64
    revive_qid: Int32


class NotificationRequest(Header, frozen=True):
    """200054."""

    consumer_group: str
    topic: str
    queue_id: Int32
    poll_time: Int64
    born_time: Int64
    order: bool | None = None
    attempt_id: str | None = None


class NotificationResponse(Header, frozen=True):
    has_msg: bool = False
    polling_full: bool = False


class PollingInfoRequest(Header, frozen=True):
    """200055."""

    consumer_group: str
    topic: str
    queue_id: Int32


class PollingInfoResponse(Header, frozen=True):
    polling_num: Int32 = 0
