"""Write the reference pages from the code they describe; with ``--check`` only say whether they are up to date."""

import inspect
import sys
import types
from pathlib import Path
from typing import Any

import typer

import gristmill
from gristmill import errors, events
from gristmill.config.sections.base import Section, read_field_sentences
from gristmill.config.sections.policy_section import RuleConfig
from gristmill.config.sections.quota_section import ServerQuota
from gristmill.config.sections.rollout_section import ArmConfig, GroupConfig, GuardrailConfig, StageConfig
from gristmill.config.sections.servers_section import ServerConfig
from gristmill.config.tree import Config
from gristmill.ledger.metrics import METRICS
from gristmill.model import Outcome
from gristmill.runtime.hints.failure_table import DOOR_FAILURES, FAILURES
from gristmill.serve.cli.app import app
from gristmill.serve.http.app import build_app
from gristmill.serve.http.http_door import open_door
from gristmill.serve.http.shapes.describe_api import list_operations, list_shapes
from gristmill.serve.problem_codes import EXIT_CODES, HTTP_STATUSES, STATUS_EXIT_CODES

_HINTS = """\
A program that fails gets a hint: what to change, in `advice`, and after `hint:` in the text of MCP answers and `gristmill run`.
This is the table of failures, in which the first one that fits counts; words in braces are filled in. A program that fails in the
same way again also gets the signature of its tools, the shape of a real result and an example:
[troubleshooting](../guides/troubleshooting.md#a-program-fails)."""
PAGES = Path(__file__).parents[1] / "docs" / "reference"


def config_page() -> str:
    """Every key with its default and its sentence."""
    lines = [
        "# Configuration",
        "",
        "`~/.config/gristmill/gristmill.toml`, `gristmill.toml`, then the environment (`GRISTMILL_SANDBOX__WARM=4`), then",
        "flags; later wins.",
        "",
    ]
    servers = ["", "## `[servers.NAME]`", "", "One tool server.", "", *_section(ServerConfig, "servers.NAME.")]
    servers += ["", "## `[[policy.rules]]`", "", "One rule.", "", *_section(RuleConfig, "policy.rules.")]
    servers += ["", "## `[quota.servers.NAME]`", "", "One server.", "", *_section(ServerQuota, "quota.servers.NAME.")]
    servers += ["", "## `[rollout.arms.NAME]`", "", "One arm.", "", *_section(ArmConfig, "rollout.arms.NAME.")]
    servers += ["", "## `[[rollout.stages]]`", "", "One stage.", "", *_section(StageConfig, "rollout.stages.")]
    servers += ["", "## `[[rollout.guardrails]]`", "", "One guardrail.", "", *_section(GuardrailConfig, "rollout.guardrails.")]
    servers += ["", "## `[rollout.groups.NAME]`", "", "One group.", "", *_section(GroupConfig, "rollout.groups.NAME.")]
    return "\n".join(lines + _section(Config, "") + servers) + "\n"


def _section(section: type[Section], path: str) -> list[str]:
    lines: list[str] = []
    nested: list[str] = []
    says = read_field_sentences(section)
    for name, field in section.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, Section):
            nested += ["", f"## `[{path}{name}]`", "", says[name], "", *_section(field.annotation, f"{path}{name}.")]
        else:
            if path == "" and name == "servers":
                continue  # has a section of its own
            plain = field.get_default(call_default_factory=True)
            default = f"{len(plain)} modules" if name == "preload" else plain
            told = "required" if field.is_required() else f"default `{default}`"
            lines.append(f"- `{field.alias or name}` ({told}): {says[name]}")
    return lines + nested


def errors_page() -> str:
    """The tree, the codes and the exit codes."""
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.Error)]
    rows = [f"| `{kind.code}` | `{kind.__name__}` | {_first(kind)} | {_exit(kind)} | {_http(kind)} |" for kind in kinds]
    statuses = [f"| `{status}` | {code} |" for status, code in STATUS_EXIT_CODES.items()]
    return "\n".join(
        ["# Errors", "", "| code | class | meaning | exit code | HTTP status |", "|---|---|---|---|---|", *rows,
         "| `request` | | HTTP only: the request itself is wrong; `message` says where. | | 404, 405 or 422 |", "",
         "## Outcomes", "", "What the code did is not an error but an outcome. `gristmill run` ends with:", "",
         "| status | exit code |", "|---|---|", *statuses, ""]
    )  # fmt: skip


def hints_page() -> str:
    """Every failure with the hint that it gets."""
    groups: dict[str, list[str]] = {}
    for known in (*FAILURES, *DOOR_FAILURES):
        hint = known.hint.replace("|", "\\|").replace("{{", "{").replace("}}", "}")
        groups.setdefault(known.name.partition(".")[0], []).append(f"| `{known.name}` | {known.when} | {hint} |")
    head = ["| failure | when | hint |", "|---|---|---|"]
    parts = [line for name, rows in sorted(groups.items()) for line in (f"## {name.capitalize()}", "", *head, *rows, "")]
    return "\n".join(["# Hints", "", _HINTS, "", *parts])


def _http(kind: type[errors.Error]) -> int:
    return next(status for base, status in HTTP_STATUSES.items() if issubclass(kind, base))


