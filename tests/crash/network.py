"""A network namespace per member on one bridge, and cuts between them: one way or both, silent as a real one.

A cut sends what goes to an address into a device that swallows it, so neither side hears anything: no reset,
no "unreachable". Root only.
"""

from __future__ import annotations

import itertools
import os
import subprocess

_numbers = itertools.count(os.getpid())


def _run(*words: str) -> None:
    subprocess.run(words, check=True, capture_output=True)


class Network:
    """Node n is at 10.97.x.(n + 2); the test itself is at .1 and is never cut off."""

    def __init__(self, size: int) -> None:
        number = next(_numbers)
        self._subnet = f"10.97.{number % 250}"
        self._bridge = f"sbx{number % 100_000}"
        self._names = [f"{self._bridge}n{node}" for node in range(size)]
        self._cuts: set[tuple[int, int]] = set()
        self.host = f"{self._subnet}.1"
        _run("ip", "link", "add", self._bridge, "type", "bridge")
        _run("ip", "addr", "add", f"{self.host}/24", "dev", self._bridge)
        _run("ip", "link", "set", self._bridge, "up")
        for node in range(size):
            self._add(node)

    def address(self, node: int) -> str:
        return f"{self._subnet}.{node + 2}"

    def prefix(self, node: int) -> list[str]:
        return ["ip", "netns", "exec", self._names[node]]

    def _add(self, node: int) -> None:
        name, outside = self._names[node], f"{self._bridge}v{node}"
        _run("ip", "netns", "add", name)
        _run("ip", "link", "add", outside, "type", "veth", "peer", "name", "eth0", "netns", name)
        _run("ip", "link", "set", outside, "master", self._bridge, "up")
        # Both ends of one cable in one room: whatever is sent into it is heard by nobody.
        inside = [
            ("link", "add", "sink", "type", "veth", "peer", "name", "drain"),
            ("link", "set", "sink", "up", "arp", "off"),
            ("link", "set", "drain", "up", "arp", "off"),
            ("link", "set", "lo", "up"),
            ("addr", "add", f"{self.address(node)}/24", "dev", "eth0"),
            ("link", "set", "eth0", "up"),
        ]
        for words in inside:
            _run(*self.prefix(node), "ip", *words)

    def cut_one_way(self, source: int, target: int) -> None:
        """Nothing of `source` reaches `target` any more."""
        self._cuts.add((source, target))
        self._route(source, target, "replace")

    def cut(self, one: int, other: int) -> None:
        self.cut_one_way(one, other)
        self.cut_one_way(other, one)

    def heal(self) -> None:
        while self._cuts:
            self._route(*self._cuts.pop(), "del")

    def _route(self, source: int, target: int, verb: str) -> None:
        words = ["ip", "route", verb, f"{self.address(target)}/32", "dev", "sink"]
        _run(*self.prefix(source), *words, "src", self.address(source))

    def close(self) -> None:
        for name in self._names:
            subprocess.run(["ip", "netns", "del", name], capture_output=True)
        subprocess.run(["ip", "link", "del", self._bridge], capture_output=True)
