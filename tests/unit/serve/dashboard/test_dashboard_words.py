"""The words of the pages: plain English for what the service calls otherwise, and no word of the inside on a page."""

import re

import pytest

from tests.unit.serve.dashboard.scripts import DASHBOARD, said

IMPORTS = 'import * as words from "./src/text/words.ts";'
ASKS = {
    'policy.default "annotations"': "this tool is not marked read-only",
    'policy.default "ask"': "no rule of the policy allows it",
    'policy.ask "shop.write_*"': "the policy asks about shop.write_*",
    "policy.rules ask \"bank.*\", when = 'amount > 5'": "a rule of the policy asks about bank.*, when = 'amount > 5'",
    'policy.changed_definitions "ask"': "the definition of this tool has changed since it was accepted",
    "something new": "the rule something new asks",
}
DECIDED = {
    ('policy.default "annotations"', "allow"): "allowed: this tool is marked read-only",
    ('policy.default "annotations"', "ask"): "needs approval: this tool is not marked read-only",
    ('policy.default "deny"', "deny"): "denied: no rule of the policy names it",
    ('policy.allow "time.*"', "allow"): "allowed: the policy allows time.*",
    ('policy.deny "pam.delete_*"', "deny"): "denied: the policy denies pam.delete_*",
    ('policy.ask "a.b", approval ap_12', "ask"): "decided by a person (ap_12)",
    ("approval ap_12", "ask"): "decided by a person (ap_12)",
    ('policy.ask "a.b", always allowed by rita (ar_12)', "allow"): "always allowed by rita (rule ar_12)",
    ("policy.default: Gristmill's own", "allow"): "allowed: it is Gristmill's own",
    ("something new", "allow"): "decided by something new",
}
INSIDE = (
    "asks by",
    "allowed anyway",
    "Result, as planned",
    "Change token",
    "standing",
    "elicit",
    "upstream.",
    "redact",
    "placeholder of",
)
"""Words of the inside, or of earlier pages, that no text on a page has."""
TEXT = re.compile(r">\s*([^<>{}=;()]*[A-Za-z][^<>{}=;()]*)<|(?:title|label|lead|hint|note|placeholder)=\"([^\"]+)\"")


def test_a_rule_is_told_in_plain_words() -> None:
    assert said(IMPORTS, "(...rules) => rules.map(words.describeRule)", *ASKS) == list(ASKS.values())
    found = said(
        IMPORTS, "(...rules) => rules.map(([rule, decision]) => words.describeDecided(rule, decision))", *map(list, DECIDED)
    )
    assert found == list(DECIDED.values())


def test_words_that_people_look_for_are_those() -> None:
    table = said(IMPORTS, "() => ({ ...words.STATUS_WORDS, ...words.WORDS, verified: words.describeVerified('808') })")
    assert table["preview"] == "Preview (nothing has been sent)"
    assert (table["signIn"], table["signOut"]) == ("Sign in", "Sign out")
    assert table["pending"] == "waits for a decision"
    assert table["verified"] == "Verified: 808 records, none missing or changed."
    assert [word for word in table.values() if "_" in word] == []


@pytest.mark.parametrize("word", INSIDE)
def test_no_page_has_words_of_the_inside(word: str) -> None:
    texts = [
        (path.name, text.strip())
        for path in sorted((DASHBOARD / "src").rglob("*.tsx"))
        for text in ("".join(found) for found in TEXT.findall(path.read_text()))
    ]
    assert len(texts) > 100, "the pages have texts"
    assert [(name, text) for name, text in texts if word in text] == []
