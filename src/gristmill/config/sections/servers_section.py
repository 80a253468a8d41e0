"""The `servers` section of the configuration: one value per tool server. Ground below `config`, which reads the files.

Secrets never stand here. Values hold references (`${env:NAME}`, `${keyring:service/name}`) that are resolved when a
connection is made; a literal where a secret is expected is refused, so printing a configuration is always safe.
"""

import re
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from gristmill.config.sections.base import Section

RESERVED_NAMES = frozenset({"skills", "gristmill"})
"""Names that mean something else in a tool key."""

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
REFERENCE = re.compile(r"\$\{(env|keyring):([^{}]+)\}")

_SECRET_KEY = re.compile(r"(?i)(token|secret|passw(or)?d|(api|private|access)[-_]?key|credential|authorization|cookie)")
_SECRET_URL = re.compile(r"://[^/\s:@]*:[^/\s@$]+@")
_AUTH_SCHEME = re.compile(r"(?i)^(bearer|basic|token)\s*$")


def looks_secret(key: str, value: str) -> bool:
    """Whether ``value`` under ``key`` is a secret in plain text."""
    rest = REFERENCE.sub("", value).strip()
    if _SECRET_URL.search(value):
        return True
    if not _SECRET_KEY.search(key):
        return False
    # "Bearer ${env:TOKEN}" leaves only the scheme; an empty value or a path to a file is no secret.
    return bool(rest) and not _AUTH_SCHEME.match(rest) and not rest.startswith(("/", "./", "~/"))


def _checked_name(name: str) -> str:
    if not NAME.fullmatch(name):
        raise ValueError("a server's name is a letter, then letters, digits, _ or - (at most 64)")
    if name in RESERVED_NAMES:
        raise ValueError(f"the name {name!r} is taken by Gristmill itself")
    return name


ServerName = Annotated[str, AfterValidator(_checked_name)]


class OAuthConfig(Section):
    """How to log in to an HTTP server. Empty is enough for most: everything else is discovered."""

    scopes: tuple[str, ...] = ()
    """Scopes to ask for; empty asks for what the server says it needs."""
    client_id: str | None = None
    """A client registered by hand; empty means a metadata document, or dynamic registration as a last resort."""
    client_secret: str | None = None
    """Reference to the secret of that client, such as `${env:CRM_CLIENT_SECRET}`."""
    client_metadata_url: str | None = None
    """HTTPS address of your client id metadata document."""
    callback_port: int = Field(default=0, ge=0, le=65_535)
    """Port of the loopback address the browser comes back to; 0 takes a free one."""


class ConfineConfig(Section):
    """The walls around a server's program. Empty is the tightest: it reads programs and libraries, nothing else; no network."""

    read: tuple[str, ...] = ()
    """Folders and files that it may read, and programs in them that it may start; `~` and references are resolved."""
    write: tuple[str, ...] = ()
    """Folders and files that it may read and change; a path that is not absolute is taken from `cwd`."""
    network: bool = False
    """Whether it may open connections over IP. Unix sockets of this machine stay closed either way."""


class ServerConfig(Section):
    """One tool server. Exactly one of `command`, `url`, `openapi` and `python` says what it is."""

    command: str | None = None
    """Program that speaks MCP on its standard input and output."""
    args: tuple[str, ...] = ()
    """Its arguments; references are resolved."""
    env: dict[str, str] = Field(default_factory=dict[str, str])
    """Its environment, beside PATH, HOME and LANG. Nothing else of ours is passed on."""
    cwd: Path | None = None
    """Its working directory."""
    confine: ConfineConfig | None = None
    """Walls around the program: `{}` is the tightest, `read`, `write` and `network` open it. Without, it has all your rights."""
    url: str | None = None
    """Address of an MCP server over HTTP."""
    transport: Literal["http", "sse"] = "http"
    """`http` is streamable HTTP; `sse` is the older transport of 2024-11-05."""
    headers: dict[str, str] = Field(default_factory=dict[str, str])
    """Sent with every request to `url` or to the API of `openapi`."""
    oauth: OAuthConfig | None = None
    """Log in with OAuth, once, by `gristmill login NAME`; `{}` discovers everything."""
    openapi: str | None = None
    """Path or address of an OpenAPI 3 document; each operation becomes a tool."""
    base_url: str | None = None
    """Where the API of `openapi` is, when its document does not say or should be overruled."""
    python: str | None = None
    """An importable module; each public function becomes a tool."""
    enabled: bool = True
    """Whether the server is used at all."""
    connect: Literal["lazy", "background"] = "lazy"
    """`lazy` connects on the first call (or at once when its tools are not known yet), `background` at start."""
    era: Literal["auto", "legacy"] = "auto"
    """`legacy` skips the probe for the 2026-07-28 revision; `auto` probes once and remembers."""
    connect_seconds: float = Field(default=30.0, gt=0, le=600)
    """How long start, handshake and first listing may take together."""
    call_seconds: float = Field(default=60.0, gt=0, le=86_400)
    """How long one call may take; waiting for a person's answer does not count."""
    health_seconds: float = Field(default=60.0, ge=0, le=86_400)
    """Idle seconds between two health checks; 0 never checks."""
    message_mb: int = Field(default=32, ge=1, le=1_024)
    """Largest answer that is read; a larger one fails its call."""
    check_output: bool = True
    """Whether structured results are checked against the tool's output schema."""
    include: tuple[str, ...] = ()
    """Patterns (`get_*`) of tools to offer; empty offers all."""
    exclude: tuple[str, ...] = ()
    """Patterns of tools to leave out; wins over `include`."""

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        kinds = [kind for kind in ("command", "url", "openapi", "python") if getattr(self, kind)]
        if len(kinds) != 1:
            raise ValueError(f"exactly one of command, url, openapi and python is needed, not {kinds or 'none'}")
        return self

    @model_validator(mode="after")
    def _only_programs_are_confined(self) -> Self:
        if self.confine is not None and not self.command:
            raise ValueError("confine is for a program that Gristmill starts: it needs `command`")
        return self

    @model_validator(mode="after")
    def _no_plain_secrets(self) -> Self:
        pairs = [("env." + key, value) for key, value in self.env.items()]
        pairs += [("headers." + key, value) for key, value in self.headers.items()]
        pairs += [("args", value) for value in self.args]
        pairs += [("oauth.client_secret", self.oauth.client_secret or "")] if self.oauth else []
        pairs += [("url", self.url or ""), ("base_url", self.base_url or "")]
        for key, value in pairs:
            if looks_secret(key, value):
                raise ValueError(
                    f"{key} holds a secret in plain text; put it into the environment or the keyring "
                    "and write ${env:NAME} or ${keyring:service/name}"
                )
        return self

    @property
    def kind(self) -> Literal["stdio", "http", "sse", "openapi", "python"]:
        """What has to be started or reached."""
        if self.command:
            return "stdio"
        if self.url:
            return self.transport
        return "openapi" if self.openapi else "python"


ServersConfig = dict[ServerName, ServerConfig]
