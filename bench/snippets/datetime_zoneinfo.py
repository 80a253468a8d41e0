# what: dates, time zones, strftime, timedelta
# expect: ["2026-03-29T10:00:00+00:00", "2026-02-14", "Sun 15 Nov", 318]
from datetime import date, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

start = datetime(2026, 3, 28, 12, 0, tzinfo=ZoneInfo("Europe/Berlin"))
later = (start + timedelta(days=1)).astimezone(timezone.utc)
due = date(2026, 1, 31) + timedelta(weeks=2)
parsed = datetime.strptime("2026-11-15 08:30", "%Y-%m-%d %H:%M")
[later.isoformat(), due.isoformat(), parsed.strftime("%a %d %b"), (parsed - datetime(2026, 1, 1)).days]
