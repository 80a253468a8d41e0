"""Wishes in plain words become automations that the house can carry out, by programs and without them."""

import json
from collections.abc import Generator, Sequence
from typing import Any

import pytest
import yaml
from fastapi.testclient import TestClient
from langchain.chat_models import init_chat_model
from langchain_core.language_models import BaseChatModel
from mcp.server.mcpserver.exceptions import ToolError

from examples.cached import made_once, open_read_only
from examples.homeiq.automation import Automations
from examples.homeiq.seed import FILE, build
from examples.homeiq.wishes.wish_chain import WishChain
from examples.homeiq.wishes.wish_route import make_router
from examples.http_service import build_app
from examples.opening import app_config
from examples.records import Records
from gristmill import BlockingRuntime
from gristmill.testing import ModelAnswer, ModelFailure, ModelServer

WISH = "turn the porch light on when somebody comes home after sunset"
ACTION = {"action": "light.turn_on", "target": {"entity_id": "light.porch"}}
DARK = {"condition": "state", "entity_id": "sun.sun", "state": "below_horizon"}
PROGRAM = """I look at the house first.
```python
from servers import home_data, home_automation
people = [each["entity_id"] for each in home_data.get_devices(domain="person")]
lights = [each["entity_id"] for each in home_data.get_devices(domain="light") if "porch" in each["entity_id"]]
home_automation.write_automation(
    alias="Porch light on arrival",
    triggers=[{"trigger": "state", "entity_id": people, "to": "home"}],
    conditions=[{"condition": "state", "entity_id": "sun.sun", "state": "below_horizon"}],
    actions=[{"action": "light.turn_on", "target": {"entity_id": lights}}],
)
```"""
GUESSED = """```python
from servers.home_automation import write_automation
write_automation(
    alias="Porch light",
    triggers=[{"trigger": "state", "entity_id": "person.anna", "to": "home"}],
    actions=[{"action": "light.turn_on", "target": {"entity_id": "light.porch_light"}}],
)
```"""
SAID = ModelAnswer("When Anna or Ben comes home in the dark, the porch light goes on.", input_tokens=400, output_tokens=16)
WRITTEN = """It is done.
```yaml
alias: Porch light
triggers:
  - trigger: state
    entity_id: [person.anna, person.ben]
    to: home
conditions:
  - condition: sun
    after: sunset
actions:
  - action: light.turn_on
    target: {entity_id: light.ENTITY}
```"""


@pytest.fixture(scope="module")
def house() -> Automations:
    return Automations(Records(open_read_only(made_once(FILE, build))))


@pytest.fixture(scope="module")
def runtime(tmp_path_factory: pytest.TempPathFactory) -> Generator[BlockingRuntime]:
    folder = tmp_path_factory.mktemp("wishes")
    for each in (folder, *folder.parents[:2]):
        each.chmod(0o755)  # code runs as another user when we are root
    with BlockingRuntime(app_config("homeiq", state=folder)) as opened:
        yield opened


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def use_model(model: ModelServer, wire: str = "openai") -> BaseChatModel:
    url = model.openai_url if wire == "openai" else model.url
    return init_chat_model(f"{wire}:scripted", base_url=url, api_key="none", max_retries=0)


def write(house: Automations, **automation: Any) -> Any:
    fields: dict[str, Any] = {"alias": "A", "triggers": [{"trigger": "sun", "event": "sunset"}], "actions": [ACTION]}
    return house.write_automation(**{**fields, **automation})


@pytest.mark.anyio
@pytest.mark.parametrize("wire", ["openai", "anthropic"])
async def test_a_wish_becomes_an_automation_through_what_the_house_has(
    runtime: BlockingRuntime, house: Automations, wire: str
) -> None:
    with ModelServer([ModelAnswer(PROGRAM), SAID]) as model:
        found = await WishChain(runtime, use_model(model, wire), house).answer(WISH)

    automation = yaml.safe_load(found["yaml"] or "")
    assert automation["triggers"] == [{"trigger": "state", "entity_id": ["person.anna", "person.ben"], "to": "home"}]
    assert automation["conditions"] == [DARK]
    assert automation["actions"] == [{"action": "light.turn_on", "target": {"entity_id": ["light.porch"]}}]
    assert (found["mode"], found["answer"], found["attempts"], found["fallback"]) == ("code", SAID.text, 1, None)
    assert "write_automation" in model.requests[0].system
    assert "person.anna" not in json.dumps(model.requests[0].messages), "devices are not in the prompt"
    assert found["tokens"]["used"] > 416
    assert found["tokens"]["direct"], "what direct calls would have cost is known"
    assert found["tokens"]["saved_percent"] is not None


@pytest.mark.anyio
async def test_a_guessed_device_is_refused_with_what_comes_closest_and_mended(
    runtime: BlockingRuntime, house: Automations
) -> None:
    with ModelServer([ModelAnswer(GUESSED), ModelAnswer(PROGRAM), SAID]) as model:
        found = await WishChain(runtime, use_model(model), house).answer(WISH)

    assert "the house has no light.porch_light; it has light.porch" in model.requests[1].last_text
    assert (found["mode"], found["attempts"], found["alias"]) == ("code", 2, "Porch light on arrival")


