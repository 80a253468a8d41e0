"""Reads the configuration file and the environment into one unchecked tree; `config.tree` checks it.

It imports no validation library, so that code which only asks whether the configuration has changed starts fast.
"""

import json
import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from gristmill.config.foreign_variables import read_foreign_variables
from gristmill.errors import ConfigError

DEFAULT_FILE = "gristmill.toml"
VARIABLE_PREFIX = "GRISTMILL_"
USER_FILE_VARIABLE = "GRISTMILL_USER_CONFIG"
"""Names the user's own configuration; empty, there is none."""
_STRICTNESS = ("deny", "ask", "annotations", "allow")
"""Values of `policy.default`, the strictest first."""


def read_tree(file: str | Path | None = None) -> dict[str, Any]:
    """Reads ``file`` (or ``gristmill.toml`` in the working directory, if there is one) over the user's own; the environment
    overrides both.

    Variables of other executors (``EXECUTION_TIMEOUT``) count where neither sets the same key.

    Raises:
        ConfigError: the file cannot be read, or such a variable holds no number.
    """
    ours = merge_trees(_read_files(file), read_environment(os.environ))
    return merge_trees(read_foreign_variables(os.environ, [ours]), ours)


def list_config_files(file: str | Path | None = None) -> tuple[Path, ...]:
    """Returns the files that ``read_tree`` reads if they exist: the user's own, and ``file`` or the one here."""
    user = find_user_file()
    return (*((user,) if user is not None else ()), Path(file) if file else Path(DEFAULT_FILE))


def find_user_file() -> Path | None:
    """Returns the path of the user's own configuration, which lies under every project's; None if it is turned off."""
    named = os.environ.get(USER_FILE_VARIABLE)
    if named is not None:
        return Path(named).expanduser() if named else None
    home = os.environ.get("XDG_CONFIG_HOME")
    try:
        return (Path(home) if home else Path.home() / ".config") / "gristmill" / DEFAULT_FILE
    except RuntimeError:
        return None  # a service without a home folder has no configuration of its own


def _read_files(file: str | Path | None) -> dict[str, Any]:
    user, project = find_user_file(), Path(file) if file else Path(DEFAULT_FILE)
    above = _read_file(file)
    if user is None or not user.is_file() or (project.exists() and project.samefile(user)):
        return above
    return merge_files(_read_file(user), above)


def merge_files(user: Mapping[str, Any], project: Mapping[str, Any]) -> dict[str, Any]:
    """Merges the user's own file and a project's, which wins, but for two things.

    A server that both define is the project's as a whole: half of one and half of another would be a third, which nobody wrote.
    A project, perhaps cloned from strangers, cannot take away the user's `deny` rules, nor loosen the user's default.
    """
    both, below, above = merge_trees(user, project), _get_table(user, "policy"), _get_table(project, "policy")
    for name, server in _get_table(project, "servers").items():
        if isinstance(server, Mapping) and set(cast("Mapping[str, Any]", server)) != {"enabled"}:  # that is only a switch
            both["servers"][name] = server
    if isinstance(below.get("deny"), list) and isinstance(above.get("deny"), list):
        both["policy"]["deny"] = [*below["deny"], *above["deny"]]
    defaults = [policy.get("default") for policy in (below, above)]
    if all(default in _STRICTNESS for default in defaults):
        both["policy"]["default"] = min(defaults, key=_STRICTNESS.index)
    return both


def _get_table(tree: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    table = tree.get(name)
    return cast("Mapping[str, Any]", table) if isinstance(table, Mapping) else {}


def find_default_state_dir() -> Path:
    """Returns the folder for state when the configuration names none."""
    home = os.environ.get("XDG_STATE_HOME")
    return (Path(home) if home else Path.home() / ".local" / "state") / "gristmill"


def read_environment(variables: Mapping[str, str]) -> dict[str, Any]:
    """Turns variables such as ``GRISTMILL_SANDBOX__WARM=4`` into a tree. The library that does this takes 150 ms to import."""
    found: dict[str, Any] = {}
    for name, text in variables.items():
        if name.startswith(VARIABLE_PREFIX) and "__" in name:
            for part in reversed(name.removeprefix(VARIABLE_PREFIX).lower().split("__")):
                text = {part: text if isinstance(text, dict) else _parse_json_or_text(text)}
            found = merge_trees(found, cast("dict[str, Any]", text))
    return found


def _parse_json_or_text(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def merge_trees(low: Mapping[str, Any], high: Mapping[str, Any]) -> dict[str, Any]:
    """Merges two trees; where both have a key, the value of ``high`` wins."""
    both: dict[str, Any] = dict(low)
    for key, value in high.items():
        below = both.get(key)
        both[key] = merge_trees(below, value) if isinstance(value, Mapping) and isinstance(below, Mapping) else value  # pyright: ignore[reportUnknownArgumentType]
    return both


def _read_file(file: str | Path | None) -> dict[str, Any]:
    path = Path(file) if file else Path(DEFAULT_FILE)
    if file is None and not path.exists():
        return {}
    try:
        text = path.read_text(encoding="utf-8")
        is_ours = path.suffix == ".toml" and "[mcp_servers" not in text
        return tomllib.loads(text) if is_ours else _read_client_file(text, path)
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not valid TOML: {error}") from None


def _read_client_file(text: str, path: Path) -> dict[str, Any]:
    from gristmill.mcp_configs.read_servers import read_client_config  # its parsers are needed only for files of other programs

    found = read_client_config(text, file=path.name)
    if found.secrets:
        names = ", ".join(secret.name for secret in found.secrets)
        raise ConfigError(f"{path} holds secrets in plain text ({names}): write a reference such as ${{env:NAME}} instead")
    return {"servers": {name: server.model_dump(exclude_unset=True) for name, server in found.servers.items()}}
