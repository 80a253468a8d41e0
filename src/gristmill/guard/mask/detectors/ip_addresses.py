"""Finds IP addresses. Off by default: in most texts they identify machines, not people."""

import re
from ipaddress import ip_address

from gristmill.guard.mask.text.text_spans import Found

_CANDIDATE = re.compile(r"[0-9A-Fa-f:](?<![0-9A-Za-z_.:-].)[0-9A-Fa-f:.]{2,44}+(?![0-9A-Za-z_])")


def find_ip_addresses(text: str) -> Found:
    """Finds ``ip``: addresses of version 4 (four numbers with dots) and of version 6."""
    return [
        (match.start(), match.start() + len(address), "IP")
        for match in _CANDIDATE.finditer(text)
        if (address := match[0].rstrip(".:") or match[0]).count(".") == 3 or address.count(":") >= 2
        if _is_address(address)
    ]


def _is_address(text: str) -> bool:
    try:
        return not ip_address(text).is_unspecified
    except ValueError:
        return False
