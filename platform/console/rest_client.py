"""A thin client of the REST API: standard library alone, so that it can be copied to where it is needed.

    box = Signalbox("https://console.example", token="sbx_…")
    for topic in box.pages("clusters/orders/topics/", search="eu"):
        …
    plan = box.post("clusters/", {…}, dry_run=True)
    operation = box.wait(box.post("clusters/", {…}))

Names in paths are escaped by `path_of`. A POST carries an idempotency key of its own and is sent again when
the connection breaks, so that it is done once, whatever the network does. Blocking; one thread at a time.
"""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
from collections.abc import Callable, Iterator
from http.cookiejar import CookieJar
from typing import Any

_TRIES = 3
_PAUSE_S = 0.5
_PAGE = 500
_ENDED = ("succeeded", "failed", "cancelled", "rolled_back")


class ProblemError(Exception):
    """What the console refused or could not do: `code` is for programs, the text for people."""

    def __init__(self, status: int, body: dict[str, Any]) -> None:
        super().__init__(body.get("detail") or f"HTTP {status}")
        self.status, self.body = status, body
        self.code: str = body.get("code", "")
        self.errors: list[dict[str, Any]] = body.get("errors", [])


class OperationFailed(Exception):
    def __init__(self, operation: dict[str, Any]) -> None:
        super().__init__(f"{operation['state']}: {operation.get('error') or operation.get('summary', '')}")
        self.operation = operation


def path_of(*parts: str) -> str:
    """`path_of("clusters", "orders", "topics", "%RETRY%g")` is `clusters/orders/topics/%25RETRY%25g/`."""
    return "".join(f"{urllib.parse.quote(part, safe='')}/" for part in parts)


class Signalbox:
    def __init__(self, address: str, *, token: str | None = None, timeout_s: float = 30) -> None:
        self._base = f"{address.rstrip('/')}/api/v1/"
        self._timeout_s = timeout_s
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._cookies = CookieJar()
        handler = urllib.request.HTTPCookieProcessor(self._cookies)
        self._open: Callable[..., Any] = urllib.request.build_opener(handler).open

    def sign_in(self, username: str, password: str) -> dict[str, Any]:
        """Instead of a token: a session, as a browser has one."""
        self.get("session/")
        found: dict[str, Any] = self.post("session/", {"username": username, "password": password})
        return found

    def get(self, path: str, **query: Any) -> Any:
        return self._ask("GET", path, None, query)

    def post(self, path: str, body: Any = None, **query: Any) -> Any:
        return self._ask("POST", path, body if body is not None else {}, query)

    def put(self, path: str, body: Any, **query: Any) -> Any:
        return self._ask("PUT", path, body, query)

    def patch(self, path: str, body: Any, **query: Any) -> Any:
        return self._ask("PATCH", path, body, query)

    def delete(self, path: str, body: Any = None, **query: Any) -> Any:
        return self._ask("DELETE", path, body, query)

    def pages(self, path: str, **query: Any) -> Iterator[dict[str, Any]]:
        """Every row of a list, a page at a time."""
        offset = 0
        while True:
            page = self.get(path, limit=_PAGE, offset=offset, **query)
            yield from page["results"]
            offset += len(page["results"])
            if not page["results"] or offset >= page["count"]:
                return

    def wait(
        self,
        operation: dict[str, Any],
        *,
        timeout_s: float = 600,
        sleep: Callable[[float], None] = time.sleep,
    ) -> dict[str, Any]:
        """Until an operation (the answer of a 202) has ended; raises if not with success."""
        path, until = path_of("operations", operation["id"]), time.monotonic() + timeout_s
        while operation["state"] not in _ENDED:
            if time.monotonic() > until:
                raise TimeoutError(f"operation {operation['id']} is still {operation['state']}")
            sleep(_PAUSE_S)
            operation = self.get(path)
        if operation["state"] != "succeeded":
            raise OperationFailed(operation)
        return operation

    def _ask(self, method: str, path: str, body: Any, query: dict[str, Any]) -> Any:
        request = self._request(method, path, body, query)
        for attempt in range(_TRIES):
            try:
                with self._open(request, timeout=self._timeout_s) as answer:
                    return _decoded(answer.read())
            except urllib.error.HTTPError as error:
                problem = _problem(error)
                if problem.code != "under_way" or attempt == _TRIES - 1:
                    raise problem from None
                time.sleep(_PAUSE_S)
            except (urllib.error.URLError, ConnectionError, TimeoutError):
                # Others than POST (by its key) and GET may have been done: the caller has to look.
                if method not in ("GET", "POST") or attempt == _TRIES - 1:
                    raise
                time.sleep(_PAUSE_S)
        raise AssertionError("the last try returns or raises")

    def _request(self, method: str, path: str, body: Any, query: dict[str, Any]) -> urllib.request.Request:
        url = self._base + path.lstrip("/")
        if query:
            url += "?" + urllib.parse.urlencode({name: _text(value) for name, value in query.items()})
        headers = {"Accept": "application/json", **self._headers}
        if body is not None:
            headers["Content-Type"] = "application/json"
        if method == "POST":
            headers["Idempotency-Key"] = str(uuid.uuid4())
        if method != "GET" and not self._headers:
            # From here: over TLS the console looks where an unsafe request comes from.
            headers |= {"X-CSRFToken": self._csrf_token(), "Referer": self._base}
        data = None if body is None else json.dumps(body).encode()
        return urllib.request.Request(url, data, headers, method=method)

    def _csrf_token(self) -> str:
        return next((cookie.value or "" for cookie in self._cookies if cookie.name == "csrftoken"), "")


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _decoded(content: bytes) -> Any:
    return json.loads(content) if content else None


def _problem(error: urllib.error.HTTPError) -> ProblemError:
    content = error.read()
    try:
        body = json.loads(content)
    except ValueError:
        body = {"detail": content.decode(errors="replace")[:500]}
    return ProblemError(error.code, body if isinstance(body, dict) else {"detail": str(body)})
