"""The figures of one run: medians and spreads per case and peer, as a terminal table and as Markdown."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from statistics import median

from rich.table import Table

from bench.cases import Sample

HEADINGS = (
    "case",
    "server",
    "messages/s (min–max)",
    "× echo",
    "× Apache",
    "CPU µs/msg",
    "p50 / p99 ms",
    "refused",
)
START_HEADINGS = ("server", "start to first answer", "anonymous memory, idle", "after the load")


@dataclass(frozen=True, slots=True)
class Start:
    """How one server started, and what it held in memory before and after all rounds."""

    started_in_s: float
    idle_bytes: int
    loaded_bytes: int


@dataclass(slots=True)
class Results:
    samples: dict[tuple[str, str], list[Sample]] = field(default_factory=dict)
    starts: dict[str, Start] = field(default_factory=dict)
    not_measured: dict[str, str] = field(default_factory=dict)
    """What could not be had, and why: never guessed."""

    def add(self, case: str, peer: str, sample: Sample) -> None:
        self.samples.setdefault((case, peer), []).append(sample)

    def rate(self, case: str, peer: str) -> float | None:
        samples = self.samples.get((case, peer))
        return median(sample.rate for sample in samples) if samples else None

    def rows(self) -> Iterator[tuple[str, ...]]:
        for (case, peer), samples in self.samples.items():
            rates = [sample.rate for sample in samples]
            middle = median(rates)
            yield (
                case,
                peer,
                f"{_count(middle)} ({_count(min(rates))}–{_count(max(rates))})",
                _ratio(middle, self.rate(case, "echo")),
                _ratio(middle, self.rate(case, "apache")),
                f"{median(sample.cpu_us for sample in samples):.2f}",
                _latencies(samples),
                _refusals(samples),
            )

    def start_rows(self) -> Iterator[tuple[str, ...]]:
        for name, start in self.starts.items():
            yield (
                name,
                f"{start.started_in_s:.2f} s",
                f"{start.idle_bytes / 1e6:.0f} MB",
                f"{start.loaded_bytes / 1e6:.0f} MB",
            )


def _count(rate: float) -> str:
    return f"{rate / 1e6:.2f} M" if rate >= 1e6 else f"{rate / 1e3:.1f} k"


def _ratio(rate: float, other: float | None) -> str:
    return f"{rate / other:.3f}" if other else "–"


def _latencies(samples: list[Sample]) -> str:
    p50, p99 = (median(getattr(sample, name) for sample in samples) for name in ("p50_us", "p99_us"))
    return f"{p50 / 1e3:.2f} / {p99 / 1e3:.2f}" if p99 else "–"


def _refusals(samples: list[Sample]) -> str:
    refused = sum(sample.refused for sample in samples)
    faults = sum(sample.faults for sample in samples)
    return f"{refused}, {faults} FAULTS" if faults else str(refused)


def tables(results: Results) -> Iterator[Table]:
    for headings, rows in ((HEADINGS, results.rows()), (START_HEADINGS, results.start_rows())):
        table = Table(*headings)
        for row in rows:
            table.add_row(*row)
        yield table


def markdown(results: Results, heading: str) -> str:
    parts = [heading]
    for headings, rows in ((HEADINGS, results.rows()), (START_HEADINGS, results.start_rows())):
        lines = [headings, tuple("---" for _ in headings), *rows]
        parts.append("\n".join(f"| {' | '.join(line)} |" for line in lines))
    parts += [f"Not measured: {name}: {reason}" for name, reason in results.not_measured.items()]
    return "\n\n".join(parts)
