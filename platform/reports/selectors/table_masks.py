"""Masks on tables: what rules hide of messages, they hide of reports that repeat it.

A cell is judged by the topic of its row and by what its column repeats: a body, properties, keys, tags. In a
table without topics every rule that holds for the reader anywhere in the cluster holds: too much may be
hidden, never too little.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from clusters.selectors.masking import (
    HIDDEN,
    Mask,
    Masks,
    MayDo,
    combined,
    masked_body,
    masked_properties,
    role_on,
    rules_for,
)
from engine.protocol.properties import Property

if TYPE_CHECKING:
    import pyarrow

TOPIC = "topic"
BODY, PROPERTIES = "body", "properties"
REPEATED = {"keys": Property.KEYS, "key": Property.KEYS, "tags": Property.TAGS, "tag": Property.TAGS}
"""Columns that hold one property each."""


class TableMask:
    def __init__(self, cluster: str, grants: MayDo, columns: Sequence[str]) -> None:
        self._masks = Masks(cluster, grants)
        role = role_on(grants, cluster, "*")
        self._all = combined(rule for rule in rules_for(cluster) if role <= rule.up_to_role)
        self._has_topics = TOPIC in columns
        self._columns = [name for name in columns if _touches(self._all, name)]

    @property
    def hides_something(self) -> bool:
        """Rules hold for some column of it; which rows they hide depends on their topics."""
        return bool(self._columns)

    def needed(self, wanted: Sequence[str]) -> list[str]:
        """What must be read to show these."""
        needs_topic = self._has_topics and TOPIC not in wanted and bool(set(wanted) & set(self._columns))
        return [*wanted, *([TOPIC] if needs_topic else [])]

    def apply(self, batch: pyarrow.RecordBatch) -> pyarrow.RecordBatch:
        import pyarrow

        for name in set(self._columns) & set(batch.schema.names):
            place = batch.schema.get_field_index(name)
            column = batch.column(place)
            topics = batch.column(TOPIC).to_pylist() if self._has_topics else [None] * batch.num_rows
            values = [
                _masked(name, value, self._mask_of(topic))
                for topic, value in zip(topics, column.to_pylist(), strict=True)
            ]
            batch = batch.set_column(place, batch.schema.field(place), pyarrow.array(values, column.type))
        return batch

    def _mask_of(self, topic: str | None) -> Mask:
        return self._all if topic is None else self._masks.of(topic)


def _touches(mask: Mask, column: str) -> bool:
    if column == BODY:
        return mask.touches_body
    if column == PROPERTIES:
        return bool(mask.properties)
    return REPEATED.get(column) in mask.properties


def _masked(column: str, value: Any, mask: Mask) -> Any:
    if value is None or not _touches(mask, column):
        return value
    if column == BODY:
        return masked_body(value if isinstance(value, bytes) else str(value).encode(), mask)
    if column == PROPERTIES:
        return list(masked_properties(dict(value), mask).items())
    return [HIDDEN] if isinstance(value, list) else HIDDEN
