"""The `quota` section of the configuration: how much may leave in a while. Ground below `config`; `guard/quota/quota_layer.py` counts."""

from pydantic import Field

from gristmill.config.sections.base import Section

_MOST = 1_000_000_000_000


class ServerQuota(Section):
    """What one server is spared."""

    calls_per_minute: int | None = Field(default=None, ge=0, le=_MOST)
    """Calls to this server in a minute, instead of `server_calls_per_minute`; 0 is no limit."""
    concurrent_calls: int | None = Field(default=None, ge=0, le=100_000)
    """Calls to this server at the same time, instead of `concurrent_calls`; 0 is no limit."""


class QuotaConfig(Section):
    """How much may leave in a while, over all executions. What one execution may use stands in `sandbox.limits`."""

    session_calls_per_minute: int = Field(default=60_000, ge=0, le=_MOST)
    """Calls of one session in a minute (of one caller, where there is no session); 0 is no limit."""
    server_calls_per_minute: int = Field(default=0, ge=0, le=_MOST)
    """Calls to one server in a minute; 0 is no limit."""
    bytes_per_minute: int = Field(default=2_000_000_000, ge=0, le=_MOST)
    """Bytes of arguments and results of one session in a minute, as JSON; 0 is no limit."""
    concurrent_calls: int = Field(default=64, ge=0, le=100_000)
    """Calls to one server at the same time; further ones wait, tenants in turn; 0 is no limit."""
    wait_seconds: float = Field(default=30.0, ge=0, le=3_600)
    """How long a call waits for `concurrent_calls` before it is refused."""
    servers: dict[str, ServerQuota] = Field(default_factory=dict[str, ServerQuota])
    """Other numbers for single servers, as `[quota.servers.NAME]`."""
