"""Chooses the proxy of a request by the variables that programs agree on: HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, NO_PROXY."""

import base64
import ipaddress
from collections.abc import Mapping
from urllib.parse import unquote, urlsplit

from msgspec import Struct, field

from gristmill.errors import ConfigError

_LOCAL_NAMES = frozenset({"localhost", "ip6-localhost"})


class HttpProxy(Struct, frozen=True, kw_only=True):
    """A proxy, and the header that its user and password make. Never printed."""

    host: str
    port: int
    authorization: str | None = None

    def __repr__(self) -> str:
        return f"HttpProxy({self.host}:{self.port})"


class ProxyChoice(Struct, frozen=True, kw_only=True):
    """The proxies by the scheme of an address, and the hosts that are reached without one. An empty choice uses none."""

    by_scheme: Mapping[str, HttpProxy] = field(default_factory=dict[str, HttpProxy])
    without: str = ""
    """Hosts, domains and addresses with commas between them, as in NO_PROXY; `*` means all."""

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> "ProxyChoice":
        """Reads the variables; lower case wins, as in other programs.

        Raises:
            ConfigError: a proxy is of a kind that is not supported.
        """
        found: dict[str, HttpProxy] = {}
        for scheme in ("http", "https"):
            for name in (f"{scheme}_proxy", "all_proxy"):
                value = environ.get(name) or environ.get(name.upper())
                if value:
                    found[scheme] = read_proxy(name.upper(), value)
                    break
        return cls(by_scheme=found, without=environ.get("no_proxy") or environ.get("NO_PROXY", "")) if found else cls()

    def choose(self, scheme: str, host: str, port: int) -> HttpProxy | None:
        """Returns the proxy of a request, or None; this machine is always reached directly."""
        proxy = self.by_scheme.get(scheme)
        if proxy is None or _is_this_machine(host):
            return None
        entries = (entry.strip().lower() for entry in self.without.split(","))
        return None if any(_matches_entry(entry, host.lower(), port) for entry in entries if entry) else proxy


def read_proxy(name: str, value: str) -> HttpProxy:
    """Returns the proxy that the variable ``name`` means.

    Raises:
        ConfigError: it is no address, or of a kind that is not supported.
    """
    try:
        parsed = urlsplit(value if "://" in value else f"http://{value}")
        host, port = parsed.hostname, parsed.port
    except ValueError:
        host, port, parsed = None, None, urlsplit("")
    if not host or parsed.scheme != "http":
        raise ConfigError(
            f"{name} names a proxy that cannot be used: write http://host:port (SOCKS and https:// proxies are not supported)"
        )
    login = None
    if parsed.username is not None:
        pair = f"{unquote(parsed.username)}:{unquote(parsed.password or '')}"
        login = "Basic " + base64.b64encode(pair.encode()).decode("ascii")
    return HttpProxy(host=host, port=port or 80, authorization=login)


def _is_this_machine(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower().rstrip(".") in _LOCAL_NAMES


def _matches_entry(entry: str, host: str, port: int) -> bool:
    """Returns whether an entry of NO_PROXY means a host: a name with all names below it, an address or a network, with or without
    a port."""
    if entry == "*":
        return True
    try:
        return ipaddress.ip_address(host) in ipaddress.ip_network(entry, strict=False)
    except ValueError:
        pass
    name, colon, number = entry.rpartition(":")
    if colon and number.isdecimal():
        if int(number) != port:
            return False
        entry = name
    entry = entry.removeprefix("*").removeprefix(".")
    return bool(entry) and (host == entry or host.endswith(f".{entry}"))
