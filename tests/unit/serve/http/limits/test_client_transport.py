"""How answers leave a connection."""

import asyncio
from collections.abc import Callable
from typing import cast

from hypothesis import given
from hypothesis import strategies as st

from gristmill.serve.http.limits.client_transport import ClientTransport

HEAD, BODY = b"HTTP/1.1 200 OK\r\n\r\n", b"four"


class Sent(list[bytes]):
    """What a transport was given, and whether it was closed."""

    def write(self, data: bytes) -> None:
        self.append(data)

    def close(self) -> None:
        self.append(b"closed")

    def is_closing(self) -> bool:
        return b"closed" in self

    def get_write_buffer_size(self) -> int:
        return 0


def sent(write: Callable[[ClientTransport], object]) -> tuple[list[bytes], list[bytes]]:
    """What has left at once, and what one turn later."""

    async def turn() -> tuple[list[bytes], list[bytes]]:
        transport = Sent()
        write(ClientTransport(cast("asyncio.Transport", transport), asyncio.get_running_loop()))
        at_once = list(transport)
        await asyncio.sleep(0)
        return at_once, list(transport)

    return asyncio.run(turn())


def test_a_head_and_its_body_leave_as_one() -> None:
    def write(connection: ClientTransport) -> None:
        for part in (HEAD, BODY, b""):
            connection.write(part)

    assert sent(write) == ([HEAD + BODY], [HEAD + BODY])


def test_a_head_whose_body_takes_its_time_does_not_wait_for_it() -> None:
    assert sent(lambda connection: connection.write(HEAD)) == ([], [HEAD])


def test_what_is_held_is_sent_before_hanging_up() -> None:
    def write(connection: ClientTransport) -> None:
        connection.write(HEAD)
        connection.close()
        assert connection.is_closing()

    assert sent(write)[0] == [HEAD, b"closed"]


def test_a_large_body_is_not_copied() -> None:
    large = bytes(100_000)

    def write(connection: ClientTransport) -> None:
        connection.write(HEAD)
        connection.write(large)

    first, second = sent(write)[0]
    assert (first, second is large) == (HEAD, True)


@given(st.lists(st.one_of(st.binary(max_size=9), st.just(bytes(65_537)))))
def test_all_that_is_written_is_sent_in_its_order(parts: list[bytes]) -> None:
    def write(connection: ClientTransport) -> None:
        for part in parts:
            connection.write(part)

    assert b"".join(sent(write)[1]) == b"".join(parts)
