"""The frozen configuration tree with one section per room. Only this module and `config.sources` read files and environment.

Sources, of which a later one wins: defaults, variables of other executors (``EXECUTION_TIMEOUT``), the user's own TOML file
(``~/.config/gristmill/gristmill.toml``), the project's, the environment (``GRISTMILL_SANDBOX__WARM=4``), keyword overrides
(flags). An unknown key is refused: otherwise a misspelt limit would silently be no limit.
"""

import difflib
import logging
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, ValidationError, field_validator

from gristmill.config.foreign_variables import FOREIGN_VARIABLES, find_unknown_variables
from gristmill.config.sections.base import Section, use_section_defaults
from gristmill.config.sections.catalog_section import CatalogConfig
from gristmill.config.sections.chat_section import ChatConfig
from gristmill.config.sections.flows_section import FlowsConfig
from gristmill.config.sections.guard_section import GuardConfig
from gristmill.config.sections.mask_section import MaskConfig
from gristmill.config.sections.policy_section import PolicyConfig
from gristmill.config.sections.programs_section import ProgramsConfig
from gristmill.config.sections.quota_section import QuotaConfig
from gristmill.config.sections.records_section import RecordsConfig
from gristmill.config.sections.rollout_section import RolloutConfig
from gristmill.config.sections.serve_section import ServeConfig
from gristmill.config.sections.servers_section import SECRET_REFERENCE, ServersConfig, looks_secret
from gristmill.config.sections.session_section import SessionsConfig, SkillsConfig
from gristmill.config.sections.shaping_section import ShapingConfig
from gristmill.config.sources import find_default_state_dir, merge_trees, read_tree
from gristmill.errors import ConfigError
from gristmill.model import Limits

log = logging.getLogger(__name__)

PROGRAM_PATTERN = r"^([A-Za-z0-9][A-Za-z0-9._+-]{0,63}|\[)$"
"""A program is given by its name alone: a path could lead into a folder that others write into."""
PRELOADED_MODULES = (
    "ast", "asyncio", "base64", "bisect", "calendar", "collections", "concurrent.futures", "contextlib",
    "copy", "csv", "dataclasses", "datetime", "decimal", "enum", "fractions", "functools", "glob", "hashlib",
    "heapq", "inspect", "io", "itertools", "json", "logging", "math", "operator", "os", "pathlib",
    "random", "re", "shutil", "sqlite3", "statistics", "string", "struct", "subprocess", "tempfile",
    "textwrap", "threading", "time", "traceback", "types", "typing", "urllib.parse", "uuid", "weakref",
    "zlib", "zoneinfo",
)  # fmt: skip
"""Modules imported once in the template process, so that importing them costs a program nothing; models use them often."""


class LimitsConfig(Section):
    """The limits of one execution. A caller may ask for less, never for more."""

    seconds: float = Field(default=30.0, gt=0, le=86_400)
    """Wall-clock seconds, measured by the host."""
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
    """Bytes kept of stdout and stderr together; of longer output the beginning and the end are kept."""
    result_bytes: int = Field(default=8_000_000, ge=1_000, le=100_000_000)
    """Bytes of the result as JSON."""
    calls: int = Field(default=1_000, ge=0, le=10_000_000)
    """Number of tool calls."""
    call_bytes: int = Field(default=64_000_000, ge=1_000, le=10_000_000_000)
    """Bytes of tool-call arguments and results together."""

    def to_limits(self) -> Limits:
        """Returns these limits as the value that the rest of Gristmill uses."""
        return Limits(**dict(self))  # not `model_dump`, which would first build a serializer for this section


class TypeScriptConfig(Section):
    """The sandboxes for TypeScript; they need `gristmill[typescript]` and are started with the first program."""

    warm: int = Field(default=1, ge=0, le=64)
    """Sandboxes for TypeScript that wait for code, once the first program has run."""
    jit: bool = False
    """Whether V8 may compile code at run time: long computations get faster, and memory may be writable and executable."""


