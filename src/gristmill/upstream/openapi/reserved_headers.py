"""Says which headers a document's parameters must not set: they carry credentials, or the HTTP client writes them."""

import re
from collections.abc import Iterable, Mapping
from typing import cast

from gristmill.model import Json

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,200}")
"""A header's or cookie's name as RFC 9110 has it: with other characters a name could write a second header or cookie."""

_CONNECTION_HEADERS = {
    "accept",
    "accept-encoding",
    "connection",
    "content-encoding",
    "content-length",
    "content-type",
    "expect",
    "forwarded",
    "host",
    "http2-settings",
    "keep-alive",
    "max-forwards",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "via",
    "x-http-method",
    "x-http-method-override",
    "x-method-override",
    "x-original-host",
    "x-original-url",
    "x-real-ip",
    "x-rewrite-url",
}
_CREDENTIAL_HEADERS = {
    "api-key",
    "apikey",
    "authorization",
    "cookie",
    "cookie2",
    "x-access-token",
    "x-api-key",
    "x-apikey",
    "x-auth-token",
}
_RESERVED_PREFIXES = ("proxy-", "x-forwarded-", "sec-")


def find_reserved_headers(document: Mapping[str, Json], configured: Iterable[str]) -> frozenset[str]:
    """Returns, in lower case, the headers of connections and credentials, of the configuration and of the document's keys."""
    components = document.get("components")
    schemes = cast("dict[str, Json]", components).get("securitySchemes") if isinstance(components, dict) else None
    keys = [
        str(cast("dict[str, Json]", scheme).get("name", ""))
        for scheme in (cast("dict[str, Json]", schemes).values() if isinstance(schemes, dict) else ())
        if isinstance(scheme, dict) and cast("dict[str, Json]", scheme).get("in") == "header"
    ]
    return frozenset({*_CONNECTION_HEADERS, *_CREDENTIAL_HEADERS, *(name.lower() for name in [*configured, *keys])})


def may_set_parameter(place: str, name: str, reserved: frozenset[str], *, sends_cookies: bool) -> bool:
    """Tells whether a parameter of this place and name may be part of a request."""
    if place == "cookie":
        # Cookies of the configuration are one header, which a parameter would replace.
        return bool(_TOKEN.fullmatch(name)) and not sends_cookies
    if place != "header":
        return True
    # Some servers read "_" as "-" in the name of a header.
    plain = name.lower().replace("_", "-")
    return bool(_TOKEN.fullmatch(name)) and not ({plain, name.lower()} & reserved or plain.startswith(_RESERVED_PREFIXES))
