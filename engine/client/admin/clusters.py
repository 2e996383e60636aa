"""Which clusters, brokers and addresses there are, as the name servers know."""

from __future__ import annotations

from engine.client.instance.instance import ClientInstance
from engine.errors import NotFound
from engine.protocol.bodies.routes import MASTER_ID, ClusterInfo
from engine.protocol.codes import RequestCode, ResponseCode


class ClusterAdmin:
    def __init__(self, instance: ClientInstance) -> None:
        self._instance = instance

    async def info(self) -> ClusterInfo:
        """106: clusters with their broker names, broker names with their addresses."""
        answer = await self._instance.call_name_server(RequestCode.GET_BROKER_CLUSTER_INFO)
        return ClusterInfo.decode(answer.body)

    async def masters(self, cluster: str | None = None) -> list[str]:
        """The masters' addresses of one cluster or of all."""
        info = await self.info()
        names = self._broker_names(info, cluster)
        found = [info.broker_addr_table[name].broker_addrs.get(MASTER_ID) for name in sorted(names)]
        return [address for address in found if address is not None]

    async def brokers(self, cluster: str | None = None) -> list[str]:
        """Every broker's address, slaves included."""
        info = await self.info()
        names = sorted(self._broker_names(info, cluster))
        return [
            address
            for name in names
            for _, address in sorted(info.broker_addr_table[name].broker_addrs.items())
        ]

    async def address_of(self, broker_name: str) -> str:
        """The master of a broker name, else its lowest member."""
        info = await self.info()
        data = info.broker_addr_table.get(broker_name)
        if data is None or not data.broker_addrs:
            raise NotFound(f"no broker is called {broker_name}", code=ResponseCode.BROKER_NOT_EXIST)
        return data.broker_addrs[min(data.broker_addrs)]

    def _broker_names(self, info: ClusterInfo, cluster: str | None) -> set[str]:
        if cluster is None:
            return set(info.broker_addr_table)
        if cluster not in info.cluster_addr_table:
            raise NotFound(f"no cluster is called {cluster}", code=ResponseCode.BROKER_NOT_EXIST)
        return set(info.cluster_addr_table[cluster]) & info.broker_addr_table.keys()
