"""Name servers: configuration, key-values, ordered topics, write permission of brokers.

They do not talk to each other, so every change goes to all of them; a question goes to any one.
"""

from __future__ import annotations

from collections.abc import Mapping

from engine.client.instance.instance import ClientInstance
from engine.errors import PeerError
from engine.protocol.bodies.basics import DataVersion, KVTable
from engine.protocol.bodies.config_text import decode_config, encode_config
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

ORDER_TOPICS = "ORDER_TOPIC_CONFIG"
"""The namespace whose keys are ordered topics and whose values look like `broker-a:8;broker-b:8`."""


class NameServerAdmin:
    def __init__(self, instance: ClientInstance) -> None:
        self._instance = instance

    @property
    def addresses(self) -> tuple[str, ...]:
        return self._instance.name_servers.addresses

    async def config(self, address: str) -> dict[str, str]:
        """319 of one name server."""
        answer = await self._instance.call(address, RequestCode.GET_NAMESRV_CONFIG)
        return decode_config(bytes(answer.body))

    async def update_config(self, changes: Mapping[str, str]) -> None:
        """318."""
        for address in self.addresses:
            await self._instance.call(address, RequestCode.UPDATE_NAMESRV_CONFIG, body=encode_config(changes))

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
        try:
            header = GetKVConfigRequest(namespace, key)
            answer = await self._instance.call_name_server(RequestCode.GET_KV_CONFIG, header)
        except PeerError as error:
            if error.code == ResponseCode.QUERY_NOT_FOUND:
                return None
            raise
        return GetKVConfigResponse.decode(answer.fields).value

    async def delete(self, namespace: str, key: str) -> None:
        """102."""
        await self._tell_all(RequestCode.DELETE_KV_CONFIG, DeleteKVConfigRequest(namespace, key))

    async def pairs(self, namespace: str) -> dict[str, str]:
        """219; empty when there is no such namespace."""
        try:
            header = GetKVListByNamespaceRequest(namespace)
            answer = await self._instance.call_name_server(RequestCode.GET_KVLIST_BY_NAMESPACE, header)
        except PeerError as error:
            if error.code == ResponseCode.QUERY_NOT_FOUND:
                return {}
            raise
        return dict(KVTable.decode(answer.body).table)

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
        return {
            address: (await self._instance.call(address, code, header)).fields for address in self.addresses
        }
