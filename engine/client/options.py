"""Everything that can be set about a client: frozen values, checked once, with RocketMQ's defaults.

Times carry their unit in their name. Nothing here reads the environment; `name_server_addresses` is given it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypedDict

from engine.errors import BadInput
from engine.net.requester import Resolve, parse_address
from engine.net.tls import TlsOptions
from engine.protocol.allocation import Allocate, average
from engine.protocol.bodies.clients import ConsumeFromWhere, MessageModel
from engine.protocol.names import DEFAULT_TOPIC, TRACE_TOPIC
from engine.protocol.signing import Credentials

if TYPE_CHECKING:
    from engine.client.instance.instance import ClientInstance

DEFAULT_NAME_SERVER = "127.0.0.1:9876"

Acks = Literal[0, 1, "all"]
"""What `send` waits for: 0 nothing (one-way), 1 stored by the master (WAIT=false), "all" also flushed and
replicated where the broker is set to do so (WAIT=true)."""

Tls = TlsOptions | bool | None
"""True: with the system's authorities. None and False: without TLS."""

Compression = Literal["zlib", "lz4", "zstd", "none"]


class ServerAccess(TypedDict, total=False):
    """How any producer, consumer or admin reaches its servers: `namesrv` is `host:port;host:port` (default
    $NAMESRV_ADDR), `credentials` sign the requests."""

    namesrv: str | None
    tls: Tls
    credentials: Credentials | None


class ClientArguments(ServerAccess, total=False):
    """The same, or the `instance` to share; TLS and credentials are then those of the instance."""

    instance: ClientInstance | None


def name_server_addresses(text: str | None, environment: Mapping[str, str]) -> tuple[str, ...]:
    """`host:port;host:port` from the caller, else from NAMESRV_ADDR, else the default one on this machine."""
    listed = text or environment.get("NAMESRV_ADDR") or DEFAULT_NAME_SERVER
    addresses = tuple(part.strip() for part in listed.replace(",", ";").split(";") if part.strip())
    if not addresses:
        raise BadInput("no name server address was given")
    for address in addresses:
        parse_address(address)
    return addresses


@dataclass(frozen=True, slots=True)
class ClientOptions:
    """What producers, consumers and admins share.

    `instance_name` is the second half of the client id; the default is unique per instance. `tls=True` is TLS
    with the system's authorities, `TlsOptions` sets files and checks. `resolve` decides which addresses may
    be dialled: they come from routes, which anyone who can register a broker can forge.
    """

    instance_name: str | None = None
    request_timeout_ms: int = 3_000
    connect_timeout_s: float = 3.0
    poll_name_server_s: float = 30.0
    heartbeat_s: float = 30.0
    tls: Tls = None
    credentials: Credentials | None = None
    resolve: Resolve | None = None

    def __post_init__(self) -> None:
        _check_positive(self, "request_timeout_ms", "connect_timeout_s", "poll_name_server_s", "heartbeat_s")


@dataclass(frozen=True, slots=True)
class ProducerOptions:
    """How a producer sends.

    `send_timeout_ms` is the budget of one send with all its retries. `max_in_flight` bounds the sends that
    wait for an answer: `send_async` waits for room beyond it. Bodies of at least `compress_above_bytes` are
    compressed unless that makes them larger. `max_batch_bytes` is the size at which `send_batch` starts
    another request. With `trace`, every answered send is traced to `trace_topic`, as by RocketMQ's clients.
    """

    acks: Acks = "all"
    send_timeout_ms: int = 3_000
    retries: int = 2
    max_in_flight: int = 2_048
    max_message_bytes: int = 4 * 1024 * 1024
    max_batch_bytes: int = 1024 * 1024
    compress_above_bytes: int = 4_096
    compression: Compression = "zlib"
    compression_level: int = 5
    avoids_slow_brokers: bool = True
    default_topic: str = DEFAULT_TOPIC
    default_topic_queue_nums: int = 4
    trace: bool = False
    trace_topic: str = TRACE_TOPIC

    def __post_init__(self) -> None:
        _check_positive(self, "send_timeout_ms", "max_in_flight", "max_message_bytes", "max_batch_bytes")
        if self.acks not in (0, 1, "all"):
            raise BadInput(f"acks is 0, 1 or 'all', not {self.acks!r}")
        if self.compression not in ("zlib", "lz4", "zstd", "none"):
            raise BadInput(f"compression is zlib, lz4, zstd or none, not {self.compression!r}")
        if self.retries < 0:
            raise BadInput(f"retries is 0 or more, not {self.retries}")


