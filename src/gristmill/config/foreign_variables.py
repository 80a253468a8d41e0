"""Reads environment variables that other executors use for the same limits, and finds misspelt ones. Pure.

A setting of ours, in the file or as ``GRISTMILL_...``, wins over these.
"""

import difflib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from gristmill.errors import ConfigError

Place = tuple[str, ...]

_SECONDS: Place = ("sandbox", "limits", "seconds")
_MEMORY: Place = ("sandbox", "limits", "memory_mb")
_CPU: Place = ("sandbox", "limits", "cpu_percent")
_WORKSPACE: Place = ("sandbox", "limits", "workspace_mb")
_FILE: Place = ("sandbox", "limits", "file_mb")
_OUTPUT: Place = ("shaping", "output_tokens")

FOREIGN_VARIABLES: Mapping[str, Place] = {
    "EXECUTION_TIMEOUT": _SECONDS,
    "MAX_MEMORY_MB": _MEMORY,
    "MAX_CPU_PERCENT": _CPU,
    "MCP2_SANDBOX_TIMEOUT": _SECONDS,
    "MCP2_TIMEOUT": _SECONDS,
    "MCP2_TIMEOUT_SECONDS": _SECONDS,
    "MCP2_MEMORY_LIMIT_MB": _MEMORY,
    "MCP2_MEMORY_MB": _MEMORY,
    "MCP2_CPU_LIMIT_PERCENT": _CPU,
    "MCP2_CPU_PERCENT": _CPU,
    "MCP2_WORKSPACE_LIMIT_MB": _WORKSPACE,
    "MCP2_WORKSPACE_MB": _WORKSPACE,
    "MCP2_FILE_LIMIT_MB": _FILE,
    "MCP2_FILE_MB": _FILE,
    "MCP2_MAX_OUTPUT_TOKENS": _OUTPUT,
}
"""Variables of other executors, and the key of ours that each one sets."""

URL_VARIABLES = ("GRISTMILL_URL", "MCP_CODE_EXECUTOR_URL")
"""Variables with the address of the service, for clients; the first that is set wins."""

_WARNED_PREFIXES = ("GRISTMILL_", "MCP2_", "CODE_EXECUTION_", "MCP_CODE_EXECUTOR_")
_OTHER_KNOWN = re.compile(
    r"GRISTMILL_(?:TOKEN|KEY|URL|TAG|APPARMOR|SECRETS|CONFIG_FOLDER|USER_CONFIG|IDLE_TOOLS|BENCH_\w+|TEST_\w+|ATTACK_\w+)$"
    r"|GRISTMILL_(?:SERVICE_(?:HOST|PORT)\w*|PORT(?:_\w+)?)$"  # Kubernetes sets these in every pod beside a service of our name
    r"|MCP_CODE_EXECUTOR_URL$|MCP2_ENABLED$"
)
_COMMON_NAMES: Mapping[str, Place] = {
    "timeout": _SECONDS,
    "memory": _MEMORY,
    "cpu": _CPU,
    "workspace": _WORKSPACE,
    "file_size": _FILE,
    "output_tokens": _OUTPUT,
}
"""Parts of names that people use for a limit, and the key that they mean."""


def read_foreign_variables(variables: Mapping[str, str], ours: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Returns the tree that the variables set. A variable is not looked at if a tree of ``ours`` sets the same key.

    Raises:
        ConfigError: a variable that counts does not hold a number that can be a limit.
    """
    known, found = tuple(ours), dict[str, Any]()
    for name, place in FOREIGN_VARIABLES.items():
        text = variables.get(name, "").strip()
        if not text or any(_has_key(tree, place) for tree in known) or _has_key(found, place):
            continue
        section = found
        for part in place[:-1]:
            section = section.setdefault(part, {})
        section[place[-1]] = _read_number(name, text, place)
    return found


def find_service_url(variables: Mapping[str, str], default: str) -> str:
    """Returns the address of the service that clients use by default."""
    return next((variables[name].strip() for name in URL_VARIABLES if variables.get(name, "").strip()), default)


def find_unknown_variables(
    variables: Iterable[str], list_keys: Callable[[], Iterable[Place]], is_referenced: Callable[[str], bool]
) -> Iterator[str]:
    """Yields a warning for each variable that looks like one of ours, and that nothing reads.

    ``list_keys`` returns all keys of the configuration; ``is_referenced`` tells whether a setting refers to a variable.
    """
    strange = [
        name
        for name in variables
        if name.startswith(_WARNED_PREFIXES)
        and not (name.startswith("GRISTMILL_") and "__" in name)  # an unknown one of these is refused as an unknown key
        and name not in FOREIGN_VARIABLES
        and not _OTHER_KNOWN.match(name)
        and not is_referenced(name)
    ]
    if strange:
        real = [make_variable_name(place) for place in list_keys()]
        yield from (f"the environment variable {name} is ignored{_suggest(name, real)}" for name in sorted(strange))


def make_variable_name(place: Place) -> str:
    """Returns the name of the variable that sets a key, such as ``GRISTMILL_SANDBOX__WARM``."""
    return "GRISTMILL_" + "__".join(place).upper()


def _suggest(name: str, real: list[str]) -> str:
    prefix = next(prefix for prefix in _WARNED_PREFIXES if name.startswith(prefix))
    rest = name.removeprefix(prefix).lower()
    # The prefix is not compared: it would make short names alike.
    known = [*real, *FOREIGN_VARIABLES, *URL_VARIABLES, "GRISTMILL_TOKEN"]
    rests = {one.removeprefix(prefix).lower(): one for one in known if one.startswith(prefix)}
    near = [rests[rest] for rest in difflib.get_close_matches(rest, rests, n=1, cutoff=0.65)]
    common = [make_variable_name(place) for word, place in _COMMON_NAMES.items() if word in rest]
    ends = [one for one in real if one.lower().endswith(f"__{rest}")]
    meant = next(iter([*ends, *near, *common]), None)
    return f": did you mean {meant}?" if meant else "; docs/reference/config.md lists all settings"


def _has_key(tree: Any, place: Place) -> bool:
    for part in place:
        if not isinstance(tree, Mapping) or part not in tree:
            return False
        tree = tree[part]  # pyright: ignore[reportUnknownVariableType]
    return True


def _read_number(name: str, text: str, place: Place) -> float | int:
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < 1e12:  # NaN is refused too
        raise ConfigError(f"{name} is {text[:60]!r}: give a positive number, or set {make_variable_name(place)} instead")
    # Limits other than seconds are whole numbers. A share of 50.5 % is cut: a limit must not become larger than was asked.
    return number if place == _SECONDS else max(1, int(number))
