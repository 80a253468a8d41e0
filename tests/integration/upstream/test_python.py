"""A module of functions as a configured server, and one that cannot be used."""

import pytest

from gristmill.config.sections.servers_section import ServerConfig
from gristmill.errors import UpstreamUnavailable
from tests.integration.upstream.conftest import call, opened

pytestmark = pytest.mark.anyio


async def test_the_included_functions_of_a_module_are_tools() -> None:
    async with opened(sums=ServerConfig(python="statistics", include=("mean", "median"))) as upstreams:
        assert [tool.key for tool in upstreams.tools] == ["sums.mean", "sums.median"]
        assert await call(upstreams, "sums.median", data=[1, 2, 9]) == 2


async def test_a_module_that_cannot_be_imported_fails_alone() -> None:
    servers = {
        "bad": ServerConfig(python="no_such_module"),
        "sums": ServerConfig(python="statistics", include=("mean",)),
    }
    async with opened(**servers) as upstreams:
        assert await call(upstreams, "sums.mean", data=[1, 3]) == 2
        assert upstreams["bad"].status.state == "failed"
        with pytest.raises(UpstreamUnavailable, match="no_such_module"):
            await call(upstreams, "bad.x")
