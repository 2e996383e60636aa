"""Transactional messages: a message that consumers get if, and only if, a local transaction was committed.

The message is first stored as a half message, which no consumer sees. Then the local transaction (`execute`)
runs, and its result decides. Whenever the decision does not arrive (this process died, the connection was
lost, the result was UNKNOWN), the broker asks any live producer of the group, whose `check` looks up the
outcome of the local transaction: after 6 s, then every 30 s, 15 times, as the broker is set. So `check` must
answer from what the transaction left behind (a row with the message's id), not from this process's memory.

    execute / check returns     the message
    COMMIT (execute: or None)   is shown to consumers
    ROLLBACK                    is never shown
    UNKNOWN, or raises          stays as it is; the broker asks

Both are async functions, or plain ones that run in a thread. Loop thread only.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from enum import Enum
from typing import Any, NamedTuple, Unpack

from engine.client.consuming.listeners import is_async
from engine.client.messages import Message, ReceivedMessage, SendResult, SendStatus
from engine.client.options import ClientArguments, ProducerOptions
from engine.client.sending.producer import Producer
from engine.errors import BadInput, EngineError
from engine.net.connection import Connection
from engine.protocol.bodies.basics import MessageQueue
from engine.protocol.codes import RequestCode
from engine.protocol.commands import Command
from engine.protocol.headers.send import CheckTransactionStateRequest, EndTransactionRequest
from engine.protocol.message_ids import parse_offset_msg_id
from engine.protocol.properties import Property
from engine.protocol.records import decode_record
from engine.protocol.sys_flags import (
    TRANSACTION_COMMIT,
    TRANSACTION_NONE,
    TRANSACTION_PREPARED,
    TRANSACTION_ROLLBACK,
)

log = logging.getLogger(__name__)


class TransactionState(Enum):
    COMMIT = TRANSACTION_COMMIT
    ROLLBACK = TRANSACTION_ROLLBACK
    UNKNOWN = TRANSACTION_NONE


Execute = Callable[[Message], Awaitable[TransactionState | None] | TransactionState | None]
Check = Callable[[ReceivedMessage], Awaitable[TransactionState] | TransactionState]


class TransactionResult(NamedTuple):
    """`sent` is the half message's: its queue offset is one of the half topic."""

    sent: SendResult
    state: TransactionState


