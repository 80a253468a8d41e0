"""The literals of a program get the form that results have, so that they can be compared."""

import ast
from typing import Any

import pytest

from gristmill.guard.mask.detector import DetectionTargets, Detector
from gristmill.guard.mask.program_literals import mask_literals, unmask_literals
from gristmill.guard.mask.redactor import Redactor
from gristmill.guard.mask.vault import MaskVault


@pytest.fixture
def session() -> Redactor:
    return Redactor(MaskVault(key=b"thirty-two random bytes, kept safe"), Detector())


def run(code: str, **names: Any) -> Any:
    exec(code, names)
    return names["x"]


ROWS = [{"mail": "ann@example.org", "phone": "5552234567", "card": 4111111111111111}, {"mail": "bob@example.org"}]
COMPARING = [
    "x = [r for r in rows if r['mail'] == 'ann@example.org']",
    'target = "ann@example.org"\nx = [r for r in rows if target in r.values()]',
    "x = {r['mail']: r for r in rows}['ann@example.org']",
    "x = [r for r in rows if r['mail'] in ('ann@example.org', 'zed@example.org')]",
    "x = [r for r in rows if r.get('card') == 4111111111111111]",
    "x = [r for r in rows if r.get('phone') == '5552234567']",
    "for r in rows:\n    match r['mail']:\n        case 'ann@example.org': x = r",
    "ä = 'ö'; x = [r for r in rows if 'ann@example.org' == r['mail']]  # ü",
]


@pytest.mark.parametrize("code", COMPARING)
def test_masked_rows_are_found_by_the_real_value(session: Redactor, code: str) -> None:
    masked: Any = session.mask(ROWS)
    assert run(mask_literals(code, session), rows=masked) in ([masked[0]], masked[0])


@pytest.mark.parametrize("code", COMPARING)
def test_real_rows_are_found_by_the_placeholder(session: Redactor, code: str) -> None:
    masked = mask_literals(code, session) if session.mask(ROWS) else ""
    assert "ann@example.org" not in masked
    assert run(unmask_literals(masked, session), rows=ROWS) in ([ROWS[0]], ROWS[0])


def test_a_placeholder_inside_of_a_text_becomes_the_value(session: Redactor) -> None:
    mask = session.mask("ann@example.org")
    assert run(unmask_literals(f"x = 'To: {mask}!'", session)) == "To: ann@example.org!"


@pytest.mark.parametrize(
    "code",
    [
        "x = 'To: ann@example.org'",  # only a part of the text
        "mail = 'a'\nx = f'ann@example.org {mail}'",
        "x = 1  # ann@example.org",
        "x = '''\nann@example.org'''",
        "x = b'ann@example.org'",
        "x = 1234567890123",
        "x = 'ann@example.org",  # does not parse
        "x = 'hello'",
        "(" * 300 + "'ann@example.org'" + ")" * 300,
    ],
)
def test_everything_else_stays_as_it_is(session: Redactor, code: str) -> None:
    assert mask_literals(code, session) == code
    assert unmask_literals(code, session) == code


def test_placeholders_of_another_session_stay(session: Redactor) -> None:
    stranger = Redactor(MaskVault(key=b"another session has another key.."), Detector())
    code = f"x = {stranger.mask('ann@example.org')!r}"
    session.mask("bob@example.org")
    assert unmask_literals(code, session) == code


def test_a_value_with_quotes_and_line_ends_stays_one_literal() -> None:
    session = Redactor(
        MaskVault(key=b"thirty-two random bytes, kept safe"), Detector(DetectionTargets(patterns={"odd": "odd[^z]*z"}))
    )
    value = "odd'\"\\ é \u2028z"
    code = unmask_literals(f"x = {session.mask(value)!r}\ny = 2", session)
    assert ast.literal_eval(ast.parse(code).body[0].value) == value  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownArgumentType]
