"""The steps of a transaction at which a broker may die.

half        the half message is stored, its sender not answered
real        the real message is stored, the op message not
op          the op message is stored, the group's offsets are not committed
copy        a half message that is asked about has its copy, the question is not sent
given-up    the message lies in the topic of those given up, the op message is not stored
"""

from __future__ import annotations

from engine.broker.transactions.check_task import TransactionChecks
from engine.broker.transactions.half_messages import TransactionTable
from engine.broker.transactions.handlers import TransactionHandlers
from engine.broker.transactions.transaction_log_io import TransactionLog
from tests.crash.steps.dying import Step, run

STEPS = {
    "half": Step(TransactionLog, "note", "before"),
    "real": Step(TransactionHandlers, "_append", "after"),
    "op": Step(TransactionTable, "op_written", "before"),
    "copy": Step(TransactionChecks, "_copy", "after"),
    "given-up": Step(TransactionChecks, "_give_up", "after"),
}

if __name__ == "__main__":
    run(STEPS)
