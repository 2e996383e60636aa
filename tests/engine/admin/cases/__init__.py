"""What every command must do, as tables: arguments that work with what they print and change, and arguments
that fail with their exit code and error. `{names}` are filled in from the stage of conftest.py; `{new}` is a
name of its own for each run."""

from __future__ import annotations

from tests.engine.admin.cases import (
    access,
    broker_groups,
    brokers,
    groups,
    messages,
    name_servers,
    topics,
)
from tests.engine.admin.cases.case import Bad, Good

TABLES = (access, broker_groups, brokers, groups, messages, name_servers, topics)
GOOD: dict[str, list[Good]] = {name: cases for table in TABLES for name, cases in table.GOOD.items()}
BAD: dict[str, list[Bad]] = {name: cases for table in TABLES for name, cases in table.BAD.items()}
