"""What the scripted model server refuses as the real services do, and scripts in files."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx2
import pytest

from gristmill.errors import ConfigError
from gristmill.testing import ModelAnswer, ModelFailure, ModelServer, answer_by_question, read_model_script

TEXT = ModelAnswer("Hello there, you.")
ASKS_OPENAI: dict[str, Any] = {
    "role": "assistant",
    "tool_calls": [{"id": "1", "type": "function", "function": {"name": "w", "arguments": "{}"}}],
}
ASKS_ANTHROPIC: dict[str, Any] = {"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "w", "input": {}}]}


def post(model: ModelServer, path: str, **body: Any) -> httpx2.Response:
    return httpx2.post(f"{model.url}{path}", json={"model": "m", "messages": [], **body}, timeout=30)


@pytest.mark.parametrize(
    ("path", "messages", "says"),
    [
        ("/v1/chat/completions", [ASKS_OPENAI, {"role": "user", "content": "go on"}], "did not have response messages: 1"),
        ("/v1/chat/completions", [ASKS_OPENAI], "did not have response messages: 1"),
        ("/v1/chat/completions", [{"role": "tool", "tool_call_id": "1", "content": ""}], "must be a response to a preceding"),
        (
            "/v1/messages",
            [ASKS_ANTHROPIC, {"role": "user", "content": "go on"}],
            "without `tool_result` blocks immediately after: 1",
        ),
        ("/v1/messages", [ASKS_ANTHROPIC], "without `tool_result` blocks immediately after: 1"),
        (
            "/v1/messages",
            [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "2", "content": "x"}]}],
            "unexpected `tool_use_id`",
        ),
    ],
)
def test_a_conversation_that_the_real_service_refuses_is_refused(path: str, messages: list[Any], says: str) -> None:
    with ModelServer([TEXT]) as model:
        refused = post(model, path, messages=messages)
    assert refused.status_code == 400
    assert says in refused.json()["error"]["message"]


def test_a_conversation_that_is_too_long_is_refused_as_the_real_services_do() -> None:
    with ModelServer([TEXT], context_tokens=50) as model:
        long = [{"role": "user", "content": "word " * 100}]
        first, second = post(model, "/v1/chat/completions", messages=long), post(model, "/v1/messages", messages=long)
        assert post(model, "/v1/messages").status_code == 200
    assert first.json()["error"]["code"] == "context_length_exceeded"
    assert second.json()["error"]["message"].startswith("prompt is too long: ")


SCRIPT = """{
 "porch light": [{"code": "6 * 7", "cached_tokens": 3}, {"text": "It is on."}],
 "and now?": [{"status": 529, "text": "Overloaded"}],
 "": [{"text": "I do not know."}]
}"""


def test_a_script_in_a_file_answers_each_question_from_its_beginning(tmp_path: Path) -> None:
    file = tmp_path / "script.json"
    file.write_text(SCRIPT)
    asked: list[Any] = [{"role": "user", "content": "turn the porch light on"}]
    with ModelServer(read_model_script(file)) as model:
        first = post(model, "/v1/messages", messages=asked).json()
        asked += [{"role": "assistant", "content": first["content"]}]
        asked += [
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": first["content"][0]["id"], "content": "42"}]}
        ]
        second = post(model, "/v1/messages", messages=asked).json()
        asked += [{"role": "assistant", "content": second["content"]}, {"role": "user", "content": "and now?"}]
        third = post(model, "/v1/messages", messages=asked)
        fourth = post(model, "/v1/chat/completions", messages=[{"role": "user", "content": "hello"}]).json()
    assert first["content"][0]["input"] == {"code": "6 * 7"}
    assert second["content"][0]["text"] == "It is on."
    assert third.status_code == 529
    assert fourth["choices"][0]["message"]["content"] == "I do not know."


def test_a_failure_before_an_answer_is_given_once_and_one_at_the_end_always() -> None:
    script = answer_by_question({"a": [ModelFailure(429), ModelFailure(503), TEXT], "b": [ModelFailure(401)], "c": [TEXT]})
    with ModelServer(script) as model:

        def ask(text: str) -> int:
            return post(model, "/v1/messages", messages=[{"role": "user", "content": text}]).status_code

        assert [ask("a") for _ in range(4)] == [429, 503, 200, 200]
        assert [ask("b") for _ in range(2)] == [401, 401]
        over = [{"role": "user", "content": "c"}, {"role": "assistant", "content": "d"}]
        assert "only 1 answers" in post(model, "/v1/messages", messages=over).text
        assert "no answer to 'x'" in post(model, "/v1/messages", messages=[{"role": "user", "content": "x"}]).text


@pytest.mark.parametrize("text", ["[]", '{"a": [{"txt": "b"}]}', "{"])
def test_a_file_that_is_no_script_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "script.json"
    file.write_text(text)
    with pytest.raises(ConfigError, match="no script of a model"):
        read_model_script(file)


def test_a_script_can_be_served_from_a_command_line(tmp_path: Path) -> None:
    file = tmp_path / "script.json"
    file.write_text(SCRIPT)
    with subprocess.Popen([sys.executable, "-m", "gristmill.testing", str(file)], stdout=subprocess.PIPE, text=True) as served:
        assert served.stdout is not None
        address = served.stdout.readline().split()[1]
        said = httpx2.post(
            f"{address}/chat/completions", json={"messages": [{"role": "user", "content": "hi"}]}, timeout=30
        ).json()
        served.terminate()
    assert said["choices"][0]["message"]["content"] == "I do not know."
