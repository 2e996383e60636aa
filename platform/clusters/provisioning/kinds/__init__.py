"""All kinds of steps, one file per concern; importing this package registers them."""

from clusters.provisioning.kinds import access, brokers, processes, rows, settings
from clusters.provisioning.registry import kinds

for module in (rows, processes, brokers, settings, access):
    module.register(kinds)

__all__ = ["kinds"]
