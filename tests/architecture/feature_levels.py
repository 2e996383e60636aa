"""The levels inside the broker, as a contract of import-linter (`[tool.importlinter]` in pyproject.toml).

The name of a module tells its level:

    process      engine.broker.process and the entry points: wiring, start, stop
    handlers     handlers*.py of a feature
    tasks        *_task.py: what runs by itself
    io           *_io.py: files and sockets of a feature
    tables       everything else: tables, rules and values; no event loop, no clock, no files, no sockets

A module knows its own level and those below. A feature may use the tables and io of another, never its
handlers or tasks; `pairs` names features that are two halves of one.
"""

from __future__ import annotations

from typing import Any

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, fields, output

LEVELS = ("tables", "io", "tasks", "handlers", "process")


def level(module: str, root: str) -> str:
    inside = module.removeprefix(f"{root}.").split(".")
    if len(inside) == 1 or inside[0] == "process":
        return "process"
    name = inside[-1]
    if name.startswith("handlers"):
        return "handlers"
    if name.endswith("_task"):
        return "tasks"
    return "io" if name.endswith("_io") else "tables"


def feature(module: str, root: str) -> str:
    return module.removeprefix(f"{root}.").split(".")[0]


class FeatureLevels(Contract):
    root = fields.StringField()
    impure = fields.SetField(subfield=fields.StringField())
    """What tables may not import: names of modules; everything below them counts."""
    pure = fields.SetField(subfield=fields.StringField(), required=False)
    """Modules below `impure` ones that are values only."""
    pairs = fields.SetField(subfield=fields.StringField(), required=False)
    """Written as "one|other"."""

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        del verbose
        broken: list[str] = []
        inside = [module for module in graph.modules if module.startswith(f"{self.root}.")]
        for importer in sorted(inside):
            for imported in sorted(graph.find_modules_directly_imported_by(importer)):
                fault = self._fault(importer, imported)
                if fault:
                    broken.append(f"{importer} -> {imported}: {fault}")
        return ContractCheck(kept=not broken, metadata={"broken": broken})

    def _fault(self, importer: str, imported: str) -> str | None:
        root: Any = self.root
        own = level(importer, root)
        if not imported.startswith(f"{root}."):
            is_impure = own == "tables" and self._is_below(imported, self.impure)
            return "tables stay pure" if is_impure and not self._is_below(imported, self.pure) else None
        other = level(imported, root)
        if LEVELS.index(other) > LEVELS.index(own):
            return f"{own} may not know {other}"
        if own == "process" or other not in ("handlers", "tasks"):
            return None
        pair = {feature(importer, root), feature(imported, root)}
        if len(pair) == 1 or any(pair == set(each.split("|")) for each in self.pairs or ()):
            return None
        return f"{other} of another feature"

    @staticmethod
    def _is_below(module: str, names: Any) -> bool:
        return any(module == name or module.startswith(f"{name}.") for name in names or ())

    def render_broken_contract(self, check: ContractCheck) -> None:
        for line in check.metadata["broken"]:
            output.print_error(line)
