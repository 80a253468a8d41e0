"""Guests that speak on the channel themselves, and how the host is asked whether it minds."""

import asyncio

from tests.attack.wall import Wall

# Every hostile guest starts with this: it speaks on the socket itself, past the guest's own code, and has read the nonce of its
# own run from the guest's memory.
RAW = """
import json, os, socket, struct, time
raw = socket.socket(fileno=os.dup(3))
channel = __import__("mcp_client").call_mcp_tool.__globals__["CALLS"].channel
nonce = channel.nonce
def frame(body):
    if isinstance(body, bytes):
        body = body.replace(b"NONCE", nonce.encode())
    else:
        body = json.dumps(body if body[0] == "failed" else [body[0], nonce, *body[1:]]).encode()
    return struct.pack("<I", len(body)) + body
def send(*bodies):
    raw.sendall(b"".join(map(frame, bodies)))
def call(number, tool="t.record", arguments=None, positional=()):
    return ["call", number, tool, arguments or {}, list(positional)]
def wait_for_end():
    while True: time.sleep(1)
"""


def harmless(gateway: Wall) -> None:
    """The host is alive and well."""
    outcome = gateway.run("6 * 7")
    assert (outcome.status, outcome.result) == ("ok", 42)


def loop_of(gateway: Wall) -> asyncio.AbstractEventLoop:
    """The one that the host runs in."""
    portal = gateway.runtime._portal  # pyright: ignore[reportPrivateUsage]
    assert portal is not None
    return portal.call(asyncio.get_running_loop)
