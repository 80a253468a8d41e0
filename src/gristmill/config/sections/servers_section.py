"""The `servers` section of the configuration: one value per tool server.

It never holds secrets. Values hold references (`${env:NAME}`, `${keyring:service/name}`) that are resolved when a connection
is made. A secret in plain text is refused where one is recognized, so a configuration can be printed safely.
"""

import difflib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal, Self, cast

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from gristmill.config.sections.base import Section
from gristmill.config.sections.programs_section import VariablePattern

RESERVED_NAMES = frozenset({"skills", "gristmill"})
"""Server names that have another meaning in a tool key."""

SERVER_NAME_PATTERN = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
SECRET_REFERENCE = re.compile(r"\$\{(env|keyring):([^{}]+)\}")

_JOINED_TABLES = ("env", "headers")
_TABLE_SPELLINGS = {
    "env": "env", "environment": "env", "envs": "env", "headers": "headers", "oauth": "oauth", "auth": "oauth",
    "confine": "confine", "confinement": "confine",
}  # fmt: skip
"""What people may write for the tables of a server's own settings."""
_SECRET_KEY = re.compile(r"(?i)(token|secret|passw(or)?d|(api|private|access)[-_]?key|credential|authorization|cookie)")
_SECRET_URL = re.compile(r"://[^/\s:@]*:[^/\s@$]+@")
_AUTH_SCHEME = re.compile(r"(?i)^(bearer|basic|token)\s*$")


def names_secret(key: str) -> bool:
    """Tells whether the value under ``key`` is probably a secret, such as a password or a token."""
    return _SECRET_KEY.search(key) is not None


def looks_secret(key: str, value: str) -> bool:
    """Tells whether ``value`` under ``key`` is probably a secret in plain text."""
    rest = SECRET_REFERENCE.sub("", value).strip()
    if _SECRET_URL.search(value):
        return True
    if not names_secret(key):
        return False
    # "Bearer ${env:TOKEN}" without its reference is only the scheme; an empty value or a path to a file is not a secret.
    return bool(rest) and not _AUTH_SCHEME.match(rest) and not rest.startswith(("/", "./", "~/"))


def _check_server_name(name: str) -> str:
    if not SERVER_NAME_PATTERN.fullmatch(name):
        raise ValueError("a server's name is a letter, then letters, digits, _ or - (at most 64 characters)")
    if name in RESERVED_NAMES:
        raise ValueError(f"the name {name!r} is reserved by Gristmill: choose another name")
    return name


ServerName = Annotated[str, AfterValidator(_check_server_name)]


class OAuthConfig(Section):
    """How to log in to an HTTP server. An empty table is enough for most servers: all values are discovered."""

    scopes: tuple[str, ...] = ()
    """Scopes to ask for; empty asks for those that the server names."""
    client_id: str | None = None
    """Id of a client registered by hand; empty uses a metadata document, or else dynamic registration."""
    client_secret: str | None = None
    """Reference to the secret of that client, such as `${env:CRM_CLIENT_SECRET}`."""
    client_metadata_url: str | None = None
    """HTTPS address of your client id metadata document."""
    callback_port: int = Field(default=0, ge=0, le=65_535)
    """Port on the loopback address to which the browser returns after the login; 0 takes a free one."""


class ConfineConfig(Section):
    """Confinement of a server's program. An empty table is the strictest: it reads programs and libraries only; no network."""

    read: tuple[str, ...] = ()
    """Folders and files that it may read, with programs in them that it may start; `~` and references are resolved."""
    write: tuple[str, ...] = ()
    """Folders and files that it may read and change; a path that is not absolute is taken from `cwd`."""
    network: bool = False
    """Whether it may open connections over IP. Unix sockets of this machine are always refused."""
    user: str | None = None
    """User that it runs as if Gristmill runs as root; empty means `nobody`, or root if `nobody` cannot use what it needs."""


