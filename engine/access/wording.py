"""How a refusal is told: ACL 2.0 answers code 16, ACL 1.0 code 1 with "AclException: …", each in RocketMQ's
words, which operators search for. Names come from the wire: shortened, and without control characters. Pure.
"""

from __future__ import annotations

from typing import Protocol

from engine.access.policies import DENIED
from engine.access.resources import Action, Kind, Need
from engine.errors import NotPermitted, Refused

_SYSTEM_ERROR = 1
_CLIENTS = frozenset({Action.PUB, Action.SUB, Action.GET})


class Wording(Protocol):
    def no_name(self) -> Refused: ...

    def unknown(self, name: str) -> Refused: ...

    def disabled(self, name: str) -> Refused: ...

    def bad_signature(self, name: str) -> Refused: ...

    def no_right(self, name: str, need: Need, ip: str, reason: str) -> Refused: ...

    def not_super(self, name: str, code: int) -> Refused: ...


class Acl2Wording:
    def no_name(self) -> Refused:
        return NotPermitted("username cannot be null.")

    def unknown(self, name: str) -> Refused:
        return NotPermitted(f"User:{shown(name)} is not found.")

    def disabled(self, name: str) -> Refused:
        return NotPermitted(f"User:{shown(name)} is disabled.")

    def bad_signature(self, name: str) -> Refused:
        return NotPermitted("check signature failed.")

    def no_right(self, name: str, need: Need, ip: str, reason: str) -> Refused:
        what = shown(str(need))
        return NotPermitted(f"User:{shown(name)} has no permission to access {what} from {ip}, {reason}")

    def not_super(self, name: str, code: int) -> Refused:
        return NotPermitted(f"User:{shown(name)} is no super user, which request code {code} needs")


class AdministrationWording(Acl2Wording):
    """Who is told this has no credentials and may never have needed any: the remark says what to do."""

    def no_name(self) -> Refused:
        return NotPermitted(
            "username cannot be null: this cluster takes changes only from signed requests "
            "(signalboxAccessControl=administration)"
        )


class Acl1Wording:
    def no_name(self) -> Refused:
        return _acl_exception("No accessKey is configured")

    def unknown(self, name: str) -> Refused:
        return _acl_exception(f"No acl config for {shown(name)}")

    def disabled(self, name: str) -> Refused:
        return self.unknown(name)

    def bad_signature(self, name: str) -> Refused:
        return _acl_exception(f"Check signature failed for accessKey={shown(name)}")

    def no_right(self, name: str, need: Need, ip: str, reason: str) -> Refused:
        if need.kind is Kind.CLUSTER or _CLIENTS.isdisjoint(need.actions):
            return _acl_exception(f"Need admin permission for {need}, but accessKey={shown(name)} is not")
        said = "No permission" if reason == DENIED else "No default permission"
        return _acl_exception(f"{said} for {need.kind.value.lower()}:{shown(need.name)}")

    def not_super(self, name: str, code: int) -> Refused:
        who = shown(name)
        return _acl_exception(f"Need admin permission for request code={code}, but accessKey={who} is not")


def _acl_exception(text: str) -> Refused:
    return Refused(f"AclException: {text}", code=_SYSTEM_ERROR)


def shown(name: str) -> str:
    return repr(name[:120])[1:-1]
