"""The OpenAPI schema's finishing touches: how callers prove who they are, problems, idempotency keys.

Loaded by console.urls, for drf-spectacular finds its extensions by their being imported.
"""

from __future__ import annotations

from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema

from console.core.idempotency import HEADER
from console.core.problem_answers import MEDIA_TYPE

PROBLEM = {
    "type": "object",
    "description": "RFC 9457. `code` is for programs, `detail` for people.",
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "code": {"type": "string"},
        "detail": {"type": "string"},
        "errors": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "field": {"type": ["string", "null"]},
                    "code": {"type": "string"},
                    "detail": {"type": "string"},
                },
                "required": ["field", "code", "detail"],
            },
        },
    },
    "required": ["type", "title", "status", "code", "detail"],
}
_KEY = {
    "in": "header",
    "name": HEADER,
    "schema": {"type": "string", "maxLength": 128},
    "description": "The same key and request again is answered again, not done again.",
}


class MethodSchema(AutoSchema):
    def get_description(self) -> str:
        """The method's own words; a class's docstring is for those who read the source."""
        method = getattr(self.view, self.method.lower(), None)
        return (getattr(method, "__doc__", None) or "").strip()


class TokenScheme(OpenApiAuthenticationExtension):
    target_class = "console.core.tokens.TokenAuthentication"
    name = "token"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {"type": "http", "scheme": "bearer", "bearerFormat": "sbx_…"}


class SessionScheme(OpenApiAuthenticationExtension):
    target_class = "console.core.sessions.ConsoleSessionAuthentication"
    name = "session"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {"type": "apiKey", "in": "cookie", "name": "sessionid"}


def add_problems(result: dict[str, Any], generator: Any, request: Any, public: bool) -> dict[str, Any]:
    """Every operation may answer with a problem; every POST takes an idempotency key."""
    result.setdefault("components", {}).setdefault("schemas", {})["Problem"] = PROBLEM
    answer = {
        "description": "What went wrong.",
        "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }
    for methods in result["paths"].values():
        for method, operation in methods.items():
            operation["responses"].setdefault("default", answer)
            if method == "post":
                operation.setdefault("parameters", []).append(_KEY)
    _spell_nulls(result)
    return result


def _spell_nulls(node: Any) -> None:
    """OpenAPI 3.1 has no `nullable`; DRF's pages still say it."""
    if isinstance(node, list):
        for inner in node:
            _spell_nulls(inner)
    elif isinstance(node, dict):
        if node.pop("nullable", False) and isinstance(node.get("type"), str):
            node["type"] = [node["type"], "null"]
        for inner in list(node.values()):
            _spell_nulls(inner)
