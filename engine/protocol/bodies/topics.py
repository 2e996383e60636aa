"""Topic configuration as brokers keep it, announce it and write it to topics.json; static-topic mappings.

topics.json is a `TopicConfigSerializeWrapper`.
"""

from __future__ import annotations

from enum import IntEnum

from msgspec import field

from engine.protocol.bodies.basics import DataVersion
from engine.protocol.wire import Body, Int32, Int64

PERM_INHERIT = 0x1
PERM_WRITE = 0x2
PERM_READ = 0x4
PERM_PRIORITY = 0x8
PERM_READ_WRITE = PERM_READ | PERM_WRITE

TOPIC_FLAG_UNIT = 0x1
TOPIC_FLAG_UNIT_SUB = 0x2


class TopicFilterType(IntEnum):
    SINGLE_TAG = 0
    MULTI_TAG = 1


class TopicConfig(Body, frozen=True):
    topic_name: str = ""
    read_queue_nums: Int32 = 16
    write_queue_nums: Int32 = 16
    perm: Int32 = PERM_READ_WRITE
    topic_filter_type: TopicFilterType = TopicFilterType.SINGLE_TAG
    topic_sys_flag: Int32 = 0
    order: bool = False
    attributes: dict[str, str] = field(default_factory=dict)

    @property
    def is_readable(self) -> bool:
        return bool(self.perm & PERM_READ)

    @property
    def is_writable(self) -> bool:
        return bool(self.perm & PERM_WRITE)

    @property
    def is_inheritable(self) -> bool:
        return bool(self.perm & PERM_INHERIT)


class LogicQueueMappingItem(Body, frozen=True):
    """One stretch of a static topic's global queue on one physical queue."""

    gen: Int32 = 0
    queue_id: Int32 = 0
    bname: str = ""
    logic_offset: Int64 = 0
    start_offset: Int64 = 0
    end_offset: Int64 = -1
    time_of_start: Int64 = -1
    time_of_end: Int64 = -1


class TopicQueueMappingInfo(Body, frozen=True):
    topic: str = ""
    scope: str = "__global__"
    total_queues: Int32 = 0
    bname: str = ""
    epoch: Int64 = 0
    dirty: bool = False
    curr_id_map: dict[Int32, Int32] = field(default_factory=dict)


class TopicQueueMappingDetail(TopicQueueMappingInfo, frozen=True):
    hosted_queues: dict[Int32, tuple[LogicQueueMappingItem, ...]] = field(default_factory=dict)


class TopicConfigSerializeWrapper(Body, frozen=True):
    """topics.json, and the registration body of brokers before 5.0."""

    topic_config_table: dict[str, TopicConfig] = field(default_factory=dict)
    data_version: DataVersion = field(default_factory=DataVersion)


class TopicConfigAndMappingSerializeWrapper(TopicConfigSerializeWrapper, frozen=True):
    """Answer to 21, and the topics of a registration since 5.0."""

    mapping_data_version: DataVersion = field(default_factory=DataVersion)
    topic_queue_mapping_info_map: dict[str, TopicQueueMappingInfo] = field(default_factory=dict)
    topic_queue_mapping_detail_map: dict[str, TopicQueueMappingDetail] = field(default_factory=dict)


class CreateTopicListRequestBody(Body, frozen=True):
    """18."""

    topic_config_list: tuple[TopicConfig, ...] = ()