@dataclass(frozen=True, slots=True)
class PullOptions:
    """How consumers read: batch size, long polling, and the window that each queue may fill.

    A queue is not read further while it holds so many messages or bytes, or while the oldest message that is
    not yet consumed lies `max_span_per_queue` offsets behind the newest (a push consumer's listener calls end
    in any order).
    """

    batch_size: int = 32
    suspend_ms: int = 15_000
    timeout_ms: int = 30_000
    max_messages_per_queue: int = 1_000
    max_bytes_per_queue: int = 100 * 1024 * 1024
    max_span_per_queue: int = 2_000
    retry_after_error_s: float = 3.0

    def __post_init__(self) -> None:
        _check_positive(self, "batch_size", "suspend_ms", "max_messages_per_queue", "max_bytes_per_queue")
        if self.timeout_ms <= self.suspend_ms:
            raise BadInput(
                f"timeout_ms ({self.timeout_ms}) must be greater than suspend_ms ({self.suspend_ms})"
            )


@dataclass(frozen=True, slots=True)
class ConsumerOptions:
    """How a group consumes.

    With `server_side_balance` the brokers share the queues out, and decide whether the group pulls or pops
    each topic (`setConsumeMode`); what is popped stays hidden from others for `pop_invisible_ms`.
    `consume_batch_size=None` calls the listener with one message at a time; a number calls it with lists of
    up to that many. `threads` bounds how many listener calls run at once. `max_reconsume_times=-1` means the
    default of 16 (for orderly listeners: no limit). `consume_from_timestamp_ms` counts with
    CONSUME_FROM_TIMESTAMP; None means half an hour before the start. `close_timeout_s` is how long `close`
    waits for listener calls that have begun; what they do not finish is delivered again. With `trace`, every
    listener call is traced to `trace_topic`.
    """

    model: MessageModel = MessageModel.CLUSTERING
    from_where: ConsumeFromWhere = ConsumeFromWhere.CONSUME_FROM_LAST_OFFSET
    consume_from_timestamp_ms: int | None = None
    orderly: bool = False
    consume_batch_size: int | None = None
    threads: int = 20
    max_reconsume_times: int = -1
    consume_timeout_s: float = 15 * 60.0
    suspend_ms: int = 1_000
    retry_locally_after_s: float = 5.0
    close_timeout_s: float = 10.0
    commit_interval_s: float = 5.0
    rebalance_s: float = 20.0
    lock_interval_s: float = 20.0
    allocate: Allocate = average
    allocation_name: str = "AVG"
    server_side_balance: bool = False
    pop_invisible_ms: int = 60_000
    offsets_folder: str | None = None
    trace: bool = False
    trace_topic: str = TRACE_TOPIC
    pull: PullOptions = field(default_factory=PullOptions)

    def __post_init__(self) -> None:
        _check_positive(self, "threads", "commit_interval_s", "rebalance_s", "lock_interval_s")
        if self.consume_batch_size is not None and self.consume_batch_size < 1:
            raise BadInput(f"consume_batch_size is None or at least 1, not {self.consume_batch_size}")
        if not 10 <= self.suspend_ms <= 30_000:
            raise BadInput(f"suspend_ms is 10 to 30000, not {self.suspend_ms}")
        is_plain = self.model is MessageModel.CLUSTERING and not self.orderly
        if self.server_side_balance and not is_plain:
            raise BadInput("server_side_balance needs model=CLUSTERING and orderly=False")


@dataclass(frozen=True, slots=True)
class LitePullOptions:
    """How a LitePullConsumer reads; with `auto_commit`, what earlier polls returned is committed."""

    from_where: ConsumeFromWhere = ConsumeFromWhere.CONSUME_FROM_LAST_OFFSET
    consume_from_timestamp_ms: int | None = None
    model: MessageModel = MessageModel.CLUSTERING
    auto_commit: bool = True
    commit_interval_s: float = 5.0
    rebalance_s: float = 20.0
    max_poll_messages: int = 32
    poll_timeout_ms: int = 5_000
    allocate: Allocate = average
    offsets_folder: str | None = None
    pull: PullOptions = field(default_factory=lambda: PullOptions(suspend_ms=20_000))

    def __post_init__(self) -> None:
        _check_positive(self, "commit_interval_s", "rebalance_s", "max_poll_messages")


@dataclass(frozen=True, slots=True)
class PopOptions:
    """How a PopConsumer receives. `order`: a queue gives nothing more until all it gave is acknowledged."""

    from_where: ConsumeFromWhere = ConsumeFromWhere.CONSUME_FROM_LAST_OFFSET
    invisible_ms: int = 60_000
    wait_ms: int = 15_000
    order: bool = False

    def __post_init__(self) -> None:
        _check_positive(self, "invisible_ms")


def _check_positive(options: object, *names: str) -> None:
    for name in names:
        if getattr(options, name) <= 0:
            raise BadInput(f"{name} must be greater than 0, not {getattr(options, name)!r}")
