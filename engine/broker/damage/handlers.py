"""30030, our own: the damaged records that this broker knows of, and which groups have skipped them.

Ten thousand rows at most (`damaged_records`): encoded in a thread.
"""

from __future__ import annotations

import orjson

from engine.broker.damage.damaged_records import DamagedRecords
from engine.net.connection import Connection
from engine.net.outcomes import ColdRead, Handler, Outcome, Reply
from engine.protocol.codes import RequestCode
from engine.protocol.commands import Command
from engine.protocol.headers.brokers import DamagedRecordsRequest


class DamageHandlers:
    def __init__(self, records: DamagedRecords) -> None:
        self._records = records

    def routes(self) -> dict[int, Handler]:
        return {RequestCode.SIGNALBOX_DAMAGED_RECORDS: self.list_records}

    def list_records(self, request: Command, client: Connection) -> Outcome:
        rows = self._records.rows(DamagedRecordsRequest.decode(request.fields).group)
        return ColdRead(lambda: orjson.dumps({"records": rows}), lambda body: Reply(body=body))
