"""Finds the line of a failed server's output that says what happened. Pure; the patterns are data.

The last line often does not: Node ends with its version, pydantic with an address of its documentation, docker with advice.
"""

import re
from collections.abc import Sequence

NOISE_PATTERNS = (
    r"Node\.js v\d",
    r"node:internal/|file:///.*:\d+$|/\S+\.[cm]?[jt]s:\d+$|throw \S+;$|\^+$",  # Node: where it was thrown
    r"at (?:async |new )?\S.*(?:\(.*\)|:\d+:\d+\)?)(?: \{)?$|at <anonymous>$",  # Node and Java: lines of a stack
    r"\.\.\. \d+ more$",
    r"(?:code|errno|syscall|path|requireStack|triggerUncaughtException): .*,?$|[\[\]{}(),]+$",  # Node: fields of an error
    r"\(Use `node --trace",
    r"npm (?:warn|notice|WARN)\b",
    r"npm (?:ERR!|error) (?:code|errno|syscall|path)\b",
    r"npm (?:ERR!|error)(?: \d{3})?$",
    r"npm (?:ERR!|error)(?: \d{3})? +(?:A complete log of this run|Note that you can also install|/|\s*\S*debug)",
    r"For further information visit ",  # pydantic
    r"Traceback \(most recent call last\):|File \"[^\"]*\", line \d+|[\^~]+$",  # Python: lines of a stack
    r"(?:During handling of the above|The above exception was the direct cause)",
    r"\+-+|\| *$",  # Python: groups of exceptions
    r"sys:\d+: |\S+\.py:\d+: \w*Warning: |warnings\.warn\(",
    r"(?:See|Run) 'docker[^']*(?:--help)?'",
    r"Unable to find image .* locally$|(?:latest|[\w.-]+): Pulling from |Digest: |Status: ",
    r"(?:Downloading|Downloaded|Installed|Resolved|Prepared|Building|Built|Audited|Uninstalled|Using) ",  # uv
    r"(?:hint|help|note): |note: run with `RUST_BACKTRACE",
    r"goroutine \d+ \[|exit status \d+$|\[signal |created by ",  # Go
    r"For more information, (?:try|see|visit)|Try '.*--help'|(?:U|u)sage: ",
)
"""Beginnings of lines, without their indentation, that do not say what happened."""

CAUSE_PATTERNS = (
    r"(?:\w+\.)*\w*(?:Error|Exception|Exit|Interrupt)\b(?: \[\w+\])?(?::|$| \()",  # Python, Node
    r"Uncaught \w|Exception in thread ",
    r"(?:\S+: )?(?:error|ERROR|Error|fatal|FATAL|Fatal error|panic|critical|CRITICAL)\b\S*:",
    r"\S+: (?:Error response from daemon|Cannot connect to|command not found|not found|No such file)",
    r"docker: |npm (?:ERR!|error) |exec\S*: ",
    r"╰─▶ |├─▶ |Caused by: |\u00d7 ",  # uv
    r"thread '.*' panicked at ",
)
"""Beginnings of lines that say what happened."""

_NOISE = re.compile("|".join(f"(?:{pattern})" for pattern in NOISE_PATTERNS))
_CAUSE = re.compile("|".join(f"(?:{pattern})" for pattern in CAUSE_PATTERNS))
_CONTINUED = re.compile(r".*\b\d+ validation errors? for |thread '.*' panicked at |.*:$")
"""Lines that say what happened only together with the lines after them."""
_CONTINUATION_LINES = 2
LONGEST_LINE = 500
"""Longer lines are cut: the time of some patterns grows faster than the line."""
_COLOURS = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


def clean_lines(text: str) -> list[str]:
    """Returns the lines that are not blank, cut, without colours and without spaces at the end."""
    return [line for raw in text.splitlines() if (line := _COLOURS.sub("", raw[: 2 * LONGEST_LINE]).rstrip()[:LONGEST_LINE])]


def find_cause(lines: Sequence[str]) -> str:
    """Returns the line that says what happened: the last that looks like an error, else the last that is not noise."""
    telling = [line.strip() for line in lines if not _NOISE.match(line.strip())]
    places = [place for place, line in enumerate(telling) if _CAUSE.match(line)]
    if not places:
        return telling[-1] if telling else (lines[-1].strip() if lines else "")
    place = places[-1]
    if _CONTINUED.match(telling[place]):
        return " ".join(telling[place : place + 1 + _CONTINUATION_LINES])
    return telling[place]
