"""Access control: requests must come from this machine and this page and have the token."""

from __future__ import annotations

import hmac
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders, QueryParams
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

HOSTS = frozenset({"127.0.0.1", "localhost"})
TOKEN_HEADER = "x-noiseproof-token"  # noqa: S105
MAX_BODY_BYTES = 1 << 24
HEADERS = {
    "cache-control": "no-store",
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


class AccessControl:
    """ASGI middleware that refuses a request unless all of these conditions hold.

    - ``Host`` is 127.0.0.1 or localhost, which prevents DNS rebinding;
    - ``Origin``, if sent, is the address of this page, and ``Sec-Fetch-Site``, if sent, is same-origin or
      none, except when a link to the page itself is followed;
    - the token is valid: in a header or, for the page itself, in its address.
    """

    def __init__(self, app: ASGIApp, token: str) -> None:
        self.app, self.token = app, token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
            await send(message)

        problem = self.problem(scope)
        target = self.app if problem is None else PlainTextResponse(f"{problem}\n", status_code=403)
        await target(scope, receive, send_with_headers)

    def problem(self, scope: Scope) -> str | None:
        """The reason to refuse a request, or None."""
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if len(headers.getlist("host")) != 1 or _name(host) not in HOSTS:
            return f"refused: {host[:80]!r} is not the address of this page, which is on 127.0.0.1"
        origin = headers.get("origin")
        if origin is not None and origin != f"http://{host}":
            return "refused: the request comes from another page"
        is_page = scope["path"] == "/"
        is_link = is_page and headers.get("sec-fetch-dest") == "document"  # a link to this page elsewhere
        if headers.get("sec-fetch-site", "none") not in ("same-origin", "none") and not is_link:
            return "refused: the request comes from another site"
        length = headers.get("content-length", "0")
        if not length.isdigit() or int(length) > MAX_BODY_BYTES:
            return f"refused: the request body must not exceed {MAX_BODY_BYTES} bytes"
        given = headers.get(TOKEN_HEADER) or ""
        if is_page:
            given = given or QueryParams(scope["query_string"]).get("token", "")
        if not hmac.compare_digest(given.encode(), self.token.encode()):
            return "refused: the token is missing or wrong; open the address that the terminal shows"
        return None


def _name(host: str) -> str:
    """
    >>> _name("127.0.0.1:8000"), _name("evil.example:8000"), _name("[")
    ('127.0.0.1', 'evil.example', '')
    """
    try:
        return urlsplit(f"http://{host}").hostname or ""
    except ValueError:
        return ""
