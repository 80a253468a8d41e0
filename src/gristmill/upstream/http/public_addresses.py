"""Decides whether an address belongs to the public internet. Several forms of IPv6 carry an IPv4 address inside, to which a
translator of the network sends what is sent to them."""

from ipaddress import IPv4Address, IPv6Address, IPv6Network

Address = IPv4Address | IPv6Address

_LAST_32_BITS = (
    IPv6Network("64:ff9b::/96"),  # NAT64
    IPv6Network("::/96"),  # IPv4-compatible
    IPv6Network("::ffff:0:0:0/96"),  # IPv4-translated
)
_LOCAL_TRANSLATION = IPv6Network("64:ff9b:1::/48")
"""NAT64 of one network: what it leads to is decided there."""
_ISATAP = 0x5EFE


def is_public(address: Address) -> bool:
    """Tells whether ``address``, and each IPv4 address inside it, is one of the public internet."""
    if isinstance(address, IPv4Address):
        return address.is_global and not address.is_multicast
    if not address.is_global or address.is_multicast or address in _LOCAL_TRANSLATION:
        return False
    return all(is_public(inner) for inner in _list_inner_addresses(address))


def _list_inner_addresses(address: IPv6Address) -> list[IPv4Address]:
    last = IPv4Address(int(address) & 0xFFFF_FFFF)
    found = [one for one in (address.ipv4_mapped, address.sixtofour, *(address.teredo or ())) if one is not None]
    is_isatap = (int(address) >> 32) & 0xFFFF == _ISATAP
    return [*found, last] if is_isatap or any(address in network for network in _LAST_32_BITS) else found
