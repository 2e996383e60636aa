"""All commands: importing this module registers them."""

import engine.admin.broker_groups
import engine.admin.brokers
import engine.admin.clusters
import engine.admin.consumption
import engine.admin.damage
import engine.admin.groups
import engine.admin.messages
import engine.admin.name_servers
import engine.admin.offsets
import engine.admin.policies
import engine.admin.topics
import engine.admin.traces
import engine.admin.users  # noqa: F401
