# pyright: basic, reportMissingImports=false
# locust is installed for a measurement, not for the checks.
"""``locust -f bench/locustfile.py --headless -u 50 -r 10 -t 5m -H http://127.0.0.1:8030``: 50 users for five minutes.

Needs `pip install locust` and a running `gristmill serve --http`. Locust ends with 1 when a request failed.
"""

from typing import Any

from locust import HttpUser, between, task  # pyright: ignore[reportMissingTypeStubs, reportUnknownVariableType]


class Agent(HttpUser):
    """Asks as agents do: mostly small programs, some in a session, now and then a search."""

    wait_time = between(0.1, 0.5)  # pyright: ignore[reportUnknownVariableType]
    client: Any

    @task(8)
    def small(self) -> None:
        """A fresh program."""
        self._execute({"code": "sum(i * i for i in range(1000))"})

    @task(2)
    def kept(self) -> None:
        """One that goes on in a session."""
        self._execute({"code": "n = globals().get('n', 0) + 1\nn", "session": f"locust-{id(self) % 50}"})

    @task(1)
    def search(self) -> None:
        """A search for tools."""
        self.client.get("/tools/search", params={"query": "open invoices"}, name="/tools/search")

    def _execute(self, asked: dict[str, Any]) -> None:
        with self.client.post("/execute", json=asked, catch_response=True) as answer:
            if answer.status_code != 200 or not answer.json()["success"]:
                answer.failure(answer.text[:200])