class TransactionProducer(Producer):
    """A producer whose group can be asked about its transactions; sends ordinary messages too.

    >>> async def main() -> None:
    ...     async def check(message: ReceivedMessage) -> TransactionState:
    ...         return TransactionState.COMMIT if "order-17" in message.keys else TransactionState.ROLLBACK
    ...     async with TransactionProducer("shop-orders", check, namesrv=NAMESRV) as producer:
    ...         async def pay(message: Message) -> None:
    ...             print("paid", message.keys)
    ...         message = Message("orders", b"17 teapots", keys="order-17")
    ...         result = await producer.send_in_transaction(message, pay)
    ...         print(result.state.name)
    >>> asyncio.run(main())
    paid order-17
    COMMIT
    """

    def __init__(
        self,
        group: str,
        check: Check,
        *,
        options: ProducerOptions | None = None,
        **arguments: Unpack[ClientArguments],
    ) -> None:
        super().__init__(group, options=options, **arguments)
        self._check = check

    async def start(self) -> None:
        checkers = self.instance.server_requests.transactions
        if self.group in checkers:
            raise BadInput(f"the group {self.group} already has a transaction producer in this instance")
        checkers[self.group] = self
        await super().start()
        await self._meet_brokers()

    async def _meet_brokers(self) -> None:
        """A restarted process must receive the checks of earlier transactions before it sends anything, so
        brokers get its heartbeat now. They are found, as in Java, by the default topic; brokers without it
        get the heartbeat with the first send."""
        try:
            await self.instance.routes.refresh(self.options.default_topic)
        except EngineError as error:
            log.info("group %s sends its heartbeat with its first message: %s", self.group, error.text)
        await self.instance.heartbeat()

    async def close(self) -> None:
        self.instance.server_requests.transactions.pop(self.group, None)
        await super().close()

    async def send_in_transaction(
        self, message: Message, execute: Execute, *, queue: MessageQueue | None = None
    ) -> TransactionResult:
        """Store the half message, run `execute`, send the outcome to the broker. An exception of `execute` is
        raised here, after the broker got UNKNOWN.

        A half message that was not acknowledged as it should be is rolled back, and `execute` does not run.
        The half message is never retried elsewhere: each try could become a separate message.
        """
        if message.delay_level:
            raise BadInput("a transactional message cannot be delayed")
        marks = {Property.TRAN_MSG: "true", Property.PGROUP: self.group}
        sent = await self._send_marked(message, marks, TRANSACTION_PREPARED, queue)
        if sent.status is not SendStatus.SEND_OK:
            await self._end(message.topic, sent, TransactionState.ROLLBACK)
            return TransactionResult(sent, TransactionState.ROLLBACK)
        state = TransactionState.UNKNOWN
        try:
            result = await _run(execute, message)
            state = TransactionState.COMMIT if result is None else TransactionState(result)
        finally:
            await self._end(message.topic, sent, state)
        return TransactionResult(sent, state)

    async def _end(self, topic: str, sent: SendResult, state: TransactionState) -> None:
        """One-way. The broker checks back when it is lost."""
        _, commit_log_offset = parse_offset_msg_id(sent.offset_msg_id)
        header = EndTransactionRequest(
            self.group,
            sent.queue_offset,
            commit_log_offset,
            state.value,
            sent.msg_id,
            transaction_id=sent.transaction_id,
            topic=topic,
        )
        try:
            address = self.instance.master_address(sent.queue.broker_name)
            await self.instance.requester.send_oneway(
                address, Command(RequestCode.END_TRANSACTION, fields=header.encode())
            )
        except EngineError as error:
            text = "the outcome of transaction %s was not sent: %s; the broker will check back"
            log.info(text, sent.msg_id, error.text)
        self._trace_end(header, sent.queue.broker_name)

    def _trace_end(self, header: EndTransactionRequest, store_host: str) -> None:
        if self._tracing is not None:
            self._tracing.ended(header, store_host)

    # -- check-backs ----------------------------------------------------------------------------------------

    async def answer_check(self, request: Command, connection: Connection) -> None:
        asked = CheckTransactionStateRequest.decode(request.fields)
        record = decode_record(request.body)
        message = ReceivedMessage(record, MessageQueue(record.topic, "", record.queue_id))
        header = EndTransactionRequest(
            self.group,
            asked.tran_state_table_offset,
            asked.commit_log_offset,
            (await self._ask(message)).value,
            record.uniq_key or asked.msg_id or "",
            from_transaction_check=True,
            transaction_id=asked.transaction_id,
            topic=record.topic,
        )
        answer = Command(RequestCode.END_TRANSACTION, fields=header.encode())
        connection.send_oneway(self.instance.requester.signed(answer))
        self._trace_end(header, connection.peer_name)

    async def _ask(self, message: ReceivedMessage) -> TransactionState:
        """An exception of the application's `check` means UNKNOWN, so that the broker asks again."""
        results: list[object] = await asyncio.gather(_run(self._check, message), return_exceptions=True)
        result = results[0]
        if isinstance(result, TransactionState):
            return result
        if isinstance(result, BaseException):
            log.warning("the transaction check raised on %s", message, exc_info=result)
        else:
            log.warning("the transaction check returned %r on %s: taken as unknown", result, message)
        return TransactionState.UNKNOWN


async def _run(function: Callable[[Any], Any], argument: object) -> Any:
    return await (function(argument) if is_async(function) else asyncio.to_thread(function, argument))
