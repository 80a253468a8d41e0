"""What every request meets before it is read: names, origins, types, sizes and times. Pure checks, and one capped reading."""

import ipaddress
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.requests import HTTPConnection

from gristmill.config.sections.serve_section import ServeConfig
from gristmill.errors import Refused
from gristmill.values import dataclass

LOOPBACK = frozenset({"127.0.0.1", "localhost", "[::1]", "::1"})
FORWARDED = ("forwarded", "via", "x-real-ip", "cf-connecting-ip", "true-client-ip", "x-client-ip", "x-cluster-client-ip")
"""What proxies add to a request, beside everything that begins with ``x-forwarded``."""
CHANGES = frozenset({"POST", "PUT", "PATCH", "DELETE"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Wall:
    """Checks requests by ``config``; ``everywhere`` is true where any host's name may be ours, since a token is always needed."""

    config: ServeConfig
    everywhere: bool = False

    def check(self, headers: Headers, method: str, *, websocket: bool = False) -> None:
        """Refuse what no honest client sends.

        Raises:
            Refused: a foreign host or origin, a cross-site request, an encoded body.
        """
        host = _host(headers.get("host"))
        if len(headers.getlist("host")) != 1 or not (self.everywhere or host in LOOPBACK or host in self.config.hosts):
            raise Refused("this name is not ours: address the service as localhost, or add it to serve.hosts", rule="http.host")
        self._check_origin(headers)
        if headers.get("access-control-request-private-network"):
            raise Refused("pages of other networks have no business here", rule="http.private_network")
        if _is_cross_site(headers, method, websocket=websocket):
            raise Refused("requests from pages of other sites are refused", rule="http.cross_site")
        if headers.get("content-encoding", "identity").lower() != "identity":
            raise Refused("send the body as it is: encoded bodies are not unpacked", rule="http.content_encoding")

    def is_local(self, connection: HTTPConnection) -> bool:
        """Whether the request comes from this machine, for this machine: only so is anybody let in without a token."""
        headers, client = connection.headers, connection.client.host if connection.client else None
        if self.config.require_token or self.config.host not in LOOPBACK:
            return False  # what listens to others has tokens, and everybody needs one
        # A proxy speaks for somebody else. One that adds no header, as nginx does by default, still speaks HTTP/1.0.
        if any(name in FORWARDED or name.startswith("x-forwarded") for name in headers):
            return False
        return _is_loopback(client) and _host(headers.get("host")) in LOOPBACK and connection.scope.get("http_version") != "1.0"

    def check_type(self, headers: Headers, method: str) -> None:
        """Require JSON where a body changes something: a page cannot send that elsewhere without asking first.

        Raises:
            Refused: another content type.
        """
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        if method in ("POST", "PATCH") and kind != "application/json":
            raise Refused("send application/json (curl: -H 'Content-Type: application/json' or --json)", rule="http.content_type")

    def _check_origin(self, headers: Headers) -> None:
        origin = headers.get("origin")
        if origin is None or origin in self.config.origins:
            return
        # The origin's host must be the very name and port that the request was sent to.
        if _place(origin) != (headers.get("host") or "").lower():
            raise Refused("this origin may not use the service: add it to serve.origins if it should", rule="http.origin")


def _host(header: str | None) -> str:
    """The host of a ``Host`` header, without its port."""
    text = (header or "").lower()
    if text.startswith("["):
        return text.partition("]")[0] + "]"
    return text.partition(":")[0]


def _place(origin: str) -> str | None:
    """The host and port of an origin; None where there is none, as in `null`."""
    try:
        return urlsplit(origin).netloc.lower() or None
    except ValueError:
        return None


def _is_loopback(client: str | None) -> bool:
    try:
        return ipaddress.ip_address(client or "").is_loopback
    except ValueError:
        return False


def _is_cross_site(headers: Headers, method: str, *, websocket: bool) -> bool:
    if headers.get("sec-fetch-site", "none") in ("none", "same-origin"):
        return False
    if headers.get("origin") is not None:
        return False  # named, and checked by name
    follows_link = method == "GET" and headers.get("sec-fetch-mode") == "navigate" and not websocket
    return not follows_link
