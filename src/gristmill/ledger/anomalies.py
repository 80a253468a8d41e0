"""Finds what is unusual for a session compared with its own past: rate, tools, errors, sizes. Pure, with bounded memory.

It refuses nothing: each finding becomes a security record that a person or a rule may act upon.
"""

from collections import OrderedDict, deque
from statistics import median
from typing import Literal

from msgspec import Struct, field

AnomalyKind = Literal["rate", "new_tool", "error_burst", "large_answer"]

MOST_SESSIONS = 1_000
"""Sessions that are remembered; the one unused for the longest time is forgotten first."""
CALLS_REMEMBERED = 101
MOST_TOOLS = 500
CALLS_UNTIL_SETTLED = 50
"""Calls that a session must have made before its habits are known well enough to be broken."""
WINDOW = 20
FACTOR = 10.0
BURST_ERRORS = 8
LARGE_BYTES = 100_000
LEAST_WINDOW_SECONDS = 0.5
"""Seconds that twenty calls must usually take before their rate can be unusual: fast loops are normal in a sandbox."""


class Anomaly(Struct, frozen=True, kw_only=True):
    """One unusual thing: the value that was seen, and the value that is usual for this session."""

    kind: AnomalyKind
    tool: str
    value: float
    usual: float


class _Habits(Struct):
    calls: int = 0
    tools: dict[str, None] = field(default_factory=dict[str, None])
    since_new: int = 0
    gaps: deque[float] = field(default_factory=lambda: deque[float](maxlen=CALLS_REMEMBERED))
    times: deque[float] = field(default_factory=lambda: deque[float](maxlen=WINDOW))
    errors: deque[bool] = field(default_factory=lambda: deque[bool](maxlen=CALLS_REMEMBERED))
    sizes: deque[int] = field(default_factory=lambda: deque[int](maxlen=CALLS_REMEMBERED))
    quiet_until: dict[AnomalyKind, int] = field(default_factory=dict[AnomalyKind, int])


class Anomalies:
    """Remembers the habits of each session, and compares each call with them."""

    def __init__(self) -> None:
        self._sessions: OrderedDict[str, _Habits] = OrderedDict()

    def observe(self, session: str, tool: str, *, at: float, is_error: bool, size: int) -> tuple[Anomaly, ...]:
        """Records a call that ended and returns what was unusual about it. The same kind is reported once in fifty calls."""
        habits = self._sessions.setdefault(session, _Habits())
        self._sessions.move_to_end(session)
        while len(self._sessions) > MOST_SESSIONS:
            self._sessions.popitem(last=False)
        found = _find_anomalies(habits, tool, at, is_error, size) if habits.calls >= CALLS_UNTIL_SETTLED else []
        _update_habits(habits, tool, at, is_error, size)
        loud = [one for one in found if habits.quiet_until.get(one.kind, 0) <= habits.calls]
        habits.quiet_until.update({one.kind: habits.calls + CALLS_UNTIL_SETTLED for one in loud})
        return tuple(loud)

    def forget(self, session: str) -> None:
        """Forgets a session that has ended."""
        self._sessions.pop(session, None)


def _find_anomalies(habits: _Habits, tool: str, at: float, is_error: bool, size: int) -> list[Anomaly]:
    found: list[Anomaly] = []
    usual_size = float(median(habits.sizes))
    if size > LARGE_BYTES and size > FACTOR * usual_size:
        found.append(Anomaly(kind="large_answer", tool=tool, value=size, usual=usual_size))
    if tool not in habits.tools and habits.since_new >= CALLS_UNTIL_SETTLED and len(habits.tools) < MOST_TOOLS:
        found.append(Anomaly(kind="new_tool", tool=tool, value=habits.since_new, usual=len(habits.tools)))
    recent = sum(list(habits.errors)[-(WINDOW - 1) :]) + is_error
    earlier = list(habits.errors)[: -(WINDOW - 1)]
    if is_error and recent >= BURST_ERRORS and sum(earlier) * FACTOR <= len(earlier) * 2:
        found.append(Anomaly(kind="error_burst", tool=tool, value=recent, usual=sum(earlier)))
    # The usual pace is the median gap between calls; the present pace is measured over the last twenty calls.
    pace, usual_pace = (at - habits.times[0]) / WINDOW, float(median(habits.gaps))
    if usual_pace * WINDOW > LEAST_WINDOW_SECONDS and pace * FACTOR < usual_pace:
        found.append(Anomaly(kind="rate", tool=tool, value=1 / max(pace, 1e-6), usual=1 / usual_pace))
    return found


def _update_habits(habits: _Habits, tool: str, at: float, is_error: bool, size: int) -> None:
    habits.calls += 1
    habits.since_new = habits.since_new + 1 if tool in habits.tools else 0
    if len(habits.tools) < MOST_TOOLS:
        habits.tools[tool] = None
    if habits.times:
        habits.gaps.append(max(0.0, at - habits.times[-1]))
    habits.times.append(at)
    habits.errors.append(is_error)
    habits.sizes.append(size)
