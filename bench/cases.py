"""What is measured: the loads, and one sample of one load on one peer."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bench.native import Load, generate
from bench.peers import Peer
from bench.usage import cpu_seconds
from tests.interop.jars import class_path

BODY_BYTES = 128
PULL_TOPIC, CONSUME_TOPIC = "bench_pull", "bench_consume"
PULL_BACKLOG, CONSUME_BACKLOG = 200_000, 300_000
_JAVA_BENCH = Path(__file__).parent / "java" / "JavaBench.java"
_JAVA_WARMUP_S = 3.0
_JAVA_FLAGS = ("-Xmx512m", "-Djava.net.preferIPv4Stack=true", "-Drocketmq.client.logLevel=ERROR")


@dataclass(frozen=True, slots=True)
class Sample:
    """One round. `refused` are honest noes (codes other than 0), `faults` what a sound server never does."""

    rate: float
    cpu_us: float
    p50_us: float = 0.0
    p99_us: float = 0.0
    refused: int = 0
    faults: int = 0


Measure = Callable[[Peer, float], Sample]


@dataclass(frozen=True, slots=True)
class Case:
    title: str
    measure: Measure
    has_ceiling: bool = True


def native(load: Load) -> Measure:
    """Our own generator; `seconds` is the measured window, behind a warm-up of a quarter of it."""

    def measure(peer: Peer, seconds: float) -> Sample:
        before = cpu_seconds(peer.pid)
        outcome = generate(peer.port, load, seconds=seconds, warmup_s=seconds / 4)
        used_s = cpu_seconds(peer.pid) - before
        return Sample(
            outcome.rate,
            used_s * 1e6 / max(outcome.answered, 1),
            outcome.p50_us,
            outcome.p99_us,
            outcome.refused,
            outcome.faults,
        )

    return measure


def java(mode: str, topic: str, messages: int = 0) -> Measure:
    """The official client in a JVM of its own; its start is not in the window, but its connection set-up is
    in the broker's processor time."""

    def measure(peer: Peer, seconds: float) -> Sample:
        options = [peer.name_server, topic, mode, BODY_BYTES, _JAVA_WARMUP_S, seconds, messages]
        command = ["java", *_JAVA_FLAGS, "-cp", class_path("client-5"), str(_JAVA_BENCH), *map(str, options)]
        before = cpu_seconds(peer.pid)
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        used_s = cpu_seconds(peer.pid) - before
        lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
        if done.returncode != 0 or not lines:
            raise RuntimeError(f"JavaBench failed: {done.stdout[-500:]}{done.stderr[-1000:]}")
        result = json.loads(lines[-1])
        return Sample(result["rate"], used_s * 1e6 / max(result["answered"], 1), refused=result["failed"])

    return measure


NATIVE_CASES = (
    Case("single sends, 1 connection × 256 in flight", native(Load("send"))),
    Case("single sends, 64 connections × 1 in flight", native(Load("send", connections=64, in_flight=1))),
    Case("batches of 100, 1 connection × 16 in flight", native(Load("batch", in_flight=16))),
    Case("pulls of 32, 1 connection × 16 in flight", native(Load("pull", in_flight=16, topic=PULL_TOPIC))),
)
JAVA_CASES = (
    Case("Java client, sync sends, 16 threads", java("sync", "bench_java"), has_ceiling=False),
    Case("Java client, async sends, 256 in flight", java("async", "bench_java"), has_ceiling=False),
    Case("Java client, push consumer", java("consume", CONSUME_TOPIC, CONSUME_BACKLOG), has_ceiling=False),
)
