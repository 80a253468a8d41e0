"""Where the service listens: the address is taken before anything is started, so that a taken one costs nobody a start."""

import asyncio
import socket
from typing import Any

from gristmill.errors import ConfigError


async def take_address(host: str, port: int) -> list[socket.socket]:
    """Sockets bound to every address that ``host`` means, not listening yet.

    Raises:
        ConfigError: there is no such address here, or another program has it.
    """
    loop = asyncio.get_running_loop()
    try:
        found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError as error:
        raise ConfigError(f"serve.host: {host!r} is no address: {error.strerror}") from None
    taken: list[socket.socket] = []
    for family, kind, protocol, _, address in found if port else found[:1]:  # a free port is free for one address
        try:
            taken.append(_bound(family, kind, protocol, address))
        except OSError as error:
            for each in taken:
                each.close()
            raise ConfigError(
                f"cannot listen on {host}:{port}: {error.strerror}; choose another address with --host or --port"
            ) from None
    return taken


def _bound(family: int, kind: int, protocol: int, address: Any) -> socket.socket:
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