class ServerConfig(Section):
    """One tool server. Exactly one of `command`, `url`, `openapi` and `python` is set and says which kind it is."""

    command: str | None = None
    """Program that speaks MCP on its standard input and output."""
    args: tuple[str, ...] = ()
    """Its arguments; references are resolved."""
    env: dict[str, str] = Field(default_factory=dict[str, str])
    """Its environment variables, beside PATH, HOME, LANG and those of `env_pass`, here and under [programs]."""
    env_pass: tuple[VariablePattern, ...] = ()
    """More variables of Gristmill's environment that its program gets, such as `AWS_*`; `programs.env_pass` is for all."""
    cwd: Path | None = None
    """Its working directory."""
    confine: ConfineConfig | None = None
    """Confines the program: `{}` is the strictest, `read`, `write` and `network` permit more. Unset, it has all your rights."""
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
    """Address of the API of `openapi`, when its document names none or another one should be used."""
    reads: tuple[str, ...] = ()
    """Patterns (`query_*`) of operations of `openapi` that only read, although their method is POST."""
    python: str | None = None
    """An importable module; each public function becomes a tool."""
    enabled: bool = True
    """Whether the server is used at all."""
    connect: Literal["lazy", "background"] = "lazy"
    """`lazy` connects on the first call (or at start if its tools are not known yet), `background` always at start."""
    era: Literal["auto", "legacy"] = "auto"
    """`legacy` skips the probe for the 2026-07-28 revision; `auto` probes once and remembers."""
    connect_seconds: float = Field(default=30.0, gt=0, le=600)
    """Seconds that start, handshake and first listing may take together."""
    call_seconds: float = Field(default=60.0, gt=0, le=86_400)
    """Seconds that one call may take; waiting for a person's answer does not count."""
    health_seconds: float = Field(default=60.0, ge=0, le=86_400)
    """Idle seconds between two health checks; 0 turns them off."""
    message_mb: int = Field(default=32, ge=1, le=1_024)
    """Largest answer that is read, in MB; a call with a larger answer fails."""
    message_values: int = Field(default=1_000_000, ge=1_000, le=50_000_000)
    """Most values (list items and object members) in one answer; a call with more fails. A million take up to 200 MB."""
    check_output: bool = True
    """Whether structured results are checked against the tool's output schema."""
    include: tuple[str, ...] = ()
    """Patterns (`get_*`) of tools to offer; empty offers all."""
    exclude: tuple[str, ...] = ()
    """Patterns of tools to leave out; `exclude` wins over `include`."""

    @model_validator(mode="after")
    def _require_one_kind(self) -> Self:
        kinds = [kind for kind in ("command", "url", "openapi", "python") if getattr(self, kind)]
        if len(kinds) != 1:
            raise ValueError(f"exactly one of command, url, openapi and python is needed, not {kinds or 'none'}")
        return self

    @model_validator(mode="after")
    def _refuse_confine_without_command(self) -> Self:
        if self.confine is not None and not self.command:
            raise ValueError("confine is for a program that Gristmill starts: it needs `command`")
        return self

    @model_validator(mode="after")
    def _refuse_env_pass_without_command(self) -> Self:
        if self.env_pass and not self.command:
            raise ValueError("env_pass is for a program that Gristmill starts: it needs `command`")
        return self

    @model_validator(mode="after")
    def _refuse_reads_without_openapi(self) -> Self:
        if self.reads and not self.openapi:
            raise ValueError("reads is for the operations of `openapi`; write a policy rule for tools of other servers")
        return self

    @model_validator(mode="after")
    def _refuse_plain_secrets(self) -> Self:
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
        """The kind of server: what has to be started or reached."""
        if self.command:
            return "stdio"
        if self.url:
            return self.transport
        return "openapi" if self.openapi else "python"


def expand_accounts(servers: object) -> object:
    """Returns the table of servers with one server for each account: `[servers.gmail.work]` becomes the server `gmail_work`.

    An account has what its server says, and what its own table says instead; `env` and `headers` are joined. A server with
    accounts is none by itself.

    Raises:
        ValueError: an account has a name that cannot be used, or that another server has.
    """
    if not isinstance(servers, Mapping):
        return servers
    found: dict[str, object] = {}
    for name, server in cast("Mapping[str, object]", servers).items():
        accounts = _find_accounts(server)
        if not accounts:
            found[name] = server
            continue
        base = {key: value for key, value in cast("Mapping[str, object]", server).items() if key not in accounts}
        for account, own in accounts.items():
            if not SERVER_NAME_PATTERN.fullmatch(account):
                raise ValueError(f"{name}.{account}: the name of an account is a letter, then letters, digits, _ or -")
            if near := difflib.get_close_matches(account.lower(), _TABLE_SPELLINGS, n=1, cutoff=0.75):
                # Else a misspelt `confine` would be an account, and the server would run unconfined.
                raise ValueError(
                    f"{name}.{account}: unknown key; did you mean {_TABLE_SPELLINGS[near[0]]}? (accounts need other names)"
                )
            if f"{name}_{account}" in servers:
                raise ValueError(
                    f"{name}.{account} becomes the server {name}_{account}, which exists already: choose another name"
                )
            joined = {key: {**_as_table(base.get(key)), **_as_table(own[key])} for key in _JOINED_TABLES if key in own}
            found[f"{name}_{account}"] = {**base, **own, **joined}
    return found


def _find_accounts(server: object) -> dict[str, Mapping[str, object]]:
    """Returns the tables in the table of a server that are no settings of it."""
    return {
        key: cast("Mapping[str, object]", value)
        for key, value in _as_table(server).items()
        if isinstance(value, Mapping) and key not in ServerConfig.model_fields
    }


def _as_table(value: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", value) if isinstance(value, Mapping) else {}


ServersConfig = Annotated[dict[ServerName, ServerConfig], BeforeValidator(expand_accounts)]
