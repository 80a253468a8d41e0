"""Binds the address of the service before anything else is started, so that a taken address is reported at once."""

import asyncio
import socket
from typing import Any

from gristmill.errors import ConfigError


async def bind_address(host: str, port: int) -> list[socket.socket]:
    """Returns sockets bound to every address of ``host``, not listening yet.

    Raises:
        ConfigError: this machine has no such address, or another program uses it.
    """
    loop = asyncio.get_running_loop()
    try:
        found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError as error:
        raise ConfigError(f"serve.host: {host!r} is not an address: {error.strerror}") from None
    taken: list[socket.socket] = []
    for family, kind, protocol, _, address in found if port else found[:1]:  # port 0: a free port is chosen for one address only
        try:
            taken.append(_bind_socket(family, kind, protocol, address))
        except OSError as error:
            for each in taken:
                each.close()
            raise ConfigError(
                f"cannot listen on {host}:{port}: {error.strerror}; choose another address with --host or --port"
            ) from None
    return taken


def _bind_socket(family: int, kind: int, protocol: int, address: Any) -> socket.socket:
    made = socket.socket(family, kind, protocol)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        made.bind(address)
    except BaseException:
        made.close()
        raise
    return made
