"""What the layers know about a run."""

import hashlib
import json

from hypothesis import example, given
from hypothesis import strategies as st

from gristmill.model import Json
from gristmill.runtime.execution.execution_state import call_hash

ARGUMENTS = st.dictionaries(
    st.text(max_size=4),
    st.one_of(
        st.text(max_size=8),
        st.integers(),
        st.floats(),
        st.booleans(),
        st.none(),
        st.lists(st.one_of(st.integers(), st.floats()), max_size=2),
    ),
    max_size=4,
)


@given(ARGUMENTS)
@example({"a": 1e16, "b": "\ud800", "c": 2**70})
@example({"é": '\x01\x7f\u2028"\\/', "e": -1, "E": None})
def test_the_hash_of_a_call_is_that_of_its_sorted_json(arguments: dict[str, Json]) -> None:
    text = json.dumps(["crm.find", arguments], sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert call_hash("crm.find", arguments) == hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
