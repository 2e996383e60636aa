"""docs/benchmarks.md (and others): each benchmark writes what it measured between two markers of its own."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

PAGE = Path(__file__).resolve().parents[1] / "docs" / "benchmarks.md"


@dataclass(frozen=True, slots=True)
class Section:
    begin: str
    end: str

    def write(self, text: str, page: Path = PAGE) -> None:
        before, begin, rest = page.read_text(encoding="utf-8").partition(self.begin)
        _, end, after = rest.partition(self.end)
        if not begin or not end:
            raise SystemExit(f"{page} has lost its markers {self.begin}")
        page.write_text(f"{before}{self.begin}\n\n{text}\n\n{self.end}{after}", encoding="utf-8")
