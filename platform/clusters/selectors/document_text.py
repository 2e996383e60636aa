"""The text of a declarative document, read without trust: YAML or JSON, one document, bounded. Pure.

No aliases (a few lines of them make gigabytes), no tags, no key twice; limits of size, depth and number of
values hold before anything is built.
"""

from __future__ import annotations

from typing import Any

import yaml

from console.core.problems import Problem

MAX_BYTES = 1_048_576
MAX_DEPTH = 16
MAX_VALUES = 100_000
MEDIA_TYPES = ("application/yaml", "application/x-yaml", "text/yaml")


def parse_document(text: bytes | str) -> dict[str, Any]:
    data = text.encode() if isinstance(text, str) else text
    if len(data) > MAX_BYTES:
        raise Problem("too_large", f"a document has {MAX_BYTES} bytes at most", 413)
    try:
        decoded = data.decode("utf-8")
        _refuse_bombs(decoded)
        found = yaml.load(decoded, Loader=_Loader)
    except UnicodeDecodeError:
        raise _bad("the document is not UTF-8") from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f", line {mark.line + 1}" if mark is not None else ""
        raise _bad(f"{error.problem or error.context}{where}") from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise _bad(f"the document cannot be read: {str(error)[:200]}") from None
    if not isinstance(found, dict):
        raise _bad("a document is a mapping with a name and clusters")
    return found


def write_document(content: dict[str, Any]) -> str:
    """As `parse_document` reads it again: lists and mappings that stand twice are written twice."""
    return str(yaml.dump(content, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100))


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True


def _refuse_bombs(text: str) -> None:
    """By the parser's events, before a single value is built."""
    depth = documents = 0
    for values, event in enumerate(yaml.parse(text, Loader=yaml.SafeLoader)):
        if isinstance(event, yaml.AliasEvent):
            raise _bad(f"aliases are not allowed, line {event.start_mark.line + 1}")
        if isinstance(event, yaml.DocumentStartEvent):
            documents += 1
        if isinstance(event, (yaml.MappingStartEvent, yaml.SequenceStartEvent)):
            depth += 1
        if isinstance(event, (yaml.MappingEndEvent, yaml.SequenceEndEvent)):
            depth -= 1
        if depth > MAX_DEPTH or values > MAX_VALUES or documents > 1:
            raise _bad(f"a document has one part, depth {MAX_DEPTH} and {MAX_VALUES} values at most")


class _Loader(yaml.SafeLoader):
    """Refuses a key that stands twice: which one counts is nobody's guess."""

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        seen = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, str):
                raise _bad(f"keys are texts, line {key_node.start_mark.line + 1}")
            if key in seen:
                raise _bad(f"{key!r} stands twice, line {key_node.start_mark.line + 1}")
            seen.add(key)
        return super().construct_mapping(node, deep)


def _bad(text: str) -> Problem:
    return Problem("bad_document", text, 400, field="document")
