"""The `serve` section of the configuration: who may use the HTTP service, and how much."""

import re
from typing import Literal

from pydantic import Field, JsonValue, field_validator

from gristmill.config.sections.base import Section, use_section_defaults

Scope = Literal["execute", "read", "approve", "admin", "reveal"]


class JwtConfig(Section):
    """Tokens of an identity provider (OpenID Connect). With an empty `issuer` no such token is accepted."""

    issuer: str = ""
    """The `iss` that a token must have, such as `https://login.example.com/`."""
    audience: str = "gristmill"
    """The `aud` that a token must have."""
    jwks_url: str = ""
    """Address of the provider's keys (https, or this machine); empty asks `<issuer>/.well-known/openid-configuration`."""
    algorithms: tuple[Literal["RS256", "RS384", "RS512", "ES256", "ES384", "ES512", "PS256", "EdDSA"], ...] = ("RS256", "ES256")
    """Signature algorithms that are accepted; those with a shared secret cannot be chosen."""
    tenant_claim: str = "tenant"
    """The claim that names the tenant; a token without it is refused."""
    scope_claim: str = "scope"
    """The claim that lists scopes, as a list or as words in one text; scopes that Gristmill does not know are ignored."""
    scope_prefix: str = "gristmill:"
    """Prefix of Gristmill's scopes in that claim, as in `gristmill:execute`."""


class ServeConfig(Section):
    """Who may use the HTTP service, and how much."""

    direct_calls: bool = False
    """Whether MCP clients get a third tool, `call_tool`, that makes one call without a program."""
    contexts: dict[str, dict[str, JsonValue]] = Field(default_factory=dict[str, dict[str, JsonValue]])
    """Values that programs of a caller read as `context.NAME`, by the name of the caller (`local` is the user of this machine).
    They win over what a request passes as `context`."""
    host: str = "127.0.0.1"
    """Address to listen on. Any address other than this machine's own (loopback) needs tokens."""
    port: int = Field(default=8030, ge=0, le=65_535)
    """Port to listen on; 0 takes a free one."""
    public_url: str = ""
    """Address at which people reach this service, such as `https://mill.example.com`; texts that ask for an approval name it.
    Empty means the address on which the service listens, if that is this machine's own."""
    require_token: bool = False
    """Whether requests from this machine need a token, too."""
    local_scopes: tuple[Scope, ...] = ("execute", "read", "admin")
    """Scopes of requests from this machine without a token. `approve` and `reveal` are left out: the agent runs here, too."""
    hosts: tuple[str, ...] = ()
    """Further host names by which clients address this service (`Host` header), such as `mill.example.com`."""
    origins: tuple[str, ...] = ()
    """Other origins whose web pages may use this service, such as `https://ops.example.com`. Its own pages always may."""
    jwt: JwtConfig = use_section_defaults()
    """Tokens of an identity provider."""
    body_bytes: int = Field(default=8_000_000, ge=1_000, le=1_000_000_000)
    """Largest body of a request in bytes; uploaded files have the limits of their workspace instead."""
    header_bytes: int = Field(default=32_768, ge=1_024, le=1_048_576)
    """Largest size of request line and headers together, in bytes."""
    request_seconds: float = Field(default=20.0, gt=0, le=3_600)
    """Seconds that a client may take to send its headers, and again for its body. A client that takes less than 10,000 bytes of
    its answer in this time is disconnected."""
    connections: int = Field(default=4_096, ge=1, le=100_000)
    """Connections at the same time; a further one replaces the one that has waited longest for a request, or is answered 503."""
    concurrency: int = Field(default=0, ge=0, le=4_096)
    """Executions of one tenant at the same time; 0 means as many as `sandbox.concurrency`."""
    waiting: int = Field(default=2_000, ge=0, le=100_000)
    """Executions of one tenant that may wait for their turn; further ones are answered 429."""
    waiting_seconds: float = Field(default=120.0, gt=0, le=86_400)
    """Seconds that an execution waits for its turn before it is answered 429."""
    requests_per_minute: int = Field(default=0, ge=0, le=10_000_000)
    """Requests of one tenant in a minute; 0 is no limit."""
    background: int = Field(default=256, ge=1, le=100_000)
    """Background executions of one tenant that may run or wait at the same time."""
    kept_seconds: float = Field(default=900.0, ge=0, le=604_800)
    """Seconds that outcome and events of an execution stay in memory; outcomes that were promised are stored for longer."""
    kept_most: int = Field(default=2_000, ge=1, le=1_000_000)
    """Ended executions of one tenant whose outcome and events are kept; the oldest is dropped first."""
    kept_mb: int = Field(default=64, ge=1, le=1_048_576)
    """Memory in MB for the kept outcomes and events of one tenant; all tenants together have four times as much."""
    drain_seconds: float = Field(default=30.0, ge=0, le=86_400)
    """Seconds that running executions may go on after the service was told to stop."""
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    """The lowest level that is logged."""

    @field_validator("hosts")
    @classmethod
    def _check_host_names(cls, hosts: tuple[str, ...]) -> tuple[str, ...]:
        for host in hosts:
            if not re.fullmatch(r"[A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\]", host):
                raise ValueError(f"{host!r} is not a host name such as mill.example.com: leave out scheme, port and path")
        return tuple(host.lower() for host in hosts)

    @field_validator("public_url")
    @classmethod
    def _check_public_url(cls, url: str) -> str:
        if url and (not url.startswith(("http://", "https://")) or any(letter.isspace() or letter in "?#@" for letter in url)):
            raise ValueError(
                f"{url!r} is not an address such as https://mill.example.com: write scheme and host, and a path at most"
            )
        return url

    @field_validator("origins")
    @classmethod
    def _check_origins(cls, origins: tuple[str, ...]) -> tuple[str, ...]:
        for origin in origins:
            if not origin.startswith(("http://", "https://")) or "*" in origin or origin.count("/") != 2:
                raise ValueError(
                    f"{origin!r} is not an origin such as https://ops.example.com: write scheme and host, no path and no *"
                )
        return origins
