"""The channel again: frames with something wrong in them, by the hundred thousand."""

import asyncio
import json
import os
import random
import socket
import struct
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gristmill.sandbox.run import frames as bridge
from tests.attack.guests import RAW, harmless, loop_of
from tests.attack.wall import Wall

FRAMES = int(os.environ.get("GRISTMILL_ATTACK_FRAMES", "100000"))
"""How many mutated frames the fuzzer sends."""
SEED = int(os.environ.get("GRISTMILL_ATTACK_SEED", "0")) or random.SystemRandom().randrange(1 << 32)

GOOD: list[list[Any]] = [
    ["ready", "7f", 1],
    ["failed", "no"],
    ["begun", "7f"],
    ["unfit", "7f", "limits"],
    ["abandon", "7f", 1],
    ["call", "7f", 1, "crm.find", {"q": "x", "n": [1, 2.5, None, True]}, []],
    ["call", "7f", 2, "a.b", {}, [1, {"deep": {"deeper": ["ü", "\u2028", "😀"]}}]],
    ["done", "7f", {"rows": [1, 2, 3]}, None, None, None],
    ["done", "7f", None, "Traceback ...", "ValueError", "memory_mb"],
]
SPICES = [b"[", b"]", b"{", b"}", b'"', b"\\", b"\0", b"\xff", b"NaN", b"1e999", b"-0", b"9" * 400, b'"\\ud800"', b"null", b"true", b",", b":",
          b'["call"', b'["done",', b"\xed\xa0\x80", b" " * 64, b"[" * 200, b"/*", b"'", b"\xef\xbb\xbf", b'{"a":1,"a":2}']  # fmt: skip


def mutated(chance: random.Random) -> bytes:
    """A good body with something wrong in it, more often than not."""
    body = bytearray(json.dumps(chance.choice(GOOD), ensure_ascii=chance.random() < 0.5).encode())
    for _ in range(chance.choice((0, 1, 1, 2, 4, 16))):
        place = chance.randrange(len(body) + 1)
        match chance.randrange(5):
            case 0:
                body[place:place] = chance.choice(SPICES)
            case 1:
                del body[place : place + chance.randrange(1, 9)]
            case 2:
                body[place : place + 1] = bytes([chance.randrange(256)])
            case 3:
                body[place:place] = body[: chance.randrange(len(body) + 1)]
            case _:
                body[place:place] = chance.randbytes(chance.randrange(8))
        if len(body) > 4096:
            del body[4096:]
    return bytes(body)


@pytest.mark.requirement("T20")
def test_decoding_mutated_frames_gives_a_message_or_a_violation() -> None:
    chance = random.Random(SEED)
    kinds = {"message": 0, "violation": 0}
    for _ in range(FRAMES):
        body = mutated(chance)
        try:
            message = bridge.decode_frame(body)
        except bridge.ProtocolViolation:
            kinds["violation"] += 1
        else:
            assert isinstance(message, bridge.Message), (SEED, body)
            kinds["message"] += 1
    assert min(kinds.values()) > FRAMES // 50, f"the fuzzer is lopsided: {kinds}, seed {SEED}"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)  # fmt: skip
near_messages = st.tuples(
    st.sampled_from(["ready", "failed", "begun", "unfit", "call", "abandon", "done", "run", ""]),
    st.lists(json_values, max_size=6),
).map(lambda pair: [pair[0], *pair[1]])


@pytest.mark.requirement("T20")
@settings(max_examples=150, deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.binary(max_size=200) | (json_values | near_messages).map(lambda value: json.dumps(value).encode()))
def test_decoding_any_bytes_gives_a_message_or_a_violation(body: bytes) -> None:
    try:
        message = bridge.decode_frame(body)
    except bridge.ProtocolViolation:
        return
    assert isinstance(message, bridge.Message)


def _talk(stream: Callable[[random.Random], Iterator[bytes]], seed: int) -> tuple[int, list[str | None]]:
    """Send what ``stream`` yields to a Link over a socket pair; returns the messages heard and how it ended."""
    heard: list[bridge.Message] = []
    ends: list[str | None] = []

    async def main() -> None:
        ours, theirs = socket.socketpair()
        done = asyncio.Event()

        def end(violation: str | None) -> None:
            ends.append(violation)
            done.set()

        problems: list[Any] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: problems.append(context))
        link = bridge.GuestLink(ours, lambda message, _: heard.append(message), end)
        with theirs:
            theirs.setblocking(False)
            for chunk in stream(random.Random(seed)):
                if done.is_set():
                    break
                try:
                    await asyncio.get_running_loop().sock_sendall(theirs, chunk)
                except OSError:
                    break
        async with asyncio.timeout(30):
            await done.wait()
        link.close()
        assert problems == []

    asyncio.run(main())
    return len(heard), ends


def _frames(chance: random.Random) -> Iterator[bytes]:
    """Good frames in odd pieces, then a bad one, or none."""
    pending = b""
    for _ in range(chance.randrange(1, 60)):
        body = json.dumps(chance.choice(GOOD)).encode() if chance.random() < 0.98 else mutated(chance)
        length = len(body) if chance.random() < 0.99 else chance.choice((0, 1, 65_537, 0x7FFFFFFF, 0xFFFFFFFF))
        pending += struct.pack("<I", length) + body
        while pending and chance.random() < 0.7:
            size = chance.randrange(1, 200)
            yield pending[:size]
            pending = pending[size:]
    yield pending


@pytest.mark.requirement("T20")
def test_a_link_ends_once_and_for_a_reason_whatever_the_guest_writes() -> None:
    for round_ in range(max(20, FRAMES // 500)):
        heard, ends = _talk(_frames, SEED + round_)
        assert len(ends) == 1, (SEED, round_)
        assert heard >= 0


@pytest.mark.requirement("T20")
def test_hostile_guests_inside_the_sandbox_fuzz_the_host_without_effect(namespaces: Wall) -> None:
    code = (
        RAW
        + f"""
import random
chance = random.Random(values["seed"])
good = {json.dumps(GOOD)!r}
for _ in range(200):
    body = bytearray(json.dumps(chance.choice(json.loads(good))).encode())
    body = bytearray(bytes(body).replace(b"7f", nonce.encode()))
    for _ in range(chance.randrange(3)):
        body[chance.randrange(len(body))] = chance.randrange(256)
    raw.sendall(frame(bytes(body)))
    time.sleep(0)
os._exit(0)
"""
    )
    problems: list[Any] = []
    loop = loop_of(namespaces)
    loop.set_exception_handler(lambda _, context: problems.append(context))
    try:
        for seed in range(40):
            outcome = namespaces.run(f"values = {{'seed': {SEED + seed}}}\n" + code)
            assert outcome.status in ("crashed", "ok", "failed", "limited")
        harmless(namespaces)
    finally:
        loop.set_exception_handler(None)
    assert problems == []
