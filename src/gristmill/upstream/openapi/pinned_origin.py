"""Builds the addresses of requests from a base address and a document's paths; a request never leaves the base's origin."""

from urllib.parse import unquote

import httpx2

from gristmill.errors import ConfigError, ToolFailed

Origin = tuple[str, str, int | None]
_PORTS = {"http": 80, "https": 443}


def read_origin(url: str | httpx2.URL) -> Origin:
    """Returns scheme, host and port of an address, as the HTTP client itself reads them.

    Raises:
        ConfigError: it is not an HTTP address.
    """
    try:
        parsed = httpx2.URL(url)
    except (httpx2.InvalidURL, ValueError):
        raise ConfigError(f"{str(url)[:200]!r} is not an address; it needs http:// or https:// and a host") from None
    if parsed.scheme not in _PORTS or not parsed.host:
        raise ConfigError(f"{str(url)[:200]!r} is not an HTTP address; it needs http:// or https:// and a host")
    return parsed.scheme, parsed.host, parsed.port or _PORTS[parsed.scheme]


def check_base_url(url: str) -> str:
    """Returns the base address of an API if paths can be appended to it.

    Raises:
        ConfigError: it is not an HTTP address, or has a user, a query or a fragment.
    """
    read_origin(url)
    parsed = httpx2.URL(url)
    # A user in the address would replace the configured credential; after a query or a fragment a path would be part of it.
    if parsed.userinfo or parsed.query or parsed.fragment or "?" in url or "#" in url:
        raise ConfigError("the address of the API has a user, a query or a fragment; set base_url to an address without them")
    return url


def join_path(base: str, path: str) -> str:
    """Returns the address of ``path`` below ``base``.

    Raises:
        ToolFailed: the path leads out of ``base``.
    """
    # A path without its slash would become part of the host: "https://api.example" + "@evil.example/x".
    if not path.startswith("/"):
        raise ToolFailed(f"the path {path[:200]!r} of the document does not begin with a slash")
    # A dot segment leads out of the base's path; some servers decode every encoding of it, and take "\" for "/".
    segments = unquote(path.partition("?")[0]).replace("\\", "/").split("/")
    if "." in segments or ".." in segments:
        raise ToolFailed(f"the path {path[:200]!r} has a dot segment, which would lead out of the API's address")
    url = base.rstrip("/") + path
    try:
        is_home = read_origin(url) == read_origin(base)
    except ConfigError as error:
        raise ToolFailed(str(error)) from None
    if not is_home:
        raise ToolFailed(f"the path {path[:200]!r} leads to another host than the API's")
    return url