class SandboxConfig(Section):
    """The sandbox in which code runs."""

    isolation: Literal["namespaces", "landlock", "auto"] = "namespaces"
    """The isolation that must be in force. `auto` takes the best that this host offers; each outcome says which that is."""
    warm: int = Field(default=4, ge=0, le=1_024)
    """Sandboxes that are started in advance and wait for code."""
    concurrency: int = Field(default=32, ge=1, le=4_096)
    """Executions at the same time; further ones wait and run in order of arrival."""
    cgroups: Literal["auto", "require", "off"] = "auto"
    """`auto` uses cgroups where the host permits it, `require` refuses to start without them, `off` never uses them."""
    limits: LimitsConfig = use_section_defaults()
    """Limits of one execution."""
    packages: tuple[str, ...] = ()
    """Python packages that code may import, as pip requirements; installed once with `gristmill packages install`."""
    venv: Path | None = None
    """A virtual environment (same Python version) whose packages code may import, instead of `packages`."""
    preload: tuple[str, ...] = PRELOADED_MODULES
    """Modules imported once, before any code runs, so that importing them costs nothing. They must not start threads."""
    preload_packages: tuple[str, ...] = ()
    """Modules of `packages` or `venv` to import once in the same way, such as `pandas`."""
    programs: tuple[Annotated[str, Field(pattern=PROGRAM_PATTERN)], ...] = ()
    """Programs of this machine that code may start, such as `git`; `shell` stands for sh and the usual small programs. They run
    under the same walls: without a network, without the machine's files."""
    session_idle_seconds: float = Field(default=900.0, ge=0, le=604_800)
    """Seconds that a session's interpreter is kept without use."""
    sessions_kept: int = Field(default=32, ge=0, le=4_096)
    """How many sessions' interpreters are kept; the one used longest ago is ended first."""
    sessions_memory_mb: int = Field(default=1_024, ge=16, le=1_048_576)
    """Memory of all kept interpreters together; the one used longest ago is ended first."""
    typescript: TypeScriptConfig = use_section_defaults()
    """Programs in TypeScript."""

    @field_validator("packages")
    @classmethod
    def _refuse_pip_options(cls, packages: tuple[str, ...]) -> tuple[str, ...]:
        # An entry such as "--index-url=..." would reach pip as an option and change where code comes from.
        for requirement in packages:
            if not requirement.strip() or requirement.strip().startswith("-"):
                raise ValueError(f"{requirement!r} is not a package requirement")
        return packages


class StoreConfig(Section):
    """Where Gristmill keeps its state."""

    path: Path | None = None
    """Folder for workspaces and records; empty means `$XDG_STATE_HOME/gristmill` or `~/.local/state/gristmill`. A relative path
    counts from the working directory of the process."""
    url: str | None = None
    """PostgreSQL instead of SQLite, such as `postgresql://mill:${env:PGPASSWORD}@db/mill`; needs `gristmill[postgres]`."""
    sync: Literal["normal", "full"] = "normal"
    """How safely SQLite writes: `normal` survives a crash of the process, `full` also a power cut, but writes more slowly."""
    key: str | None = None
    """Reference to the key (32 bytes or more, as text) that encrypts and signs records; empty creates a key file in `path`."""

    @field_validator("path")
    @classmethod
    def _make_absolute(cls, path: Path | None) -> Path | None:
        # Absolute from the start: sandboxes, servers and children of this process have other working directories.
        return None if path is None else path.expanduser().absolute()

    @field_validator("url")
    @classmethod
    def _check_address(cls, url: str | None) -> str | None:
        if url is not None and not SECRET_REFERENCE.fullmatch(url) and not url.startswith(("postgresql://", "postgres://")):
            raise ValueError("the address must begin with postgresql://")
        if url is not None and (looks_secret("url", url) or re.search(r"[?&](ssl)?password=(?!\$\{)", url)):
            raise ValueError("it holds a password in plain text: write a reference such as ${env:PGPASSWORD} instead")
        return url

    @field_validator("key")
    @classmethod
    def _require_reference(cls, key: str | None) -> str | None:
        if key is not None and not SECRET_REFERENCE.fullmatch(key):
            raise ValueError("it holds a key in plain text: write a reference such as ${env:GRISTMILL_KEY} instead")
        return key


