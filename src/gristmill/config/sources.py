"""What the configuration file and the environment say, as a tree that nobody has checked yet. Below `config`, which checks it.

Light: whoever only wants to know whether anything has changed since it was checked loads no validation.
"""

import json
import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from gristmill.errors import ConfigError

DEFAULT_FILE = "gristmill.toml"
PREFIX = "GRISTMILL_"


def read_tree(file: str | Path | None = None) -> dict[str, Any]:
    """``file`` (or ``gristmill.toml`` here, if there is one) and above it the environment.

    Raises:
        ConfigError: a file that cannot be read.
    """
    return merged(_read_file(file), environment(os.environ))


def default_state_dir() -> Path:
    """Where state lives when the configuration does not say."""
    home = os.environ.get("XDG_STATE_HOME")
    return (Path(home) if home else Path.home() / ".local" / "state") / "gristmill"


def environment(variables: Mapping[str, str]) -> dict[str, Any]:
    """``GRISTMILL_SANDBOX__WARM=4`` as a tree. By hand, since the library for it takes 150 ms to import."""
    found: dict[str, Any] = {}
    for name, text in variables.items():
        if name.startswith(PREFIX) and "__" in name:
            for part in reversed(name.removeprefix(PREFIX).lower().split("__")):
                text = {part: text if isinstance(text, dict) else _json_or_text(text)}
            found = merged(found, cast("dict[str, Any]", text))
    return found


def _json_or_text(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def merged(low: Mapping[str, Any], high: Mapping[str, Any]) -> dict[str, Any]:
    """``low`` with what ``high`` says above it."""
    both: dict[str, Any] = dict(low)
    for key, value in high.items():
        below = both.get(key)
        both[key] = merged(below, value) if isinstance(value, Mapping) and isinstance(below, Mapping) else value  # pyright: ignore[reportUnknownArgumentType]
    return both


def _read_file(file: str | Path | None) -> dict[str, Any]:
    path = Path(file) if file else Path(DEFAULT_FILE)
    if file is None and not path.exists():
        return {}
    try:
        text = path.read_text(encoding="utf-8")
        is_ours = path.suffix == ".toml" and "[mcp_servers" not in text
        return tomllib.loads(text) if is_ours else _read_client(text, path)
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not valid TOML: {error}") from None


def _read_client(text: str, path: Path) -> dict[str, Any]:
    from gristmill.mcp_configs.read_servers import read_client_config  # its parsers are needed for foreign files only

    found = read_client_config(text, file=path.name)
    if found.secrets:
        names = ", ".join(secret.name for secret in found.secrets)
        raise ConfigError(f"{path} holds secrets in plain text ({names}): write a reference such as ${{env:NAME}} instead")
    return {"servers": {name: server.model_dump(exclude_unset=True) for name, server in found.servers.items()}}