@pytest.mark.anyio
async def test_without_the_executor_the_model_writes_alone_and_is_corrected(house: Automations) -> None:
    answers = [ModelAnswer(WRITTEN.replace("ENTITY", "veranda")), ModelAnswer(WRITTEN.replace("ENTITY", "porch"))]
    with ModelServer(answers) as model:
        chain = WishChain("http://127.0.0.1:9", use_model(model), house)
        found = await chain.answer(WISH)

    assert (found["mode"], found["attempts"], found["problem"], found["answer"]) == ("direct", 2, None, "It is done.")
    assert (found["fallback"] or "").startswith("upstream.unavailable")
    assert "light.porch" in model.requests[0].system
    assert "the house has no light.veranda" in model.requests[1].last_text
    assert yaml.safe_load(found["yaml"] or "")["actions"] == [ACTION]
    assert found["tokens"]["used"] > 0
    assert chain.counts == {"direct": 1}


@pytest.mark.anyio
@pytest.mark.parametrize("program", ["```python\n1 / 0\n```", "```python\n{'yaml': 'alias: nothing'}\n```"])
async def test_a_program_without_an_automation_leads_to_the_model_alone(
    runtime: BlockingRuntime, house: Automations, program: str
) -> None:
    answers: Sequence[ModelAnswer] = [ModelAnswer(program), ModelAnswer("done"), ModelAnswer("I cannot.")]
    with ModelServer(answers[:1] + answers[2:] if "1 / 0" in program else answers) as model:
        found = await WishChain(runtime, use_model(model), house, attempts=1).answer(WISH)

    assert (found["mode"], found["yaml"], found["problem"]) == ("direct", None, "the model wrote no automation")


@pytest.mark.anyio
async def test_what_needs_no_automation_is_answered_in_words(runtime: BlockingRuntime, house: Automations) -> None:
    with ModelServer([ModelAnswer("Hello!")]) as model:
        found = await WishChain(runtime, use_model(model), house).as_chain().ainvoke("hello")

    assert (found["mode"], found["answer"], found["yaml"]) == ("text", "Hello!", None)


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("automation", "why"),
    [
        ({"triggers": [{"platform": "sun"}]}, r"triggers\[0\] needs 'trigger', one of state, numeric_state, sun, time"),
        ({"triggers": [{"trigger": "sun", "event": "dusk"}]}, r"triggers\[0\]\.event: .*its keys: alias, trigger, event, offset"),
        ({"triggers": [{"trigger": "state", "entity_id": "person.carl", "to": "home"}]}, "the house has no person.carl"),
        (
            {"triggers": [{"trigger": "state", "entity_id": "person.anna", "to": "arrived"}]},
            "person.anna is never 'arrived'; it is",
        ),
        ({"conditions": [{"condition": "state", "entity_id": "sun.sun", "state": "set"}]}, "sun.sun is never 'set'"),
        ({"conditions": [{"condition": "or", "conditions": ["dark"]}]}, r"conditions\[0\]\.conditions\[0\] needs 'condition'"),
        (
            {"actions": [{"action": "light.turn_on", "target": {"entity_id": "lock.front_door"}}]},
            "lock.front_door cannot do light",
        ),
        ({"actions": [{"action": "shell_command.run", "target": {"entity_id": "light.porch"}}]}, "no automation: actions"),
        ({"actions": [{"action": "climate.set_hvac_mode", "target": {"entity_id": "climate.office"}}]}, "needs data: {hvac_mode"),
        ({"triggers": []}, "no automation: the automation.triggers"),
    ],
)
async def test_what_the_house_cannot_do_is_refused_with_what_it_can(house: Automations, automation: Any, why: str) -> None:
    with pytest.raises(ToolError, match=why):
        await write(house, **automation)


@pytest.mark.anyio
async def test_conditions_may_be_grouped_but_not_without_end(house: Automations) -> None:
    grouped: dict[str, Any] = {"condition": "and", "conditions": [DARK, {"condition": "time", "weekday": ["sat", "sun"]}]}
    assert yaml.safe_load((await write(house, conditions=[grouped]))["yaml"])["conditions"] == [grouped]
    for _ in range(3):
        grouped = {"condition": "not", "conditions": [grouped]}
    with pytest.raises(ToolError, match="nested more than 3 deep"):
        await write(house, conditions=[grouped])


def test_the_route_answers_and_says_what_it_lacks(runtime: BlockingRuntime, house: Automations, monkeypatch: Any) -> None:
    with ModelServer([ModelAnswer(PROGRAM), SAID, ModelFailure(401, "bad key")]) as model:
        router = make_router(house, lambda known: WishChain(runtime, use_model(model), known))
        with TestClient(build_app("automation", house, routers=[router]), base_url="http://127.0.0.1") as client:
            answered = client.post("/automations", json={"wish": WISH})
            failed = client.post("/automations", json={"wish": WISH})
            refused = [client.post("/automations", json=body).status_code for body in ({}, {"wish": "x" * 2_001}, {"wish": ""})]
    assert (answered.status_code, answered.json()["alias"]) == (200, "Porch light on arrival")
    assert (failed.status_code, refused) == (502, [422, 422, 422])
    assert "AuthenticationError" in failed.json()["detail"]

    monkeypatch.delenv("HOMEIQ_MODEL", raising=False)
    with TestClient(build_app("automation", house, routers=[make_router(house)]), base_url="http://127.0.0.1") as client:
        unset = client.post("/automations", json={"wish": WISH})
        monkeypatch.setenv("HOMEIQ_MODEL", "nobody:model")
        unknown = client.post("/automations", json={"wish": WISH})
    assert (unset.status_code, unknown.status_code) == (503, 503)
    assert "set HOMEIQ_MODEL" in unset.json()["detail"]
