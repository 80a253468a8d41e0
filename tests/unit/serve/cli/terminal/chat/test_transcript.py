"""A conversation as Markdown."""

from gristmill.runtime.values.kept_conversations import ConversationMessage, MessageKind
from gristmill.serve.cli.terminal.chat.transcript import RESULT_CHARACTERS, write_transcript

WRITTEN = """\
## What is six times seven?

I work it out.

````python
print('```', 6 * 7)
````

```text
42
```

It is **42**.

> stopped
"""


def make(number: int, kind: MessageKind, **data: object) -> ConversationMessage:
    return ConversationMessage(number=number, turn=1, kind=kind, body={"type": kind, "data": data})


def test_questions_programs_results_and_answers_are_written_in_order() -> None:
    said = [
        make(1, "user", content="What is six times seven?"),
        make(2, "model", content=[{"type": "text", "text": "I work it out."}, {"type": "tool_use", "id": "1"}],
             tool_calls=[{"name": "execute_code", "args": {"code": "print('```', 6 * 7)"}}]),
        make(3, "result", content="42\n"),
        make(4, "model", content="It is **42**."),
        make(5, "note", content="stopped"),
    ]  # fmt: skip
    assert write_transcript(said) == WRITTEN


def test_long_questions_and_results_are_bounded() -> None:
    said = [make(1, "user", content="x" * 100), make(2, "model", content="", tool_calls=[{"name": "search_tools", "args": {"query": "a"}}]),
            make(3, "result", content="y" * 10_000)]  # fmt: skip
    text = write_transcript(said)
    assert text.startswith("## Question\n\nxxx")
    assert 'search_tools {"query": "a"}' in text
    assert len(text) < RESULT_CHARACTERS + 300
