# what: contextlib and a hand-written context manager
# expect: ["start", "<body>", "BODY", "</body>", "stop", "start", "ValueError"]
from contextlib import contextmanager, suppress

events = []


class Timer:
    def __enter__(self):
        events.append("start")
        return self

    def __exit__(self, kind, error, trace):
        events.append(kind.__name__ if kind else "stop")
        return kind is ValueError


@contextmanager
def section(name):
    events.append(f"<{name}>")
    try:
        yield name.upper()
    finally:
        events.append(f"</{name}>")


with Timer(), section("body") as title:
    events.append(title)
with Timer():
    raise ValueError("swallowed")
with suppress(KeyError):
    {}["missing"]
events
