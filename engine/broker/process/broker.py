"""A broker: built in stages (core, tasks, routes, net), started, and stopped. No logic of its own.

Order of a start: bind (a port in use is found out before anything else), open the store, load the tables,
listen, register. Order of a stop: accept nothing more, answer what is in flight, flush, save, unregister,
close the store. Everything runs on one loop; threads sync, write small files and prepare segments.
"""

from __future__ import annotations

from engine.broker.process.core import Core, open_core
from engine.broker.process.net import Net
from engine.broker.process.routes import build_routes
from engine.broker.process.tasks import Tasks, build_tasks
from engine.broker.settings.options import BrokerOptions
from engine.errors import EngineError
from engine.net.outcomes import Handler
from engine.protocol.hosts import Host, joined


class Broker:
    """`await start()`, `await stop()`."""

    core: Core
    tasks: Tasks
    routes: dict[int, Handler]
    net: Net

    def __init__(self, options: BrokerOptions) -> None:
        self.options = options

    @property
    def address(self) -> Host:
        """Where it listens, under the advertised host."""
        return self.core.ports.address

    async def start(self) -> str:
        self.core = open_core(self.options)
        try:
            self.tasks = build_tasks(self.core)
            self.routes = build_routes(self.core, self.tasks)
            self.net = Net(self.core, self.tasks, self.routes)
        except (EngineError, OSError):
            self.core.abandon()
            raise
        self.tasks.begin()
        self.net.listen()
        self.tasks.start()
        try:
            await self.net.metrics.start()
        except EngineError:
            await self.stop()
            raise
        await self.tasks.join()
        return f"broker {self.options.broker_name} ready on {joined(*self.address)}"

    async def stop(self) -> None:
        self.net.stop_accepting()
        await self.tasks.leave()
        await self.net.drain()
        await self.tasks.stop()
        await self.net.close()
        await self.tasks.finish()
        self.core.close()
