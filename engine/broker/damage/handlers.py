"""30030, our own: the damaged records that this broker knows of, and which groups have skipped them.

Ten thousand rows at most (`damaged_records`): encoded in a thread.
"""

from __future__ import annotations

from dataclasses import dataclass

import orjson

from engine.broker.damage.damaged_records import DamagedRecords
from engine.net.connection import Connection
from engine.net.outcomes import ColdRead, Handler, Outcome, Reply
from engine.protocol.codes import RequestCode
from engine.protocol.commands import Command
from engine.protocol.headers.brokers import DamagedRecordsRequest


@dataclass(eq=False, repr=False)
class DamageHandlers:
    records: DamagedRecords

    def routes(self) -> dict[int, Handler]:
        return {RequestCode.SIGNALBOX_DAMAGED_RECORDS: self.list_records}

    def list_records(self, request: Command, client: Connection) -> Outcome:
        rows = self.records.rows(DamagedRecordsRequest.decode(request.fields).group)
        return ColdRead(lambda: orjson.dumps({"records": rows}), lambda body: Reply(body=body))
