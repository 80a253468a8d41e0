"""Checks the headers of every request before its body is read: host name, origin, site, content type and encoding."""

import ipaddress
from urllib.parse import urlsplit

from msgspec import Struct
from starlette.datastructures import Headers
from starlette.requests import HTTPConnection

from gristmill.config.sections.serve_section import ServeConfig
from gristmill.errors import Refused
from gristmill.serve.host_header import read_host

LOOPBACK = frozenset({"127.0.0.1", "localhost", "[::1]", "::1"})
FORWARDED = ("forwarded", "via", "x-real-ip", "cf-connecting-ip", "true-client-ip", "x-client-ip", "x-cluster-client-ip")
"""Headers that proxies add to a request, in addition to those that begin with ``x-forwarded``."""


class RequestWall(Struct, frozen=True, kw_only=True):
    """The checks of requests by ``config``. With ``everywhere`` any host name is accepted, since a token is always needed."""

    config: ServeConfig
    everywhere: bool = False

    def check(self, headers: Headers, method: str, *, websocket: bool = False) -> None:
        """Refuses requests that no legitimate client sends.

        Raises:
            Refused: the host or the origin is foreign, the request is cross-site, or its body is encoded.
        """
        host = read_host(headers.get("host"))
        is_known = bool(host) and (self.everywhere or host in LOOPBACK or host in self.config.hosts)
        if len(headers.getlist("host")) != 1 or not is_known:
            raise Refused(
                "this host name is not known here: address the service as localhost, or add the name to serve.hosts",
                rule="http.host",
            )
        self._check_origin(headers)
        if headers.get("access-control-request-private-network"):
            raise Refused("requests from pages of other networks are refused", rule="http.private_network")
        if _is_cross_site(headers, method, websocket=websocket):
            raise Refused("requests from pages of other sites are refused", rule="http.cross_site")
        if headers.get("content-encoding", "identity").lower() != "identity":
            raise Refused("send the body without Content-Encoding: encoded bodies are not decoded", rule="http.content_encoding")

    def is_local(self, connection: HTTPConnection) -> bool:
        """Whether the request comes from this machine and is addressed to it: only such requests are accepted without a token."""
        headers, client = connection.headers, connection.client.host if connection.client else None
        if self.config.require_token or self.config.host not in LOOPBACK:
            return False  # a service that other machines can reach requires a token of everyone
        # A proxy forwards requests of others. A proxy that adds no header, as nginx by default, is seen by its use of HTTP/1.0.
        if any(name in FORWARDED or name.startswith("x-forwarded") for name in headers):
            return False
        return (
            _is_loopback(client) and read_host(headers.get("host")) in LOOPBACK and connection.scope.get("http_version") != "1.0"
        )

    def check_content_type(self, headers: Headers, method: str) -> None:
        """Requires JSON for bodies that change something: a page of another origin cannot send JSON without a preflight request.

        Raises:
            Refused: the content type is another one.
        """
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        if method in ("POST", "PATCH") and kind != "application/json":
            raise Refused("send application/json (curl: -H 'Content-Type: application/json' or --json)", rule="http.content_type")

    def _check_origin(self, headers: Headers) -> None:
        origin = headers.get("origin")
        if origin is None or origin in self.config.origins:
            return
        # The origin must have exactly the host and port that the request was sent to.
        if _read_origin_host(origin) != (headers.get("host") or "").lower():
            raise Refused("this origin may not use the service: add it to serve.origins to allow it", rule="http.origin")


def _read_origin_host(origin: str) -> str | None:
    """Returns the host and port of an origin; None if it has none, as in `null`."""
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
        return False  # _check_origin has checked the origin
    follows_link = method == "GET" and headers.get("sec-fetch-mode") == "navigate" and not websocket
    return not follows_link
