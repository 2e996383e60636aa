"""The two C programs: compiled on demand into an ignored folder, the generator's line of JSON as a value."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SOURCES = Path(__file__).parent / "native"
BUILD = Path(__file__).resolve().parents[1] / "build" / "bench"
_FLAGS = ("-O2", "-std=gnu11", "-Wall", "-Wextra", "-Werror")
_SLACK_S = 30


@dataclass(frozen=True, slots=True)
class Load:
    """What is asked of the generator; every message has the same body."""

    mode: str
    connections: int = 1
    in_flight: int = 256
    body_bytes: int = 128
    topic: str = "bench"
    rate: float = 0.0
    """Messages a second at most; 0: as many as the server answers."""

    def options(self) -> list[str]:
        return [
            *("--mode", self.mode),
            *("--connections", str(self.connections)),
            *("--in-flight", str(self.in_flight)),
            *("--body", str(self.body_bytes)),
            *("--topic", self.topic),
            *("--rate", str(self.rate)),
        ]


@dataclass(frozen=True, slots=True)
class Outcome:
    """Rate and latencies belong to the measured window, everything else to the whole run."""

    rate: float
    p50_us: float
    p99_us: float
    answered: int
    refused: int
    bad: int
    unanswered: int
    closed: int
    first_refusal: str

    @property
    def faults(self) -> int:
        """Answers that a sound server under this load never gives, or does not give at all."""
        return self.bad + self.unanswered + self.closed


def program(name: str) -> Path:
    """The compiled program, made first if it is missing or older than its sources."""
    binary = BUILD / name
    sources = [SOURCES / f"{name}.c", SOURCES / "frames.h"]
    if not binary.exists() or any(source.stat().st_mtime > binary.stat().st_mtime for source in sources):
        BUILD.mkdir(parents=True, exist_ok=True)
        subprocess.run(["gcc", *_FLAGS, "-o", str(binary), str(sources[0])], check=True)
    return binary


def generate(port: int, load: Load, *, seconds: float, warmup_s: float) -> Outcome:
    """Load for a time."""
    times = ["--seconds", str(seconds), "--warmup", str(warmup_s)]
    return _run(port, load, times, seconds + warmup_s + _SLACK_S)


def fill(port: int, load: Load, count: int) -> Outcome:
    """Load until `count` messages are stored; what was refused is sent again, for as long as others are
    taken."""
    outcome = _run(port, load, ["--count", str(count)], 10 * _SLACK_S)
    if outcome.answered < count or outcome.faults:
        raise RuntimeError(f"{outcome.answered} of {count} messages stored: {outcome}")
    return outcome


def _run(port: int, load: Load, options: list[str], timeout_s: float) -> Outcome:
    command = [str(program("loadgen")), "--port", str(port), *load.options(), *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout_s, check=False)
    if done.returncode not in (0, 1):
        raise RuntimeError(f"loadgen failed: {done.stderr[-500:]}")
    line: dict[str, Any] = json.loads(done.stdout)
    return Outcome(**{name: line[name] for name in Outcome.__slots__})
