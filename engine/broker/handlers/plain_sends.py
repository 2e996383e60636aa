"""SEND_MESSAGE_V2 (310) with nothing special about it, which is nearly every send: the same, with less ado.

It refuses nothing and makes nothing: whatever is not plainly good (an unknown topic, a flag, a delay, a full
disk, a request that waited too long) goes to the ordinary handler, which alone knows the rules and their
words. What it stores and answers is what the ordinary handler would (a test compares them), so it may be left
out at any time. It does not know of waits, and so has no place where an answer waits for the disk or a slave.
"""

from __future__ import annotations

from collections.abc import Callable

from engine.broker.disk_room import DiskRoom
from engine.broker.options import LiveOptions
from engine.broker.topics import TopicTable
from engine.broker.traffic import Traffic
from engine.net.connection import Connection
from engine.net.outcomes import Handler, Outcome, Reply
from engine.protocol._sends_cy import plain_send
from engine.protocol.bodies.topics import PERM_READ_WRITE, TopicFilterType
from engine.protocol.codes import RequestCode
from engine.protocol.commands import Command
from engine.protocol.hosts import pack_host
from engine.protocol.names import REVIVE_TOPIC_PREFIX, SEND_FORBIDDEN_TOPICS
from engine.protocol.records import MAX_PROPERTIES_BYTES
from engine.store.results import MessageDraft, PutResult, PutStatus

# Half the time of calling the named tuple.
_new_tuple = tuple.__new__


class PlainSends:
    def __init__(
        self,
        store_host: bytes,
        region: str,
        suffixes: dict[bool, bytes],
        topics: TopicTable,
        put: Callable[[MessageDraft, int], PutResult],
        live: LiveOptions,
        traffic: Traffic,
        disk: DiskRoom,
        *,
        now_ms: Callable[[], int],
        waited_ms: Callable[[float, float], float],
        appended: Callable[[], None],
        otherwise: Handler,
    ) -> None:
        self._id_format = f"{store_host.hex().upper()}%016X"
        self._region = region
        self._suffixes = suffixes
        self._topics = topics
        self._put = put
        self._live = live
        self._traffic = traffic
        self._disk = disk
        self._now_ms = now_ms
        self._waited_ms = waited_ms
        self._appended = appended
        self._otherwise = otherwise

    def routes(self) -> dict[int, Handler]:
        return {RequestCode.SEND_MESSAGE_V2: self.send}

    def send(self, request: Command, client: Connection) -> Outcome:
        live, body = self._live, request.body
        plain = plain_send(request.fields, self._suffixes[live.trace_on])
        if plain is None:
            return self._otherwise(request, client)
        topic, queue_id, flag, sys_flag, born_timestamp, retries, properties, unique_key = plain
        now_ms = self._now_ms()
        config = self._topics.get(topic)
        if (
            config is None
            or queue_id >= config.write_queue_nums
            or config.topic_filter_type is not TopicFilterType.SINGLE_TAG
            or topic in self._topics.unsaved
            or topic in SEND_FORBIDDEN_TOPICS
            or topic.startswith(REVIVE_TOPIC_PREFIX)
            or len(body) > live.max_message_size
            or len(properties) > MAX_PROPERTIES_BYTES
            or not self._is_open(live, client, now_ms)
        ):
            return self._otherwise(request, client)
        born_host = pack_host(client.remote)
        draft = (topic, queue_id, flag, sys_flag, born_timestamp, born_host, retries, 0, body, properties, 0)
        result = self._put(_new_tuple(MessageDraft, draft), now_ms)
        status, commit_log_offset, size, queue_offset, _, _, _ = result
        if status is not PutStatus.PUT_OK:
            return self._otherwise(request, client)
        self._appended()
        self._traffic.put(topic, 1, size)
        fields = {
            "MSG_REGION": self._region,
            "TRACE_ON": "true" if live.trace_on else "false",
            "msgId": self._id_format % commit_log_offset,
            "queueId": str(queue_id),
            "queueOffset": str(queue_offset),
            "transactionId": unique_key,
        }
        return Reply(0, None, fields)

    def _is_open(self, live: LiveOptions, client: Connection, now_ms: int) -> bool:
        """Whether sends are taken at all, and this one was not left waiting."""
        return (
            self._disk.is_writable
            and live.broker_permission == PERM_READ_WRITE
            and now_ms >= live.start_accept_send_request_time_stamp
            and not (
                live.broker_fast_failure_enable
                and self._waited_ms(client.read_at, client.last_read_at) > live.wait_time_mills_in_send_queue
            )
        )
