"""The `quota` section of the configuration: how many calls and bytes may be sent in a period. `guard/quota` counts them."""

from pydantic import Field

from gristmill.config.sections.base import Section

_MOST = 1_000_000_000_000


class ServerQuota(Section):
    """Limits for one server that replace the general ones."""

    calls_per_minute: int | None = Field(default=None, ge=0, le=_MOST)
    """Calls to this server in a minute, instead of `server_calls_per_minute`; 0 is no limit."""
    concurrent_calls: int | None = Field(default=None, ge=0, le=100_000)
    """Calls to this server at the same time, instead of `concurrent_calls`; 0 is no limit."""


class QuotaConfig(Section):
    """How many calls and bytes may be sent in a period, over all executions. `sandbox.limits` limits a single execution."""

    session_calls_per_minute: int = Field(default=60_000, ge=0, le=_MOST)
    """Calls of one session in a minute (of one caller, for calls without a session); 0 is no limit."""
    server_calls_per_minute: int = Field(default=0, ge=0, le=_MOST)
    """Calls to one server in a minute; 0 is no limit."""
    bytes_per_minute: int = Field(default=2_000_000_000, ge=0, le=_MOST)
    """Bytes of arguments and results of one session in a minute, as JSON; 0 is no limit."""
    concurrent_calls: int = Field(default=64, ge=0, le=100_000)
    """Calls to one server at the same time; further ones wait, and tenants take turns; 0 is no limit."""
    wait_seconds: float = Field(default=30.0, ge=0, le=3_600)
    """Seconds that a call waits because of `concurrent_calls` before it is refused."""
    servers: dict[str, ServerQuota] = Field(default_factory=dict[str, ServerQuota])
    """Limits for single servers, as `[quota.servers.NAME]`."""
