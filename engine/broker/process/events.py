"""What the parts of a broker that are built first report to parts that are built later.

Made with nothing connected; later parts add their methods to the lists while the broker is put together.
Listeners are called in the order in which they were added. Loop thread only.
"""

from __future__ import annotations

from collections.abc import Callable

from engine.net.connection import Connection


class BrokerEvents:
    def __init__(self) -> None:
        self.on_routes_changed: list[Callable[[], None]] = []
        self.on_promoting: list[Callable[[], None]] = []
        self.on_new_master: list[Callable[[], None]] = []
        self.on_peer_lost: list[Callable[[str, Connection], None]] = []

    def routes_changed(self) -> None:
        """The role or the quotas are different: other handlers must answer from the next request on."""
        for listener in self.on_routes_changed:
            listener()

    def promoting(self) -> None:
        """This broker is about to become master: what the old master has sent must be in place."""
        for listener in self.on_promoting:
            listener()

    def new_master(self) -> None:
        """This broker is a slave of another master from now on."""
        for listener in self.on_new_master:
            listener()

    def peer_lost(self, address: str, connection: Connection) -> None:
        """A connection that this broker opened, to a name server or a member of its group, is closed."""
        for listener in self.on_peer_lost:
            listener(address, connection)
