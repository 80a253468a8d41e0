"""Finding habits: what happens at the same time on the same days of the week, often enough not to be chance."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from datetime import date, datetime, timedelta

from examples.homeiq.rows import EventRow, Pattern

DAY_NAMES = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
STEP, WINDOW = 5, 45
"""Minutes: windows of this length are tried at each step of the day."""

Minutes = Mapping[date, list[int]]


def find_habits(events: Iterable[EventRow], first: date, last: date, support: float) -> list[Pattern]:
    """Habits in ``events`` of the days from ``first`` to before ``last`` that were kept on at least the share ``support``."""
    calendar = [first + timedelta(days=number) for number in range((last - first).days)]
    happened: dict[tuple[str, str], dict[date, list[int]]] = defaultdict(lambda: defaultdict(list))
    for event in events:
        at = datetime.fromisoformat(event["at"])
        happened[event["entity_id"], event["state"]][at.date()].append(at.hour * 60 + at.minute)
    found = [pattern for key, days in happened.items() for pattern in _of_one(key, days, calendar, support)]
    return sorted(found, key=lambda pattern: (-pattern["support"], pattern["entity_id"], pattern["time"]))


def _of_one(key: tuple[str, str], days: Minutes, calendar: list[date], support: float) -> list[Pattern]:
    peaks: list[tuple[int, int]] = []
    for weekday in range(7):
        dates = [day for day in calendar if day.weekday() == weekday]
        peaks += [(weekday, start) for start in _peaks([days.get(day, []) for day in dates], support)]
    groups: list[list[tuple[int, int]]] = []
    for weekday, start in sorted(peaks, key=lambda peak: peak[1]):
        if groups and start - groups[-1][0][1] <= WINDOW and weekday not in {each for each, _ in groups[-1]}:
            groups[-1].append((weekday, start))
        else:
            groups.append([(weekday, start)])
    return [_pattern(key, days, calendar, group) for group in groups]


def _peaks(dates: list[list[int]], support: float) -> list[int]:
    """Starts of windows that hold something on enough of the dates: the fullest first, none over another."""
    if not dates:
        return []
    full: Counter[int] = Counter()
    for minutes in dates:
        full.update({start for minute in minutes for start in range((minute - WINDOW) // STEP * STEP + STEP, minute + 1, STEP)})
    share = {start: count / len(dates) for start, count in full.items() if start >= 0}
    chosen: list[int] = []
    for start in sorted(share, key=lambda start: (-share[start], start)):
        if share[start] < support:
            break
        if all(abs(start - other) >= WINDOW for other in chosen):
            chosen.append(start)
    return chosen


def _pattern(key: tuple[str, str], days: Minutes, calendar: list[date], group: list[tuple[int, int]]) -> Pattern:
    weekdays = {weekday for weekday, _ in group}
    low, high = min(start for _, start in group), max(start for _, start in group) + WINDOW
    dates = [day for day in calendar if day.weekday() in weekdays]
    times = [next(m for m in days[day] if low <= m < high) for day in dates if any(low <= m < high for m in days.get(day, []))]
    middle = sorted(times)[len(times) // 2]
    return {
        "entity_id": key[0], "state": key[1], "time": f"{middle // 60:02}:{middle % 60:02}",
        "weekdays": [DAY_NAMES[weekday] for weekday in sorted(weekdays)],
        "support": round(len(times) / len(dates), 3), "occurrences": len(times),
    }  # fmt: skip
