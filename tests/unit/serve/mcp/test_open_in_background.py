"""What keeps the runtime from opening reaches every call that waits for it."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from gristmill.config.tree import Config
from gristmill.errors import ConfigError, Error
from gristmill.runtime.runtime import Runtime
from gristmill.serve.mcp.open_in_background import open_in_background

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.mark.requirement("T152")
@pytest.mark.parametrize("error", [ConfigError("no folder"), PermissionError(13, "denied", "/x"), RuntimeError("foreign")])
async def test_an_error_of_any_kind_is_raised_to_each_caller(
    error: Exception, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    @asynccontextmanager
    async def fail(*_given: Any, **_more: Any) -> AsyncGenerator[Runtime]:
        raise error
        yield  # pyright: ignore[reportReturnType]

    monkeypatch.setattr(Runtime, "open", fail)
    with anyio.fail_after(10):
        async with open_in_background(Config()) as hall:
            for _ in range(2):
                with pytest.raises(Error, match=str(error.args[-1])):
                    await hall()
    assert capsys.readouterr().err.startswith("error: ")
