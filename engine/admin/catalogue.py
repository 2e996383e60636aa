"""The modules of commands: importing them registers every command, which `registered` then lists."""

import engine.admin.broker_groups
import engine.admin.brokers
import engine.admin.connections
import engine.admin.consumer_progress
import engine.admin.damage
import engine.admin.groups
import engine.admin.message_reads
import engine.admin.messages
import engine.admin.name_servers
import engine.admin.offsets
import engine.admin.policies
import engine.admin.topics
import engine.admin.traces
import engine.admin.users  # noqa: F401
from engine.admin.commands import registered

__all__ = ["registered"]
