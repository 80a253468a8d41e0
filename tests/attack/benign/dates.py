from datetime import datetime, timedelta, timezone
from zoneinfo import ZoneInfo
start = datetime(2026, 3, 29, 0, 30, tzinfo=ZoneInfo("Europe/Berlin"))
later = (start.astimezone(timezone.utc) + timedelta(hours=2)).astimezone(ZoneInfo("Europe/Berlin"))
[later.isoformat(), (datetime(2026, 12, 24) - datetime(2026, 11, 15)).days]
# expect: ["2026-03-29T03:30:00+02:00", 39]
