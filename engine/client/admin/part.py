"""What the groups of questions of an `Admin` share: the instance that sends them."""

from __future__ import annotations

from engine.client.instance.instance import ClientInstance


class AdminPart:
    """One group of questions and changes."""

    def __init__(self, instance: ClientInstance) -> None:
        self._instance = instance
        self._call = instance.call
        self._ask = instance.ask
