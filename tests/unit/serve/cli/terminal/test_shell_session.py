"""Whoever waits for an answer in the main thread can be interrupted, whichever thread the signal reaches."""

import queue
import signal
import threading

import pytest

from gristmill.serve.cli.terminal.shell_session import _wait_for_item  # pyright: ignore[reportPrivateUsage]


@pytest.mark.timeout(20)
def test_ctrl_c_that_reaches_another_thread_is_heard() -> None:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    other = threading.Timer(0.05, lambda: signal.pthread_kill(threading.get_ident(), signal.SIGINT))
    other.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            _wait_for_item(queue.SimpleQueue[None]())
    finally:
        other.join()
        signal.signal(signal.SIGINT, before)


def test_an_answer_is_handed_on() -> None:
    inbox: queue.SimpleQueue[int] = queue.SimpleQueue()
    inbox.put(7)
    assert _wait_for_item(inbox) == 7
