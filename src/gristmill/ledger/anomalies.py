"""What is unusual for a session, measured against itself: rate, tools, errors, sizes. Pure, with bounded memory.

It refuses nothing: what it finds becomes a security record that a person or a rule may act upon.
"""

from collections import OrderedDict, deque
from dataclasses import field
from statistics import median
from typing import Literal

from gristmill.values import dataclass

AnomalyKind = Literal["rate", "new_tool", "error_burst", "large_answer"]

SESSIONS = 1_000
"""Sessions remembered; the one unused for longest is forgotten first."""
CALLS = 101
TOOLS = 500
SETTLED = 50
"""Calls before a session has habits that can be broken."""
WINDOW = 20
FACTOR = 10.0
BURST = 8
LARGE = 100_000
QUICKER_THAN = 0.5
"""Seconds: twenty calls take at least half a second before their rate can be unusual; loops are what sandboxes are for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Anomaly:
    """One unusual thing: what was seen, and what this session used to do."""

    kind: AnomalyKind
    tool: str
    value: float
    usual: float


@dataclass(slots=True)
class _Habits:
    calls: int = 0
    tools: dict[str, None] = field(default_factory=dict[str, None])
    since_new: int = 0
    gaps: deque[float] = field(default_factory=lambda: deque[float](maxlen=CALLS))
    times: deque[float] = field(default_factory=lambda: deque[float](maxlen=WINDOW))
    errors: deque[bool] = field(default_factory=lambda: deque[bool](maxlen=CALLS))
    sizes: deque[int] = field(default_factory=lambda: deque[int](maxlen=CALLS))
    quiet_until: dict[AnomalyKind, int] = field(default_factory=dict[AnomalyKind, int])


class Anomalies:
    """One memory of habits per session."""

    def __init__(self) -> None:
        self._sessions: OrderedDict[str, _Habits] = OrderedDict()

    def observe(self, session: str, tool: str, *, at: float, is_error: bool, size: int) -> tuple[Anomaly, ...]:
        """Take note of a call that ended; what was unusual about it. The same kind is said once in fifty calls."""
        habits = self._sessions.setdefault(session, _Habits())
        self._sessions.move_to_end(session)
        while len(self._sessions) > SESSIONS:
            self._sessions.popitem(last=False)
        found = _unusual(habits, tool, at, is_error, size) if habits.calls >= SETTLED else []
        _remember(habits, tool, at, is_error, size)
        loud = [one for one in found if habits.quiet_until.get(one.kind, 0) <= habits.calls]
        habits.quiet_until.update({one.kind: habits.calls + SETTLED for one in loud})
        return tuple(loud)

    def forget(self, session: str) -> None:
        """The session has ended."""
        self._sessions.pop(session, None)


def _unusual(habits: _Habits, tool: str, at: float, is_error: bool, size: int) -> list[Anomaly]:
    found: list[Anomaly] = []
    usual_size = float(median(habits.sizes))
    if size > LARGE and size > FACTOR * usual_size:
        found.append(Anomaly(kind="large_answer", tool=tool, value=size, usual=usual_size))
    if tool not in habits.tools and habits.since_new >= SETTLED and len(habits.tools) < TOOLS:
        found.append(Anomaly(kind="new_tool", tool=tool, value=habits.since_new, usual=len(habits.tools)))
    recent = sum(list(habits.errors)[-(WINDOW - 1) :]) + is_error
    earlier = list(habits.errors)[: -(WINDOW - 1)]
    if is_error and recent >= BURST and sum(earlier) * FACTOR <= len(earlier) * 2:
        found.append(Anomaly(kind="error_burst", tool=tool, value=recent, usual=sum(earlier)))
    # The usual pace is the median gap; the present one is over the last twenty calls.
    pace, usual_pace = (at - habits.times[0]) / WINDOW, float(median(habits.gaps))
    if usual_pace * WINDOW > QUICKER_THAN and pace * FACTOR < usual_pace:
        found.append(Anomaly(kind="rate", tool=tool, value=1 / max(pace, 1e-6), usual=1 / usual_pace))
    return found


def _remember(habits: _Habits, tool: str, at: float, is_error: bool, size: int) -> None:
    habits.calls += 1
    habits.since_new = habits.since_new + 1 if tool in habits.tools else 0
    if len(habits.tools) < TOOLS:
        habits.tools[tool] = None
    if habits.times:
        habits.gaps.append(max(0.0, at - habits.times[-1]))
    habits.times.append(at)
    habits.errors.append(is_error)
    habits.sizes.append(size)
