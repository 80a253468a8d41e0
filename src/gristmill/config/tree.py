"""The frozen configuration tree, one section per room; with `config_read` the only reader of configuration files and environment.

Order, later wins: defaults, the TOML file, the environment (``GRISTMILL_SANDBOX__WARM=4``), keyword overrides (flags).
An unknown key is refused: a misspelt limit must not silently be no limit.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, Field, ValidationError, field_validator

from gristmill.config.sections.base import Section, defaults
from gristmill.config.sections.catalog_section import CatalogConfig
from gristmill.config.sections.guard_section import GuardConfig
from gristmill.config.sections.mask_section import FlowsConfig, MaskConfig
from gristmill.config.sections.policy_section import PolicyConfig
from gristmill.config.sections.quota_section import QuotaConfig
from gristmill.config.sections.records_section import RecordsConfig
from gristmill.config.sections.serve_section import ServeConfig
from gristmill.config.sections.servers_section import REFERENCE, ServersConfig, looks_secret
from gristmill.config.sections.session_section import SessionsConfig, SkillsConfig
from gristmill.config.sections.shaping_section import ShapingConfig
from gristmill.config.sources import DEFAULT_FILE as DEFAULT_FILE
from gristmill.config.sources import default_state_dir as default_state_dir
from gristmill.config.sources import merged, read_tree
from gristmill.errors import ConfigError
from gristmill.loading import loading
from gristmill.model import Limits

PRELOAD = (
    "ast", "asyncio", "base64", "bisect", "calendar", "collections", "concurrent.futures", "contextlib",
    "copy", "csv", "dataclasses", "datetime", "decimal", "enum", "fractions", "functools", "glob", "hashlib",
    "heapq", "inspect", "io", "itertools", "json", "logging", "math", "operator", "os", "pathlib",
    "random", "re", "shutil", "sqlite3", "statistics", "string", "struct", "subprocess", "tempfile",
    "textwrap", "threading", "time", "traceback", "types", "typing", "urllib.parse", "uuid", "weakref",
    "zlib", "zoneinfo",
)  # fmt: skip
"""Imported once in the template, so that programs of the kind models write pay nothing for them."""


class LimitsConfig(Section):
    """What one execution may use. A caller may ask for less, never for more."""

    seconds: float = Field(default=30.0, gt=0, le=86_400)
    """Wall-clock seconds, kept by the host."""
    cpu_seconds: float = Field(default=30.0, gt=0, le=86_400)
    """CPU seconds of all processes of the execution together."""
    cpu_percent: int = Field(default=100, ge=1, le=10_000)
    """Share of one CPU in percent (50 is half a core). Needs cgroups; `gristmill doctor` says whether it is in force."""
    memory_mb: int = Field(default=256, ge=16, le=1_048_576)
    """Memory in MB, files in the private workspace and /tmp included."""
    processes: int = Field(default=64, ge=1, le=32_768)
    """Processes and threads at any one time."""
    open_files: int = Field(default=256, ge=32, le=65_536)
    """Open file descriptors per process."""
    workspace_mb: int = Field(default=100, ge=1, le=1_048_576)
    """Bytes of all files in the workspace, in MB."""
    workspace_files: int = Field(default=10_000, ge=10, le=10_000_000)
    """Files and folders in the workspace."""
    file_mb: int = Field(default=10, ge=1, le=1_048_576)
    """Size of any one file, in MB."""
    output_bytes: int = Field(default=1_000_000, ge=1_000, le=100_000_000)
    """Bytes kept of stdout and stderr together; past that the head and the tail are kept."""
    result_bytes: int = Field(default=8_000_000, ge=1_000, le=100_000_000)
    """Bytes of the result as JSON."""
    calls: int = Field(default=1_000, ge=0, le=10_000_000)
    """Tool calls."""
    call_bytes: int = Field(default=64_000_000, ge=1_000, le=10_000_000_000)
    """Bytes of tool-call arguments and results together."""

    def values(self) -> Limits:
        """The same as the value that the rooms speak of."""
        return Limits(**dict(self))  # `model_dump` would build a serializer for this section first


class SandboxConfig(Section):
    """Where code runs."""

    isolation: Literal["namespaces", "landlock", "auto"] = "namespaces"
    """The level that must be in force. `auto` takes the best that this host offers and says which in every outcome."""
    warm: int = Field(default=4, ge=0, le=1_024)
    """Sealed children that wait for code."""
    concurrency: int = Field(default=32, ge=1, le=4_096)
    """Executions at the same time; further ones wait their turn in order of arrival."""
    cgroups: Literal["auto", "require", "off"] = "auto"
    """`auto` uses what the host lets us, `require` refuses to start without, `off` never uses them."""
    limits: LimitsConfig = defaults()
    """Limits of one execution."""
    packages: tuple[str, ...] = ()
    """Python packages that code may import, as pip requirements; installed once with `gristmill packages install`."""
    venv: Path | None = None
    """A virtual environment (same Python version) whose packages code may import, instead of `packages`."""
    preload: tuple[str, ...] = PRELOAD
    """Modules imported once in the template, so that importing them costs nothing. They must not start threads."""
    preload_packages: tuple[str, ...] = ()
    """Modules of `packages` or `venv` to import once in the template as well, such as `pandas`."""
    session_idle_seconds: float = Field(default=900.0, ge=0, le=604_800)
    """How long a session's interpreter is kept without use."""
    sessions_kept: int = Field(default=32, ge=0, le=4_096)
    """How many sessions' interpreters are kept; the one used longest ago goes first."""
    sessions_memory_mb: int = Field(default=1_024, ge=16, le=1_048_576)
    """Memory of all kept interpreters together; the one used longest ago goes first."""

    @field_validator("packages")
    @classmethod
    def _no_pip_options(cls, packages: tuple[str, ...]) -> tuple[str, ...]:
        # An entry such as "--index-url=..." would reach pip as an option and change where code comes from.
        for requirement in packages:
            if not requirement.strip() or requirement.strip().startswith("-"):
                raise ValueError(f"{requirement!r} is not a package requirement")
        return packages


