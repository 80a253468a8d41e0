"""Work that a service promises to do once: programs with two counted writes each, sent with keys, and how they are settled after a kill."""

import re
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2 as httpx

from gristmill.model import Identity
from gristmill.runs.idempotency import make_execution_id
from tests.e2e.http.conftest import Service

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
    tries: int = 0
    outcome: dict[str, Any] | None = None
    """The outcome that the service has acknowledged."""

    @property
    def id(self) -> str:
        return make_execution_id(self.key, Identity(tenant="acme", caller="ann"))

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


def settle(service: Service, work: Work, promises: Promises) -> None:
    """Sends a program until it has ended, as a patient client would: same key, `resume` after an interruption, a decision about lost calls.

    Raises:
        httpx.TransportError: the service was killed.
    """
    with service.client("ann") as client, service.client("boss") as boss:
        ask: Callable[[], httpx.Response] = lambda: client.post(  # noqa: E731
            "/execute", json=work.request(), headers={"Idempotency-Key": work.key}
        )
        for _ in range(MOST_STEPS):
            outcome = _read_outcome(client, ask())
            if outcome["status"] == "awaiting_approval":
                _decide_lost(boss, outcome["plan"], promises)
            elif outcome["status"] in ENDED:
                assert (outcome["status"], outcome["result"]) == ("ok", "whole"), outcome
                work.outcome = outcome
                return
            work.tries += 1
            again = {"resume": work.id}
            headers = {"Idempotency-Key": f"{work.key}-{work.tries}"}
            ask = lambda: client.post("/execute", json=again, headers=headers)  # noqa: B023, E731
    raise AssertionError(f"{work.key} does not end: {outcome}")


def _read_outcome(client: httpx.Client, answer: httpx.Response) -> dict[str, Any]:
    """Returns the outcome, also of an execution in the background; of one without an outcome its status."""
    if answer.status_code == 200:
        return answer.json()
    told = answer.json()
    assert answer.status_code in (202, 409), told
    id_ = told["id"] if answer.status_code == 202 else re.findall("as ([0-9a-f]{32})", told["message"])[0]
    while True:
        found = client.get(f"/executions/{id_}").json()
        assert "status" in found, (told, found)
        if found["status"] not in ("running", "accepted"):
            return found.get("outcome") or found


def _decide_lost(boss: httpx.Client, plan: dict[str, Any], promises: Promises) -> None:
    """Decides as a person who looks at the server would: what was made is denied, what was not made is approved."""
    made = promises.count_writes()
    assert all(call["was_lost"] for call in plan["calls"]), plan
    approved = [call["number"] for call in plan["calls"] if not made[call["arguments"]["key"]]]
    answer = boss.post(f"/approvals/{plan['id']}", json={"approve": approved or "none"})
    assert answer.status_code == 200, answer.text
