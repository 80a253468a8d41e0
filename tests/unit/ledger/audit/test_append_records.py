"""A record is the same text by the short way and by the long one."""

from hypothesis import example, given
from hypothesis import strategies as st

from gristmill.ledger.audit.append_records import WaitingRecord, prepare_record
from gristmill.ledger.audit.audit_entries import AuditRecord
from gristmill.ledger.audit.audit_rows import pick_columns
from gristmill.ledger.record_text import encode_canonical
from gristmill.model import Json

TEXTS = st.one_of(
    st.sampled_from(["ok", 'policy.default "allow"', "a\\b", '\\"', "\x7f", "\u202e", "é", "x" * 2_001, "\n"]),
    st.text(max_size=12),
)
ARGUMENTS = st.recursive(
    st.one_of(TEXTS, st.integers(), st.floats(), st.none(), st.booleans()),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXTS, inner, max_size=3)),
    max_leaves=6,
)


@given(
    TEXTS,
    st.one_of(st.none(), TEXTS),
    st.one_of(st.none(), st.dictionaries(TEXTS, ARGUMENTS, max_size=3), ARGUMENTS),
    st.dictionaries(TEXTS, ARGUMENTS, max_size=2),
)
@example("\x7f", '"', {"q": "\x7f"}, {})
@example("ok", None, {}, {"a": "b"})
@example("ok", None, {"q": "x" * 1_990}, {})
def test_a_record_is_kept_as_its_fields_say(name: str, rule: str | None, arguments: Json, details: dict[str, Json]) -> None:
    record = AuditRecord(kind="call", id=name, time=1.5, rule=rule, arguments=arguments, details=details)
    fields = record.fields()
    assert prepare_record(record) == WaitingRecord(pick_columns(fields), encode_canonical(fields))


def test_a_program_is_kept_with_its_hash() -> None:
    record = AuditRecord(kind="execution", id="a", time=1.5, code="1 + 1")
    assert "code_hash" in prepare_record(record).text
