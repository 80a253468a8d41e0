"""A wish becomes an automation: a program asks the house and checks what it writes; without a sandbox the model does it alone."""

import json
import re
from collections import Counter
from typing import Any, Literal, cast

import yaml
from langchain_core.callbacks import UsageMetadataCallbackHandler
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.runnables import Runnable, RunnableLambda
from typing_extensions import TypedDict

from examples.homeiq.automation import Automations, list_states
from examples.homeiq.forms import CONDITIONS, SERVICES, TRIGGERS, check_devices
from examples.homeiq.writing import check
from gristmill.errors import Error
from langchain_gristmill import MCPCodeExecutionChain

ATTEMPTS = 3
FRAME = """A person in the house wishes: {wish}

Find the devices that are meant (get_devices has people too, as domain person), and build the Home Assistant automation with
write_automation, which checks it. The value of the program's last expression is what write_automation returned."""
DIRECT_PROMPT = """Write one Home Assistant automation (2024.10 or later: triggers, conditions, actions) for the wish of a person
in the house, as YAML in one block that begins with ```yaml, and one sentence about it before the block. Triggers are
{triggers}; conditions are {conditions}. From sunset to sunrise the entity sun.sun is below_horizon. These are the devices, one
per line:

{devices}"""
_BLOCK = re.compile(r"```ya?ml\s*\n(.*?)```", re.DOTALL)


class WishTokens(TypedDict):
    """What the answer cost, and what direct calls of the same tools would have cost; None where the accounts cannot tell."""

    used: int
    direct: int | None
    saved_percent: float | None


class WishAnswer(TypedDict):
    """An automation that has been checked against the devices of the house; without ``yaml`` there is none."""

    answer: str
    alias: str | None
    yaml: str | None
    mode: Literal["code", "text", "direct"]
    """Answered by a program, in words because no program was needed, or by the model alone."""
    fallback: str | None
    problem: str | None
    attempts: int
    tokens: WishTokens


class WishChain:
    """Answers wishes with a model and whatever runs its programs: a runtime, a client, or the address of a service."""

    def __init__(self, source: Any, model: BaseChatModel, house: Automations, *, attempts: int = ATTEMPTS) -> None:
        self._model, self._house, self._attempts = model, house, attempts
        self._programs = MCPCodeExecutionChain(source, model, attempts=attempts, fallback="raise")
        self.counts: Counter[str] = Counter()
        """How many wishes were answered, by mode."""

    def as_chain(self) -> Runnable[str, WishAnswer]:
        """Returns the chain for LangChain; it takes the wish."""
        return RunnableLambda(self.answer)

    async def answer(self, wish: str) -> WishAnswer:
        """Answers by a program; by the model alone if that fails, which then is told all devices in its prompt."""
        try:
            found = await self._answer_by_program(wish)
        except Error as error:
            found = await self._answer_alone(wish, f"{error.code}: {error.message}")
        self.counts[found["mode"]] += 1
        return found

    async def _answer_by_program(self, wish: str) -> WishAnswer:
        done = await self._programs.ainvoke({"question": FRAME.format(wish=wish)})
        attempts, used, direct = done.get("attempts", []), done.get("total_tokens", 0), done.get("direct_tokens")
        saved = round(100 * (1 - used / direct), 1) if direct else None
        answer: WishAnswer = {
            "answer": done.get("answer", ""), "alias": None, "yaml": None, "mode": "code", "fallback": None, "problem": None,
            "attempts": len(attempts), "tokens": {"used": used, "direct": direct, "saved_percent": saved},
        }  # fmt: skip
        if not attempts:
            return {**answer, "mode": "text"}
        result = attempts[-1]["outcome"].get("result")
        written = cast("dict[str, Any]", result).get("yaml") if isinstance(result, dict) else None
        try:
            # The tool has checked what it wrote; a program could have changed it since.
            alias = await self._check(str(written or ""))
        except ValueError as error:
            raise Error(f"the program did not end with an automation: {error}") from None
        return {**answer, "alias": alias, "yaml": str(written)}

    async def _answer_alone(self, wish: str, why: str) -> WishAnswer:
        devices = [
            {
                **each,
                "states": list_states(each),
                "services": sorted({service for (owner, _), service in SERVICES.items() if owner == each["domain"]}),
            }
            for each in await self._house.list_devices()
        ]
        lines = "\n".join(json.dumps(each, ensure_ascii=False) for each in devices)
        prompt = DIRECT_PROMPT.format(triggers=", ".join(TRIGGERS), conditions=", ".join(CONDITIONS), devices=lines)
        messages: list[BaseMessage] = [SystemMessage(prompt), HumanMessage(wish)]
        counted = UsageMetadataCallbackHandler()
        answer: WishAnswer = {
            "answer": "", "alias": None, "yaml": None, "mode": "direct", "fallback": why, "problem": None, "attempts": 0,
            "tokens": {"used": 0, "direct": None, "saved_percent": None},
        }  # fmt: skip
        for number in range(1, self._attempts + 1):
            text = str((await self._model.ainvoke(messages, {"callbacks": [counted]})).text)
            used = sum(each["total_tokens"] for each in counted.usage_metadata.values())
            answer.update(answer=_BLOCK.sub("", text).strip(), attempts=number)
            answer["tokens"]["used"] = used
            block = _BLOCK.search(text)
            if block is None:
                answer["problem"] = "the model wrote no automation"
                break
            try:
                answer.update(alias=await self._check(block[1]), yaml=block[1], problem=None)
                break
            except ValueError as error:
                answer["problem"] = str(error)
                messages += [
                    AIMessage(text),
                    HumanMessage(f"It is refused: {error}. Write the whole automation again, corrected."),
                ]
        return answer

    async def _check(self, text: str) -> str:
        """Returns the automation's alias.

        Raises:
            ValueError: it is no automation of this house.
        """
        check(text)
        described = yaml.safe_load(text)
        check_devices(described, {each["entity_id"]: list_states(each) for each in await self._house.list_devices()})
        return str(described["alias"])
