# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false
# The guest's code has no annotations.
"""The channel's readers: the answer to any of them may be received by another, and the host's next order by all of them."""

import os
import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from gristmill.guest.calls.channel import Channel, make_frame

SECONDS = 20


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, Channel]]:
    ours, theirs = socket.socketpair()
    channel = Channel()
    channel.open(theirs.detach())
    with ours:
        yield ours, channel
        channel.close()


def leave_a_reader_behind(channel: Channel) -> threading.Thread:
    """Starts a thread that waits for an answer, and gives up the call that it waits for, as a program does that ends first."""
    channel.begin("n1", 1 << 20)
    pending = channel.start("t.slow", {})
    thread = threading.Thread(target=lambda: _wait(channel, pending), daemon=True)
    thread.start()
    while channel._reader is None:  # pyright: ignore[reportPrivateUsage]
        pass
    channel.abandon(pending)
    channel.send_report('["done"]')
    return thread


def _wait(channel: Channel, pending: Any) -> None:
    channel.wait(pending)


def take_next_order(channel: Channel) -> tuple[list[Any], list[int]]:
    found: list[Any] = []
    taker = threading.Thread(target=lambda: found.append(channel.next_order()), daemon=True)
    taker.start()
    taker.join(SECONDS)
    assert found, "the order was received by a thread that keeps it"
    return found[0]


@pytest.mark.requirement("T59")
def test_an_order_that_a_thread_left_behind_receives_is_carried_out(ends: tuple[socket.socket, Channel]) -> None:
    host, channel = ends
    thread = leave_a_reader_behind(channel)
    host.sendall(make_frame('["run","n2","1"]'))
    assert take_next_order(channel) == (["run", "n2", "1"], [])
    thread.join(SECONDS)
    assert not thread.is_alive()


def test_descriptors_that_a_thread_left_behind_receives_reach_the_order(ends: tuple[socket.socket, Channel]) -> None:
    host, channel = ends
    leave_a_reader_behind(channel)
    reading, writing = os.pipe()
    socket.send_fds(host, [make_frame('["fork","n2"]')], [reading, writing])
    order, fds = take_next_order(channel)
    assert (order, len(fds)) == (["fork", "n2"], 2)
    assert [os.fstat(fd).st_ino for fd in fds] == [os.fstat(fd).st_ino for fd in (reading, writing)]
    for fd in (*fds, reading, writing):
        os.close(fd)


def test_an_order_after_the_answer_to_a_call_that_was_given_up_is_carried_out(ends: tuple[socket.socket, Channel]) -> None:
    host, channel = ends
    thread = leave_a_reader_behind(channel)
    host.sendall(make_frame('["error",1,"abandoned","the program gave this call up"]'))
    thread.join(SECONDS)
    host.sendall(make_frame('["run","n2","1"]'))
    assert take_next_order(channel) == (["run", "n2", "1"], [])
