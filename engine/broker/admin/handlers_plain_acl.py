"""Accounts of ACL 1.0 (50–54): changes go into the operator's files; no answer holds a secret.

RocketMQ answers failures of 50, 51 and 53 with 209, 210 and 211. Small files, rarely written: written here.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

import orjson

from engine.access.plain_files import PlainFiles
from engine.broker.admin.refused_codes import switched_on
from engine.broker.settings.options import BrokerIdentity
from engine.errors import BadInput, BadRequest, Refused
from engine.net.connection import Connection
from engine.net.outcomes import Handler, Outcome, Reply
from engine.protocol.bodies.auth import AclConfig
from engine.protocol.bodies.basics import DataVersion
from engine.protocol.codes import RequestCode, ResponseCode
from engine.protocol.commands import Command
from engine.protocol.headers.auth import (
    CreateAccessConfigRequest,
    DeleteAccessConfigRequest,
    GetBrokerAclConfigResponse,
    UpdateGlobalWhiteAddrsConfigRequest,
)

log = logging.getLogger(__name__)


@dataclass(eq=False, repr=False)
class PlainAclHandlers:
    files: PlainFiles | None
    identity: BrokerIdentity
    now_ms: Callable[[], int]

    def routes(self) -> dict[int, Handler]:
        return {
            RequestCode.UPDATE_AND_CREATE_ACL_CONFIG: self.put,
            RequestCode.DELETE_ACL_CONFIG: self.delete,
            RequestCode.GET_BROKER_CLUSTER_ACL_INFO: self.versions,
            RequestCode.UPDATE_GLOBAL_WHITE_ADDRS_CONFIG: self.put_white_addresses,
            RequestCode.GET_BROKER_CLUSTER_ACL_CONFIG: self.show,
        }

    @property
    def _files(self) -> PlainFiles:
        return switched_on(self.files, "aclEnable=true")

    def put(self, request: Command, client: Connection) -> Outcome:
        files = self._files
        header = CreateAccessConfigRequest.decode(request.fields)
        given = {
            "secretKey": header.secret_key,
            "whiteRemoteAddress": header.white_remote_address,
            "admin": header.admin,
            "defaultTopicPerm": header.default_topic_perm,
            "defaultGroupPerm": header.default_group_perm,
            "topicPerms": _split(header.topic_perms),
            "groupPerms": _split(header.group_perms),
        }
        try:
            files.put_account(header.access_key, given, self.now_ms())
        except (BadInput, BadRequest) as error:
            raise Refused(error.text, code=ResponseCode.UPDATE_AND_CREATE_ACL_CONFIG_FAILED) from None
        log.warning("%s changed the account %r", client.peer_name, header.access_key)
        return Reply()

    def delete(self, request: Command, client: Connection) -> Outcome:
        files, name = self._files, DeleteAccessConfigRequest.decode(request.fields).access_key
        if not files.delete_account(name, self.now_ms()):
            text = f"The accessKey[{name:.200}] corresponding to accessConfig has been deleted failed."
            raise Refused(text, code=ResponseCode.DELETE_ACL_CONFIG_FAILED)
        log.warning("%s deleted the account %r", client.peer_name, name)
        return Reply()

    def put_white_addresses(self, request: Command, client: Connection) -> Outcome:
        files = self._files
        header = UpdateGlobalWhiteAddrsConfigRequest.decode(request.fields)
        patterns = tuple(_split(header.global_white_addrs) or ())
        try:
            files.put_white_addresses(patterns, header.acl_file_full_path, self.now_ms())
        except BadInput as error:
            raise Refused(error.text, code=ResponseCode.UPDATE_GLOBAL_WHITE_ADDRS_CONFIG_FAILED) from None
        log.warning("%s changed the white addresses: %s", client.peer_name, patterns)
        return Reply()

    def versions(self, request: Command, client: Connection) -> Outcome:
        files = self._files
        versions = files.versions()
        main = versions.get(str(files.main), DataVersion())
        header = GetBrokerAclConfigResponse(
            version=main.encode().decode(),
            broker_name=self.identity.name,
            broker_addr=self.identity.address,
            cluster_name=self.identity.cluster,
            all_acl_file_version=orjson.dumps(
                {path: version.to_json() for path, version in versions.items()}
            ).decode(),
        )
        return Reply(fields=header.encode())

    def show(self, request: Command, client: Connection) -> Outcome:
        files = self._files
        return Reply(body=AclConfig(files.white_addresses, files.shown_accounts()).encode())


def _split(text: str | None) -> list[str] | None:
    """Parts between commas; those in braces (`192.168.0.{1,2}`) stay together."""
    if text is None:
        return None
    parts: list[str] = []
    for piece in text.split(","):
        if parts and parts[-1].count("{") > parts[-1].count("}"):
            parts[-1] += "," + piece
        else:
            parts.append(piece)
    return [part.strip() for part in parts if part.strip()]
