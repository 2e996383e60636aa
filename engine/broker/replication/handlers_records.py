"""Between members of a group, about damaged records: 30016 asks for bytes of the log that the asking member
has damaged, 30017 tells the master of skips that it does not know.

Both need a proof of the cluster secret and are of the epoch that both are in. The answer to 30016 carries a
proof, too: given are whole records only, checked before they leave, and only as far as they are on disk and
confirmed here."""

from __future__ import annotations

from engine.broker.damage.skip_exchange import SkipExchange
from engine.broker.failover.member_requests_io import check_proof, record_proof
from engine.broker.failover.member_task import Replication
from engine.errors import NotFound, NotPermitted, Refused
from engine.net.connection import Connection
from engine.net.outcomes import ColdRead, Handler, Outcome, Reply
from engine.protocol.cluster_proof import PROOF_FIELD
from engine.protocol.codes import RequestCode, ResponseCode
from engine.protocol.commands import Command
from engine.protocol.headers.brokers import RecordRequest, SkipsRequest
from engine.store.message_store import MessageStore


class GroupRecordHandlers:
    def __init__(
        self,
        cluster: str,
        broker: str,
        secret: bytes | None,
        store: MessageStore,
        replication: Replication | None,
        exchange: SkipExchange,
    ) -> None:
        self._cluster = cluster
        self._broker = broker
        self._secret = secret
        self._store = store
        self._replication = replication
        self._exchange = exchange

    def routes(self) -> dict[int, Handler]:
        return {
            RequestCode.SIGNALBOX_GROUP_RECORD: self.record,
            RequestCode.SIGNALBOX_GROUP_SKIPS: self.skips,
        }

    def _checked(self, request: Command, header: RecordRequest | SkipsRequest) -> Replication:
        check_proof(self._secret, request)
        if (header.cluster_name, header.broker_name) != (self._cluster, self._broker):
            raise NotPermitted(f"this is group {self._broker} of cluster {self._cluster}")
        group = self._replication
        if group is None or group.epoch_and_reign != (header.epoch, header.reign):
            raise Refused(f"this member is in another epoch than {header.epoch}")
        return group

    def skips(self, request: Command, client: Connection) -> Outcome:
        if self._checked(request, SkipsRequest.decode(request.fields)).mastering is None:
            raise Refused("this member is not the master of its group")
        self._exchange.hear(bytes(request.body))
        return Reply()

    def record(self, request: Command, client: Connection) -> Outcome:
        header = RecordRequest.decode(request.fields)
        self._checked(request, header)
        place = self._store.repairs.locate(header.commit_log_offset, header.size)
        if place is None:
            raise _nothing_there(header)
        return ColdRead(place.read_whole, lambda data: self._answer(header, data))

    def _answer(self, header: RecordRequest, data: bytes) -> Reply:
        if not data:
            raise _nothing_there(header)
        assert self._secret is not None  # the request was proved with it
        return Reply(fields={PROOF_FIELD: record_proof(self._secret, header, data)}, body=data)


def _nothing_there(header: RecordRequest) -> NotFound:
    text = f"no whole records in {header.size} bytes at commit-log offset {header.commit_log_offset}"
    return NotFound(text, code=ResponseCode.QUERY_NOT_FOUND)
