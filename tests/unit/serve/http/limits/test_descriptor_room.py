"""How many connections fit the descriptors."""

import asyncio
import errno
import logging
from unittest.mock import Mock

import pytest

from gristmill.serve.http.limits import descriptor_room
from gristmill.serve.http.limits.descriptor_room import AcceptErrors, build_crowd


@pytest.mark.requirement("T115")
@pytest.mark.parametrize("limit", [64, 128, 256, 1_024, 100_000])
def test_connections_fit_the_descriptors(limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(descriptor_room.resource, "getrlimit", Mock(return_value=(limit, limit)))
    monkeypatch.setattr(descriptor_room.os, "listdir", Mock(return_value=[""] * 40))
    crowd = build_crowd(4_096, 8)
    assert 4 <= crowd.most < limit - 40
    assert (crowd.most == 4_096) is (limit == 100_000)


@pytest.mark.requirement("T115")
def test_accept_errors_are_logged_now_and_then_and_others_as_usual(caplog: pytest.LogCaptureFixture) -> None:
    loop, handle = Mock(spec=asyncio.AbstractEventLoop), AcceptErrors()
    with caplog.at_level(logging.DEBUG):
        for _ in range(1_000):
            handle(loop, {"message": "socket.accept() out of system resource", "exception": OSError(errno.EMFILE, "Too many")})
        handle(loop, {"message": "another"})
    assert [record.getMessage() for record in caplog.records] == ["cannot accept connections"]
    loop.default_exception_handler.assert_called_once_with({"message": "another"})
