"""What is still to be looked at, taken a slice at a time.

Whoever takes a slice deals with it at once; what nobody took stays, so that work which one reader began and
left (its connection closed) is done by the next. Loop thread only.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)


class Due(Generic[K]):
    def __init__(self) -> None:
        self._once: set[K] = set()
        self._listed: list[K] = []

    def __len__(self) -> int:
        return len(self._once) + len(self._listed)

    def add(self, keys: Iterable[K]) -> None:
        self._once.update(keys)

    def add_set(self, keys: set[K]) -> None:
        """Like `add`, for a set that is ours from now on."""
        if self._once:
            self._once |= keys
        else:
            self._once = keys

    def add_list(self, keys: list[K]) -> None:
        """A whole table: cheaper than `add`, and the list is ours from now on."""
        self._listed = self._listed + keys if self._listed else keys

    def discard(self, keys: Iterable[K]) -> None:
        """Somebody else deals with these."""
        if self._once:
            self._once.difference_update(keys)

    def take(self, count: int) -> list[K]:
        listed, once = self._listed, self._once
        if listed:
            taken = listed[-count:]
            del listed[-count:]
            if once:
                once.difference_update(taken)
            return taken
        return [once.pop() for _ in range(min(count, len(once)))]


def in_slices(due: Due[K], count: int, work: Callable[[list[K]], None]) -> Iterator[None]:
    """Do all that is due, also what becomes due meanwhile; stops after every slice: others may run then."""
    while taken := due.take(count):
        work(taken)
        yield
