"""Log lines are JSON, carry the request they belong to, keep to their level, and hold no secret of any library."""

import asyncio
import io
import json
import logging
from collections.abc import Generator
from contextvars import copy_context
from typing import Any

import pytest

from gristmill.serve.foreign_loggers import LOGGERS
from gristmill.serve.http.json_logs import HIDDEN, begin_request, log, log_event, set_up_logs

NAMES = ("", "gristmill", *LOGGERS)


@pytest.fixture(autouse=True)
def loggers_as_before() -> Generator[None]:
    kept = [(one, one.handlers, one.level, one.propagate) for one in map(logging.getLogger, NAMES)]
    yield
    for logger, handlers, level, propagate in kept:
        logger.handlers, logger.propagate = handlers, propagate
        logger.setLevel(level)


def lines(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def set_up(level: str = "info") -> io.StringIO:
    stream = io.StringIO()
    set_up_logs(level, stream)
    return stream


def test_a_line_has_time_level_event_and_its_fields() -> None:
    stream = set_up()
    log_event("execution", execution="abc", status="ok", left_out=None)
    (line,) = lines(stream)
    assert line.pop("time").endswith("+00:00")
    assert line == {"level": "info", "event": "execution", "execution": "abc", "status": "ok"}


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_on_a_terminal_lines_are_for_people_and_steer_nothing() -> None:
    stream = Terminal()
    set_up_logs("info", stream)
    log_event("configuration changed", added=("crm", "erp"), policy=None)
    log_event("server failed", level=logging.WARNING, server="crm", reason="not \x1b[31mready\nERROR forged")
    logging.getLogger("uvicorn").warning("Bearer abcdefghijklmnop was sent")
    first, second, third = stream.getvalue().splitlines()
    assert first[8:] == " configuration changed added=crm,erp"
    assert second[8:] == ' WARNING server failed server=crm reason="not \\u001b[31mready\\nERROR forged"'
    assert third[8:] == f" WARNING {HIDDEN} was sent"


def test_lines_of_a_request_and_of_what_it_set_going_have_its_id() -> None:
    stream = set_up()

    async def answer(name: str) -> None:
        assert begin_request(name) == name
        await asyncio.create_task(asyncio.to_thread(logging.getLogger("gristmill.runtime").warning, "within"))

    async def both() -> None:
        await asyncio.gather(answer("one"), answer("two"))

    asyncio.run(both())
    log_event("without")
    assert sorted(line.get("request", "") for line in lines(stream)) == ["", "one", "two"]


def test_an_id_that_could_be_anything_else_is_replaced() -> None:
    def ids() -> list[str]:
        return [begin_request(given) for given in ("", "a b", "x" * 65, "a\nb", "\x1b[0m")]

    assert {len(made) for made in copy_context().run(ids)} == {16}


@pytest.mark.parametrize(("level", "seen"), [("debug", 4), ("info", 3), ("warning", 2), ("error", 1)])
def test_the_configured_level_says_what_is_logged(level: str, seen: int) -> None:
    stream = set_up(level)
    for number in (logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR):
        log_event("something", level=number)
    assert len(lines(stream)) == seen


def test_what_libraries_say_comes_in_the_same_form_from_warnings_on() -> None:
    for name in LOGGERS:
        logging.getLogger(name).setLevel(logging.CRITICAL)  # as the command line leaves them
    stream = set_up("debug")
    for name in ("asyncio", "uvicorn.error", "mcp.client"):
        logging.getLogger(name).info("chatter")
        logging.getLogger(name).warning("beware\nof lines")
    assert [(line["logger"], line["event"]) for line in lines(stream)] == [
        (name, "beware\nof lines") for name in ("asyncio", "uvicorn.error", "mcp.client")
    ]


@pytest.mark.parametrize(
    "secret",
    [
        "gm_3f9a0c51d2e7_aB-c_d",
        "Bearer abcdefghijkl",
        "basic dXNlcjpwYXNz",
        "eyJhbGciOiJ.eyJzdWIi.c2lnbg",
        "postgresql://mill:hunter2@db/mill",
    ],
)
def test_no_text_of_anybody_brings_a_secret_into_a_line(secret: str) -> None:
    stream = set_up()
    logging.getLogger("somebody").error("could not connect: %s", secret)
    (line,) = lines(stream)
    assert HIDDEN in line["event"]
    assert not [part for part in ("aB-c_d", "abcdefghijkl", "dXNlcj", "eyJ", "hunter2") if part in stream.getvalue()]


def test_an_error_is_told_by_its_kind_and_place_but_not_by_its_text() -> None:
    stream = set_up()
    try:
        raise ValueError("hunter2")
    except ValueError:
        log.exception("failed")
    (line,) = lines(stream)
    assert (line["error"], line["at"][-1].split(":")[0]) == ("ValueError", "test_json_logs.py")
    assert "hunter2" not in stream.getvalue()
