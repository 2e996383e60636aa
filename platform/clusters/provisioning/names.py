"""Names that become folders, queues and lines of configuration: checked here, before anything is stored."""

from __future__ import annotations

import re

from console.core.problems import Problem

_SIMPLE = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
_GROUP = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9])?")
_RELEASE = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?")


def check_cluster_name(name: str, field: str = "name") -> str:
    return _checked(_SIMPLE, name, field, "small letters, digits and - in the middle, 63 at most")


def check_host_name(name: str, field: str = "name") -> str:
    return _checked(_SIMPLE, name, field, "small letters, digits and - in the middle, 63 at most")


def check_group_name(name: str, field: str = "name") -> str:
    if name == "namesrv":
        raise Problem("invalid", "namesrv is what name servers are called", 400, field=field)
    return _checked(_GROUP, name, field, "letters, digits, - and _ in the middle, 63 at most")


def check_release(name: str, field: str = "release") -> str:
    if ".." in name:
        raise Problem("invalid", f"{name!r} is no name of a release", 400, field=field)
    return _checked(_RELEASE, name, field, "letters, digits, '.', - and _ in the middle, 63 at most")


def _checked(pattern: re.Pattern[str], name: str, field: str, allowed: str) -> str:
    if pattern.fullmatch(name) is None:
        raise Problem("invalid", f"{name[:80]!r} is not allowed: {allowed}", 400, field=field)
    return name
