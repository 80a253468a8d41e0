"""Work that a service promises to do once: programs with two counted writes each, sent with keys, and how they are settled after a kill."""

import re
import sys
import threading
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2 as httpx

from tests.e2e.http.conftest import ROOT, SETTINGS, Service

CODE = """
from servers import counting

def add(key):
    try:
        return counting.add(key=key)
    except Exception as error:  # a person said that the lost call had been made
        return type(error).__name__

add({first!r})
add({second!r})
"whole"
"""
MOST_STEPS = 40
"""How many requests it may take to settle one program."""
ENDED = ("ok", "failed", "limited", "crashed", "refused", "cancelled")


@dataclass(slots=True)
class Work:
    """One program, and what is known of it."""

    key: str
    background: bool
    id: str | None = None
    """The id of its execution, once the service has told it."""
    tries: int = 0
    trail: list[str] = field(default_factory=list[str])
    """What the service said, for the message of a failure."""
    outcome: dict[str, Any] | None = None
    """The outcome that the service has acknowledged."""

    @property
    def writes(self) -> tuple[str, str]:
        return f"{self.key}-a", f"{self.key}-b"

    def request(self) -> dict[str, Any]:
        first, second = self.writes
        return {"code": CODE.format(first=first, second=second), "background": self.background}


@dataclass(slots=True)
class Promises:
    """All programs that were ever sent, over all kills."""

    written: Path
    """The file in which the tool server writes down each write."""
    known: list[Work] = field(default_factory=list[Work])
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def count_writes(self) -> Counter[str]:
        return Counter(self.written.read_text().split()) if self.written.exists() else Counter()

    def list_open(self) -> list[Work]:
        return [work for work in self.known if work.outcome is None]

    def add_work(self) -> Work:
        with self._lock:
            work = Work(f"k{len(self.known):05}", background=len(self.known) % 3 == 0)
            self.known.append(work)
            return work


def make_settings(written: Path, *, is_postgres: bool) -> str:
    """The settings of a service with the counting server, on SQLite or on the database of the tests."""
    server = f'[servers.counting]\ncommand = "{sys.executable}"\nargs = ["-S", "-m", "tests.servers.counting", "{written}"]\n'
    store = '[store]\nurl = "${env:GRISTMILL_TEST_STORE}"\n' if is_postgres else ""
    return SETTINGS.replace('ask = ["crm.send"]', 'allow = ["counting.*"]') + server + f'cwd = "{ROOT}"\n' + store


def settle(service: Service, work: Work, promises: Promises) -> None:
    """Sends a program until it has ended, as a patient client would: same key, `resume` after an interruption, a decision about lost calls.

    Raises:
        httpx.TransportError: the service was killed.
    """
    request, key = work.request(), work.key
    with service.client("ann") as client, service.client("boss") as boss:
        for _ in range(MOST_STEPS):
            answer = client.post("/execute", json=request, headers={"Idempotency-Key": key})
            outcome = _read_outcome(client, work, answer)
            if outcome["status"] == "awaiting_approval":
                _decide_lost(boss, outcome["plan"], promises)
            elif outcome["status"] in ENDED:
                assert (outcome["status"], outcome["result"]) == ("ok", "whole"), (work, outcome)
                work.outcome = outcome
                return
            work.tries += 1
            request, key = {"resume": work.id}, f"{work.key}-{work.tries}"
    raise AssertionError(f"it does not end: {work}")


def _read_outcome(client: httpx.Client, work: Work, answer: httpx.Response) -> dict[str, Any]:
    """Returns the outcome, also of an execution in the background; of one without an outcome its status."""
    told = answer.json()
    work.trail.append(f"{answer.status_code} {told.get('message') or told['status']}")
    assert answer.status_code in (200, 202, 409), work
    id_ = re.findall("as ([0-9a-f]{32})", told["message"])[0] if answer.status_code == 409 else told["id"]
    work.id = work.id or id_
    if answer.status_code == 200:
        return told
    while True:
        found = client.get(f"/executions/{id_}").json()
        assert "status" in found, (work, found)
        if found["status"] not in ("running", "accepted"):
            return found.get("outcome") or found


def _decide_lost(boss: httpx.Client, plan: dict[str, Any], promises: Promises) -> None:
    """Decides as a person who looks at the server would: what was made is denied, what was not made is approved."""
    made = promises.count_writes()
    assert all(call["was_lost"] for call in plan["calls"] if call["needs_approval"]), plan
    approved = [call["number"] for call in plan["calls"] if not made[call["arguments"]["key"]]]
    answer = boss.post(f"/approvals/{plan['id']}", json={"approve": approved or "none"})
    assert answer.status_code == 200, answer.text