class Config(Section):
    """The whole configuration. An empty one is safe: no servers, nothing allowed, full isolation."""

    servers: ServersConfig = Field(default_factory=dict)
    """Tool servers by name. An empty table offers no tools."""
    programs: ProgramsConfig = use_section_defaults()
    """What all programs of tool servers get from Gristmill's environment."""
    catalog: CatalogConfig = use_section_defaults()
    """What is learned about tools, and what happens when a tool's definition changes."""
    sandbox: SandboxConfig = use_section_defaults()
    """The sandbox in which code runs."""
    mask: MaskConfig = use_section_defaults()
    """Which personal data and secrets are replaced by placeholders."""
    flows: FlowsConfig = use_section_defaults()
    """Which values may not go from one server to another."""
    store: StoreConfig = use_section_defaults()
    """Where Gristmill keeps its state."""
    records: RecordsConfig = use_section_defaults()
    """What is recorded, and for how long."""
    policy: PolicyConfig = use_section_defaults()
    """Which tool calls may be sent."""
    quota: QuotaConfig = use_section_defaults()
    """How many calls and bytes may be sent in a period."""
    guard: GuardConfig = use_section_defaults()
    """Rules for code, beside the sandbox."""
    shaping: ShapingConfig = use_section_defaults()
    """How much of an outcome goes back to the model."""
    sessions: SessionsConfig = use_section_defaults()
    """What is kept of sessions, and for how long."""
    skills: SkillsConfig = use_section_defaults()
    """Functions that code saves for later use."""
    chat: ChatConfig = use_section_defaults()
    """The model in front of the tools."""
    serve: ServeConfig = use_section_defaults()
    """Who may use the HTTP service, and how much."""
    rollout: RolloutConfig = use_section_defaults()
    """A comparison of ways of working on real traffic, and a gradual change from one to another."""

    @property
    def state_dir(self) -> Path:
        """The folder that holds everything Gristmill keeps."""
        return self.store.path or find_default_state_dir().absolute()


def load_config(file: str | Path | None = None, **overrides: Mapping[str, Any]) -> Config:
    """Reads the user's own file, ``file`` (or ``gristmill.toml`` in the working directory, if there is one) and the environment.

    A file of an MCP client (`.mcp.json`, `claude_desktop_config.json` and similar) is read as the `servers` section.

    Raises:
        ConfigError: the file cannot be read, a key is unknown, or a value is out of range.
    """
    tree = read_tree(file)
    try:
        config = Config(**merge_trees(tree, overrides))
    except ValidationError as error:
        raise ConfigError(_explain_validation_error(error, file)) from None
    _warn_of_unknown_variables(tree)
    return config


_warned_of: set[str] = set()


def _warn_of_unknown_variables(tree: Mapping[str, Any]) -> None:
    """Warns once in a process of each variable that looks like ours and that nothing reads."""
    written = str(tree)
    for warning in find_unknown_variables(os.environ, _list_keys, lambda name: f"env:{name}" in written):
        if warning not in _warned_of:
            _warned_of.add(warning)
            log.warning("%s", warning)


def _list_keys(section: type[BaseModel] | None = None, place: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yields every key of the configuration that is not in a table of named entries."""
    for name, field in (section or Config).model_fields.items():
        inner = field.annotation
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            yield from _list_keys(inner, (*place, name))
        else:
            yield (*place, name)


def _explain_validation_error(error: ValidationError, file: str | Path | None) -> str:
    lines = [f"the configuration {f'in {file} ' if file else ''}cannot be used:"]
    for problem in error.errors(include_url=False):
        key = ".".join(str(part) for part in problem["loc"])
        if problem["type"] == "extra_forbidden":
            lines.append(f"  {key}: unknown key{_suggest_key(problem['loc'])}")
        else:
            lines.append(f"  {key}: {problem['msg']}{_name_foreign_variable(problem['loc'])}")
    return "\n".join(lines)


def _name_foreign_variable(location: tuple[int | str, ...]) -> str:
    names = [name for name, place in FOREIGN_VARIABLES.items() if place == location and os.environ.get(name)]
    return f" (the environment has {', '.join(names)})" if names else ""


def _suggest_key(location: tuple[int | str, ...]) -> str:
    section: type[BaseModel] | None = Config
    for part in location[:-1]:
        annotation = section.model_fields[str(part)].annotation if section and str(part) in section.model_fields else None
        section = annotation if isinstance(annotation, type) and issubclass(annotation, BaseModel) else None
    if section is None:
        return ""
    near = difflib.get_close_matches(str(location[-1]), section.model_fields, n=1)
    return f"; did you mean {near[0]}?" if near else f"; known keys: {', '.join(sorted(section.model_fields))}"