def _exit(kind: type[errors.Error]) -> int:
    return next(code for base, code in EXIT_CODES.items() if issubclass(kind, base))


def events_page() -> str:
    """What can be heard while code runs."""
    kinds: list[Any] = [
        kind for kind in vars(events).values() if getattr(kind, "__module__", "") == events.__name__ and isinstance(kind, type)
    ]
    rows = [
        f"| `{kind.__name__}` | {', '.join(f'`{name}`' for name in kind.__struct_fields__)} | {_first(kind)} |" for kind in kinds
    ]
    return "\n".join(["# Events", "", "| event | fields | meaning |", "|---|---|---|", *rows, ""])


def http_page() -> str:
    """Every route with what it takes and answers, from the OpenAPI that the service itself gives."""
    runtime: Any = types.SimpleNamespace(
        config=Config(), store=None, metrics=None, audit=types.SimpleNamespace(record=None)
    )  # fmt: skip
    openapi = build_app(open_door(runtime)).openapi()
    lines = ["# HTTP", "", "From the service's own `/openapi.json`. Any other status than those named is a problem: "]
    lines[-1] += "`application/problem+json` with `code` and `message`."
    for one in list_operations(openapi):
        taken = [f"`{each.name}` ({', '.join(filter(None, (each.place, each.kind)))})" for each in one.takes]
        answers = ", ".join(" ".join(filter(None, answer)) for answer in one.answers)
        lines += ["", f"## `{one.method} {one.path}`", "", one.about, ""]
        lines += [*([f"Takes {', '.join(taken)}.", ""] if taken else []), f"Answers {answers}."]
    lines += ["", "## `WebSocket /ws`", "", "Executions and their events over one connection; see the guide.", "", "# Shapes"]
    for shape in list_shapes(openapi):
        lines += ["", f"## `{shape.name}`", "", shape.about, ""]
        lines += [f"- `{each.name}` ({each.kind})" + (f": {each.about}" if each.about else "") for each in shape.fields]
    return "\n".join(lines) + "\n"


def python_page() -> str:
    """The public names, and the fields of an outcome."""
    lines = ["# Python", "", "| name | what it is |", "|---|---|"]
    for name in gristmill.__all__:
        thing: Any = getattr(gristmill, name)
        kind = "a callable" if isinstance(thing, types.GenericAlias) or not inspect.getdoc(thing) else _first(thing)
        kind = {"Handler": "An upstream, or an upstream behind layers.", "Event": "Any of the [events](events.md)."}.get(
            name, kind
        )
        lines.append(f"| `{name}` | {kind} |")
    fields = ", ".join(f"`{name}`" for name in Outcome.__dataclass_fields__)
    return "\n".join([*lines, "", "## Outcome", "", f"Fields, in the library and in every JSON: {fields}.", ""])


def metrics_page() -> str:
    """Every metric with its labels."""
    rows = [
        f"| `{one.name}` | {one.shape} | {', '.join(f'`{label}`' for label in one.labels)} | {one.meaning} |" for one in METRICS
    ]
    note = "Text format of Prometheus. A histogram also has `_bucket`, `_count` and `_sum`."
    return "\n".join(["# Metrics", "", note, "", "| name | kind | labels | meaning |", "|---|---|---|---|", *rows, ""])


def cli_page() -> str:
    """Every verb with its help."""
    lines = ["# Command line", ""]
    for path, command in _commands(typer.main.get_command(app), ()):
        lines += [f"## `gristmill {' '.join(path)}`", "", inspect.cleandoc(command.help or ""), ""]
        for parameter in command.params:
            if parameter.name != "help" and not parameter.hidden:
                name = (
                    " ".join(parameter.opts)
                    if parameter.param_type_name == "option"
                    else parameter.metavar or parameter.name.upper()
                )
                lines.append(f"- `{name}`: {parameter.help}")
        lines.append("")
    return "\n".join(lines)


def _commands(group: Any, path: tuple[str, ...]) -> list[tuple[tuple[str, ...], Any]]:
    found: list[tuple[tuple[str, ...], Any]] = []
    for name, command in group.commands.items():
        is_group = hasattr(command, "commands")
        if not is_group or command.invoke_without_command:
            found.append(((*path, name), command))
        found += _commands(command, (*path, name)) if is_group else []
    return found


def _first(thing: object) -> str:
    return (inspect.getdoc(thing) or "").split("\n")[0]


def main() -> None:
    """Write or check."""
    made = {
        "config": config_page(),
        "errors": errors_page(),
        "hints": hints_page(),
        "events": events_page(),
        "python": python_page(),
        "cli": cli_page(),
        "metrics": metrics_page(),
        "http": http_page(),
    }
    stale = [
        name for name, text in made.items() if not (PAGES / f"{name}.md").exists() or (PAGES / f"{name}.md").read_text() != text
    ]
    if "--check" in sys.argv:
        if stale:
            sys.exit(f"out of date: {', '.join(stale)}; run `make docs`")
        print("the reference is up to date")
        return
    PAGES.mkdir(parents=True, exist_ok=True)
    for name, text in made.items():
        (PAGES / f"{name}.md").write_text(text)
    print(f"wrote {len(made)} pages, {len(stale)} changed")


if __name__ == "__main__":
    main()
