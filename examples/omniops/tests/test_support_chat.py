"""The chat of the support: code with the customer as context, conversations that go on, and their place in the analytics."""

from collections.abc import Callable, Generator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest
from fastapi.testclient import TestClient
from mcp.server.mcpserver.exceptions import ToolError

from examples.omniops.conversations import Conversations
from examples.omniops.kept_chats import KeptChats
from examples.omniops.stored import open_copy_of, open_postgres
from examples.omniops.support_chat import build_chat_app, open_support
from examples.records import Records
from gristmill.testing import ModelAnswer, ModelFailure, ModelRequest, ModelServer

LATE = """I look at the orders.

```run
from servers import shop_commerce
orders = shop_commerce.get_orders_of_customer(customer_id=context.customerId)
late = [o["id"] for o in orders if o["status"] != "canceled" and
        (s := shop_commerce.get_shipment(order_id=o["id"]))["delivered"] and s["delivered"] > s["promised"]]
first = orders[0]["id"]     # for later questions
[context.domain, len(orders), late]
```
The customer has 99 orders."""
AGAIN = "```run\nfirst\n```"
DAY = ("2026-07-01", "2026-07-02")


def choose_answer(request: ModelRequest) -> ModelAnswer | ModelFailure:
    """Writes code for a question, and says what came back; an illustration is no code that runs."""
    said = request.last_text
    if "The program was run" in said:
        return ModelAnswer(f"The outcome was: {next(line for line in said.splitlines() if line.startswith('result'))}")
    if "broken?" in said:
        return ModelFailure(401, "bad key")
    if "what came late" in said:
        return ModelAnswer(LATE)
    if "first order" in said:
        return ModelAnswer(AGAIN)
    return ModelAnswer("Write it like this:\n```python\nprint(1 / 0)\n```\nThanks!")


class Clock:
    """Minutes pass when a test says so."""

    time = datetime(2026, 7, 1, 9, 0, tzinfo=UTC)

    def now(self) -> datetime:
        return self.time


@pytest.fixture(scope="module")
def records() -> Records:
    return open_copy_of(None)


@pytest.fixture(scope="module")
def clock() -> Clock:
    return Clock()


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory, records: Records, clock: Clock) -> Generator[TestClient]:
    folder = tmp_path_factory.mktemp("support")
    for each in (folder, *folder.parents[:2]):
        each.chmod(0o755)  # code runs as another user when we are root
    with ModelServer(choose_answer) as model:
        opened = partial(open_support, folder, "openai:scripted", model.openai_url)
        app = build_chat_app(opened, KeptChats(records, clock.now))
        with TestClient(app, base_url="http://127.0.0.1") as client:
            yield client


def test_a_model_answers_with_code_about_the_customer_and_the_conversation_goes_on(
    client: TestClient, records: Records, clock: Clock
) -> None:
    first = client.post("/chat", json={"message": "what came late?", "customer_id": 17}).json()
    clock.time += timedelta(minutes=4)
    asked = {"message": "what was the first order?", "customer_id": 17, "conversation": first["conversation"]}
    second = client.post("/chat", json=asked).json()

    orders = records.rows(dict[str, int], "SELECT id FROM orders WHERE customer_id = 17 ORDER BY date, id")
    sql = """SELECT o.id FROM orders o JOIN shipments s ON s.order_id = o.id
             WHERE o.customer_id = 17 AND o.status <> 'canceled' AND s.delivered > s.promised ORDER BY o.date, o.id"""
    late = [row["id"] for row in records.rows(dict[str, int], sql)]
    assert (first["status"], first["programs"][0]["status"]) == ("answered", "ok")
    assert first["text"].replace(" ", "") == f'Theoutcomewas:result:["orders",{len(orders)},{late}]'.replace(" ", "")
    assert first["programs"][0]["tools"] == ["shop_commerce.get_orders_of_customer", "shop_commerce.get_shipment"]
    assert second["text"] == f"The outcome was: result: {orders[0]['id']}", "the variables of the conversation are there"
    assert (second["conversation"], second["record"]) == (first["conversation"], first["record"])
    assert first["input_tokens"] > 0

    analysis = Conversations(records).analyze_conversation(first["record"])
    row = analysis["conversation"]
    assert (row["customer_id"], row["topic"], row["agent"], row["messages"], row["minutes"]) == (17, "orders", "assistant", 4, 4)
    assert (analysis["questions"], row["status"]) == (2, "open")
    said = Conversations(records).get_messages(first["record"])
    assert [each["author"] for each in said] == ["customer", "assistant"] * 2

    closed = client.post(
        f"/chat/conversations/{first['conversation']}/close?customer_id=17", json={"status": "resolved", "rating": 5}
    )
    assert closed.json() == {"record": first["record"]}
    (metrics,) = [each for each in Conversations(records).get_metrics(*DAY, "topic") if each["name"] == "orders"]
    assert (metrics["resolved_percent"], metrics["rating"], metrics["minutes"]) == (100.0, 5, 4)
    listed = client.get("/chat/conversations?customer_id=17").json()
    assert [(each["conversation"], each["turns"]) for each in listed] == [(first["conversation"], 2)]


def test_conversations_belong_to_their_customer(client: TestClient) -> None:
    own = client.post("/chat", json={"message": "hello", "customer_id": 21, "domain": "products"}).json()
    stolen = {"message": "hello", "customer_id": 22, "conversation": own["conversation"]}

    assert (own["programs"], own["status"]) == ([], "answered"), "an illustration was not run"
    assert client.post("/chat", json=stolen).status_code == 404
    assert client.get("/chat/conversations?customer_id=22").json() == []
    ending = f"/chat/conversations/{own['conversation']}/close?customer_id=22"
    assert client.post(ending, json={"status": "resolved"}).status_code == 404


def test_a_failure_is_an_answer_and_what_cannot_be_asked_is_refused(client: TestClient) -> None:
    failed = client.post("/chat", json={"message": "broken?", "customer_id": 23, "domain": "sales"}).json()
    assert failed["status"] == "failed"
    for body in ({"message": " ", "customer_id": 1}, {"message": "x", "customer_id": 0}, {"message": "x", "customer": 1}):
        assert client.post("/chat", json=body).status_code == 422
    assert client.post("/chat", json={}, headers={"host": "evil.example"}).status_code == 400
    assert client.get("/health").json() == {"status": "ok"}


def test_chats_are_kept_the_same_in_postgresql(new_database: Callable[[], str]) -> None:
    found: list[object] = []
    postgres = open_postgres(new_database(), is_read_only=False)
    with closing(postgres.database):
        for records in (open_copy_of(None), postgres):
            clock = Clock()
            kept = KeptChats(records, clock.now)
            number = kept.add_turn("abc", 17, "orders", "where is order 11500?", "x" * 30_000)
            clock.time = Clock.time + timedelta(minutes=3)
            assert kept.add_turn("abc", 17, "orders", "thanks!", "bye") == number
            assert kept.close("abc", "resolved", None) == number
            with pytest.raises(ToolError, match="no such record"):
                kept.close("other", "resolved", 3)
            tools = Conversations(records)
            assert len(tools.get_messages(number)[1]["text"]) == 20_000
            found.append(tools.analyze_conversation(number))
    assert found[0] == found[1]
