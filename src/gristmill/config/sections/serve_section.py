"""The `serve` section of the configuration: who may come in by HTTP, and how much of it. Ground below `config`."""

import re
from typing import Literal

from pydantic import Field, field_validator

from gristmill.config.sections.base import Section, defaults

Scope = Literal["execute", "read", "approve", "admin"]


class JwtConfig(Section):
    """Tokens of an identity provider (OpenID Connect). Empty `issuer` takes none."""

    issuer: str = ""
    """The `iss` that a token must have, such as `https://login.example.com/`."""
    audience: str = "gristmill"
    """The `aud` that a token must have."""
    jwks_url: str = ""
    """Where the provider's keys are; empty asks `<issuer>/.well-known/openid-configuration`. https, or this machine."""
    algorithms: tuple[Literal["RS256", "RS384", "RS512", "ES256", "ES384", "ES512", "PS256", "EdDSA"], ...] = ("RS256", "ES256")
    """Signatures that are taken; none with a shared secret is on offer."""
    tenant_claim: str = "tenant"
    """The claim that names the tenant; a token without it is refused."""
    scope_claim: str = "scope"
    """The claim that lists scopes, as a list or as words in one text; those that are not ours are ignored."""
    scope_prefix: str = "gristmill:"
    """What stands before our scopes in that claim, such as `gristmill:execute`."""


class ServeConfig(Section):
    """Who may come in by HTTP, and how much of it."""

    direct_calls: bool = False
    """Whether MCP clients get a third tool, `call_tool`, that makes one call without a program."""
    host: str = "127.0.0.1"
    """Address to listen on. Anything but this machine needs tokens."""
    port: int = Field(default=8030, ge=0, le=65_535)
    """Port to listen on; 0 takes a free one."""
    require_token: bool = False
    """Whether a token is needed on this machine too."""
    local_scopes: tuple[Scope, ...] = ("execute", "read", "admin")
    """What somebody on this machine may do without a token. Approving is left out: the agent sits on this machine too."""
    hosts: tuple[str, ...] = ()
    """Further names by which clients address this service (`Host`), such as `mill.example.com`."""
    origins: tuple[str, ...] = ()
    """Web pages of other origins that may use it, such as `https://ops.example.com`. Its own pages always may."""
    jwt: JwtConfig = defaults()
    """Tokens of an identity provider."""
    body_bytes: int = Field(default=8_000_000, ge=1_000, le=1_000_000_000)
    """Largest body of a request; files that are uploaded have the limits of their workspace."""
    header_bytes: int = Field(default=32_768, ge=1_024, le=1_048_576)
    """Largest request line and headers together."""
    request_seconds: float = Field(default=20.0, gt=0, le=3_600)
    """How long a client may take to send its headers, and then its body."""
    connections: int = Field(default=4_096, ge=1, le=100_000)
    """Connections at the same time; further ones are answered 503."""
    concurrency: int = Field(default=0, ge=0, le=4_096)
    """Executions of one tenant at the same time; 0 is as many as `sandbox.concurrency`."""
    waiting: int = Field(default=2_000, ge=0, le=100_000)
    """Executions of one tenant that may wait for their turn; further ones are answered 429."""
    waiting_seconds: float = Field(default=120.0, gt=0, le=86_400)
    """How long an execution waits for its turn before it is answered 429."""
    requests_per_minute: int = Field(default=0, ge=0, le=10_000_000)
    """Requests of one tenant in a minute; 0 is no limit."""
    background: int = Field(default=256, ge=1, le=100_000)
    """Background executions of one tenant that may be under way."""
    kept_seconds: float = Field(default=900.0, ge=0, le=604_800)
    """How long the outcome and events of an execution can be fetched, and its `Idempotency-Key` is answered with the same."""
    kept_most: int = Field(default=2_000, ge=1, le=1_000_000)
    """Ended executions of one tenant whose outcome and events are kept; the oldest goes first."""
    kept_mb: int = Field(default=64, ge=1, le=1_048_576)
    """Memory, in MB, for what is kept of one tenant's ended executions; all tenants together have four times as much."""
    drain_seconds: float = Field(default=30.0, ge=0, le=86_400)
    """How long executions under way may go on after the service was told to end."""
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    """From which level on lines are logged."""

    @field_validator("hosts")
    @classmethod
    def _names_alone(cls, hosts: tuple[str, ...]) -> tuple[str, ...]:
        for host in hosts:
            if not re.fullmatch(r"[A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\]", host):
                raise ValueError(f"{host!r} is no name such as mill.example.com: leave out scheme, port and path")
        return tuple(host.lower() for host in hosts)

    @field_validator("origins")
    @classmethod
    def _exact_origins(cls, origins: tuple[str, ...]) -> tuple[str, ...]:
        for origin in origins:
            if not origin.startswith(("http://", "https://")) or "*" in origin or origin.count("/") != 2:
                raise ValueError(f"{origin!r} is no origin such as https://ops.example.com")
        return origins
