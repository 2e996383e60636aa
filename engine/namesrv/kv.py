"""The name server's only state: key-value configuration by namespace, kept in kvConfig.json.

ORDER_TOPIC_CONFIG holds which queues an ordered topic has. Pure table; the file is written by the daemon
before the operator gets its answer.
"""

from __future__ import annotations

import orjson

ORDER_TOPIC_CONFIG = "ORDER_TOPIC_CONFIG"


class KVConfig:
    def __init__(self, table: dict[str, dict[str, str]] | None = None) -> None:
        self._table = table or {}

    def put(self, namespace: str, key: str, value: str) -> None:
        self._table.setdefault(namespace, {})[key] = value

    def get(self, namespace: str, key: str) -> str | None:
        return self._table.get(namespace, {}).get(key)

    def delete(self, namespace: str, key: str) -> None:
        values = self._table.get(namespace)
        if values is not None:
            values.pop(key, None)

    def namespace(self, namespace: str) -> dict[str, str] | None:
        values = self._table.get(namespace)
        return dict(values) if values is not None else None

    def encode(self) -> bytes:
        return orjson.dumps({"configTable": self._table}, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS)


def decode_kv(data: bytes) -> KVConfig:
    """Raises ValueError on a torn file."""
    content = orjson.loads(data)
    table = content.get("configTable", {}) if isinstance(content, dict) else None
    if not isinstance(table, dict):
        raise ValueError("configTable is not an object")
    return KVConfig(
        {
            str(namespace): {str(key): str(value) for key, value in values.items()}
            for namespace, values in table.items()
            if isinstance(values, dict)
        }
    )