class StoreConfig(Section):
    """Where state lives."""

    path: Path | None = None
    """Folder for workspaces and records; empty means `$XDG_STATE_HOME/gristmill` or `~/.local/state/gristmill`."""
    url: str | None = None
    """PostgreSQL instead of SQLite, such as `postgresql://mill:${env:PGPASSWORD}@db/mill`; needs `gristmill[postgres]`."""
    sync: Literal["normal", "full"] = "normal"
    """When SQLite forces the disk: `normal` survives the death of the process, `full` also a power cut, for slower writes."""
    key: str | None = None
    """Reference to the key (32 bytes or more, as text) that seals and signs records; empty makes a key file in `path`."""

    @field_validator("url")
    @classmethod
    def _an_address_without_secrets(cls, url: str | None) -> str | None:
        if url is not None and not REFERENCE.fullmatch(url) and not url.startswith(("postgresql://", "postgres://")):
            raise ValueError("an address begins with postgresql://")
        if url is not None and (looks_secret("url", url) or re.search(r"[?&](ssl)?password=(?!\$\{)", url)):
            raise ValueError("a password in plain text: write a reference such as ${env:PGPASSWORD} instead")
        return url

    @field_validator("key")
    @classmethod
    def _a_reference(cls, key: str | None) -> str | None:
        if key is not None and not REFERENCE.fullmatch(key):
            raise ValueError("a key in plain text: write a reference such as ${env:GRISTMILL_KEY} instead")
        return key


class Config(Section):
    """The whole tree. Empty is safe: no servers, nothing allowed, full isolation."""

    servers: ServersConfig = Field(default_factory=dict)
    """Tool servers by name. Empty offers no tools."""
    catalog: CatalogConfig = defaults()
    """What is learned about tools, and what happens to one that changes."""
    sandbox: SandboxConfig = defaults()
    """Where code runs."""
    mask: MaskConfig = defaults()
    """Personal data and secrets are replaced by placeholders."""
    flows: FlowsConfig = defaults()
    """What may not go from one server to another."""
    store: StoreConfig = defaults()
    """Where state lives."""
    records: RecordsConfig = defaults()
    """What is recorded, and for how long."""
    policy: PolicyConfig = defaults()
    """Which tool calls may leave."""
    quota: QuotaConfig = defaults()
    """How much may leave in a while."""
    guard: GuardConfig = defaults()
    """House rules for code."""
    shaping: ShapingConfig = defaults()
    """What goes back to the model."""
    sessions: SessionsConfig = defaults()
    """What is kept of sessions, and for how long."""
    skills: SkillsConfig = defaults()
    """Functions that code saves for later."""
    serve: ServeConfig = defaults()
    """Who may come in by HTTP, and how much of it."""

    @property
    def state_dir(self) -> Path:
        """The folder that holds everything Gristmill keeps."""
        return self.store.path or default_state_dir()


def load_config(file: str | Path | None = None, **overrides: Mapping[str, Any]) -> Config:
    """Read ``file`` (or ``gristmill.toml`` here, if there is one) and the environment.

    A client's own file (`.mcp.json`, `claude_desktop_config.json` and their kin) is taken as the `servers` section.

    Raises:
        ConfigError: a file that cannot be read, an unknown key, a value out of range.
    """
    try:
        with loading():
            return Config(**merged(read_tree(file), overrides))
    except ValidationError as error:
        raise ConfigError(_explain(error, file)) from None


def _explain(error: ValidationError, file: str | Path | None) -> str:
    lines = [f"the configuration {f'in {file} ' if file else ''}cannot be used:"]
    for problem in error.errors(include_url=False):
        key = ".".join(str(part) for part in problem["loc"])
        if problem["type"] == "extra_forbidden":
            lines.append(f"  {key}: unknown key{_near(problem['loc'])}")
        else:
            lines.append(f"  {key}: {problem['msg']}")
    return "\n".join(lines)


def _near(location: tuple[int | str, ...]) -> str:
    import difflib  # only needed to word an error

    section: type[BaseModel] | None = Config
    for part in location[:-1]:
        annotation = section.model_fields[str(part)].annotation if section and str(part) in section.model_fields else None
        section = annotation if isinstance(annotation, type) and issubclass(annotation, BaseModel) else None
    if section is None:
        return ""
    near = difflib.get_close_matches(str(location[-1]), section.model_fields, n=1)
    return f"; did you mean {near[0]}?" if near else f"; known keys: {', '.join(sorted(section.model_fields))}"
