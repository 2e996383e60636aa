"""Name servers: the clusters that they know, configuration, key-values, write permission of brokers.

They do not talk to each other, so every change goes to all of them; a question goes to any one.
"""

from __future__ import annotations

from collections.abc import Mapping

from engine.client.admin.part import AdminPart
from engine.client.instance.answers import unless_absent
from engine.errors import NotFound
from engine.protocol.bodies.basics import DataVersion, KVTable
from engine.protocol.bodies.config_text import decode_config, encode_config
from engine.protocol.bodies.routes import MASTER_ID, ClusterInfo
from engine.protocol.codes import RequestCode, ResponseCode
from engine.protocol.headers.namesrv import (
    AddWritePermOfBrokerRequest,
    AddWritePermOfBrokerResponse,
    DeleteKVConfigRequest,
    GetKVConfigRequest,
    GetKVConfigResponse,
    GetKVListByNamespaceRequest,
    PutKVConfigRequest,
    QueryDataVersionRequest,
    WipeWritePermOfBrokerRequest,
    WipeWritePermOfBrokerResponse,
)
from engine.protocol.wire import Header


class ClusterAdmin(AdminPart):
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


ORDER_TOPICS = "ORDER_TOPIC_CONFIG"
"""The namespace whose keys are ordered topics and whose values look like `broker-a:8;broker-b:8`."""


class NameServerAdmin(AdminPart):
    @property
    def addresses(self) -> tuple[str, ...]:
        return self._instance.name_servers.addresses

    async def config(self, address: str) -> dict[str, str]:
        """319 of one name server."""
        answer = await self._call(address, RequestCode.GET_NAMESRV_CONFIG)
        return decode_config(bytes(answer.body))

    async def update_config(self, changes: Mapping[str, str]) -> None:
        """318."""
        for address in self.addresses:
            await self._call(address, RequestCode.UPDATE_NAMESRV_CONFIG, body=encode_config(changes))

    async def data_version(
        self, cluster: str, broker_name: str, broker: str, broker_id: int = 0
    ) -> DataVersion | None:
        """322: the version of a broker's topics, as it registered them last; None when it has not. We send a
        version that no broker has: an equal one would count as the broker's own sign of life."""
        header = QueryDataVersionRequest(broker_name, broker, cluster, broker_id)
        answer = await self._instance.call_name_server(
            RequestCode.QUERY_DATA_VERSION, header, DataVersion(counter=-1).encode()
        )
        return DataVersion.decode(answer.body) if answer.body else None

    # -- key-values -----------------------------------------------------------------------------------------

    async def put(self, namespace: str, key: str, value: str) -> None:
        """100."""
        await self._tell_all(RequestCode.PUT_KV_CONFIG, PutKVConfigRequest(namespace, key, value))

    async def get(self, namespace: str, key: str) -> str | None:
        """101; None when there is no such key."""
        header = GetKVConfigRequest(namespace, key)
        answer = await unless_absent(self._instance.call_name_server(RequestCode.GET_KV_CONFIG, header))
        return None if answer is None else GetKVConfigResponse.decode(answer.fields).value

    async def delete(self, namespace: str, key: str) -> None:
        """102."""
        await self._tell_all(RequestCode.DELETE_KV_CONFIG, DeleteKVConfigRequest(namespace, key))

    async def pairs(self, namespace: str) -> dict[str, str]:
        """219; empty when there is no such namespace."""
        header = GetKVListByNamespaceRequest(namespace)
        ask = self._instance.call_name_server(RequestCode.GET_KVLIST_BY_NAMESPACE, header)
        answer = await unless_absent(ask)
        return {} if answer is None else dict(KVTable.decode(answer.body).table)

    # -- write permission -----------------------------------------------------------------------------------

    async def wipe_write_perm(self, broker_name: str) -> dict[str, int]:
        """205: producers leave this broker alone from now on; per name server, how many topics changed."""
        header = WipeWritePermOfBrokerRequest(broker_name)
        answers = await self._tell_all(RequestCode.WIPE_WRITE_PERM_OF_BROKER, header)
        return {
            address: WipeWritePermOfBrokerResponse.decode(fields).wipe_topic_count
            for address, fields in answers.items()
        }

    async def add_write_perm(self, broker_name: str) -> dict[str, int]:
        """327: the opposite."""
        header = AddWritePermOfBrokerRequest(broker_name)
        answers = await self._tell_all(RequestCode.ADD_WRITE_PERM_OF_BROKER, header)
        return {
            address: AddWritePermOfBrokerResponse.decode(fields).add_topic_count
            for address, fields in answers.items()
        }

    async def _tell_all(self, code: RequestCode, header: Header) -> dict[str, dict[str, str]]:
        return {address: (await self._call(address, code, header)).fields for address in self.addresses}
