"""Finds keys and tokens, by the prefixes of their issuers and by the words that people write before them.

One pass of an automaton searches for all prefixes and words; a pattern is tried only where one of them was found.
"""

import re
from collections.abc import Callable
from functools import cache

from ahocorasick_rs import Implementation

from gristmill.guard.mask.detectors.literal_search import build_literal_search
from gristmill.guard.mask.field_hints import is_secret_value, read_hint
from gristmill.guard.mask.text.text_spans import Found

# Bodies have a minimum length and no maximum: a match is consumed whole, so that no text is ever read twice.
_ISSUED_TOKENS = {
    "AKIA ASIA ABIA ACCA": r"[A-Z2-7]{16}+(?![A-Za-z0-9])",  # AWS
    "ghp_ gho_ ghu_ ghs_ ghr_": r"[A-Za-z0-9]{36,}+",  # GitHub
    "github_pat_": r"[A-Za-z0-9_]{36,}+",
    "glpat- glptt- gldt- glrt- glcbt- glsoat- glft- glimt-": r"[A-Za-z0-9_.-]{20,}+",  # GitLab
    "xoxb- xoxp- xoxa- xoxr- xoxs- xoxe- xoxc- xoxd- xapp-": r"[A-Za-z0-9-]{10,}+",  # Slack
    "hooks.slack.com/services/ hooks.slack.com/workflows/ hooks.slack.com/triggers/": r"[A-Za-z0-9/_-]{20,}+",
    "discord.com/api/webhooks/ discordapp.com/api/webhooks/": r"[A-Za-z0-9/_-]{40,}+",
    "sk_live_ sk_test_ rk_live_ rk_test_": r"[A-Za-z0-9]{10,}+",  # Stripe
    "whsec_": r"[A-Za-z0-9+/=]{24,}+",
    "AIza": r"[A-Za-z0-9_-]{35,}+",  # Google
    "ya29.": r"[A-Za-z0-9_.-]{20,}+",
    "GOCSPX-": r"[A-Za-z0-9_-]{20,}+",
    "sk-ant- sk-proj- sk-svcacct- sk-admin- sk-or-v1- sk-lf-": r"[A-Za-z0-9_-]{20,}+",  # Anthropic, OpenAI, OpenRouter, Langfuse
    "sk-": r"[A-Za-z0-9]{32,}+",
    "hf_": r"[A-Za-z]{30,}+",  # Hugging Face
    "gsk_ xai- pplx- fw_ nvapi- r8_ tvly- fc-": r"[A-Za-z0-9_-]{32,}+",  # Groq, xAI, Perplexity, Fireworks, NVIDIA, Replicate ...
    "npm_": r"[A-Za-z0-9]{36,}+",
    "pypi-AgE": r"[A-Za-z0-9_-]{40,}+",
    "dckr_pat_ dckr_oat_": r"[A-Za-z0-9_-]{20,}+",
    "dop_v1_ doo_v1_ dor_v1_": r"[a-f0-9]{64,}+",  # DigitalOcean
    "SG.": r"[A-Za-z0-9_-]{16,32}+\.[A-Za-z0-9_-]{16,}+",  # SendGrid
    "shpat_ shpca_ shppa_ shpss_": r"[A-Fa-f0-9]{32,}+",  # Shopify
    "sq0atp- sq0csp- EAAAE": r"[A-Za-z0-9_-]{22,}+",  # Square
    "hvs. hvb. hvr.": r"[A-Za-z0-9_-]{24,}+",  # Vault
    "glsa_ glc_": r"[A-Za-z0-9_+/=]{32,}+",  # Grafana
    "dapi": r"[a-f0-9]{32,}+",  # Databricks
    "lin_api_ lin_oauth_": r"[A-Za-z0-9]{32,}+",  # Linear
    "ntn_ secret_": r"[A-Za-z0-9]{40,}+",  # Notion
    "ATATT3 ATCTT3 ATBB": r"[A-Za-z0-9_=-]{28,}+",  # Atlassian
    "PMAK-": r"[a-f0-9]{24}-[a-f0-9]{34}",  # Postman
    "NRAK- NRJS- NRII-": r"[A-Za-z0-9_-]{19,}+",  # New Relic
    "sntrys_ sntryu_ rubygems_ figd_ sbp_ tfp_ pscale_tkn_ pscale_pw_": r"[A-Za-z0-9_=+/.-]{32,}+",
    "dp.pt. dp.st. dp.ct.": r"[A-Za-z0-9_.]{40,}+",  # Doppler
    "AGE-SECRET-KEY-1": r"[A-Z0-9]{50,}+",
    ":AA": r"[A-Za-z0-9_-]{33}+(?![A-Za-z0-9_-])",  # Telegram, after the digits of the bot
    "eyJ": r"[A-Za-z0-9_-]{8,}+\.[A-Za-z0-9_-]{8,}+\.[A-Za-z0-9_-]*+",  # JSON web tokens
}
_PEM = (
    r"(?:[A-Z0-9]{1,20} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
    r"(?:[A-Za-z0-9+/=\s:,.\\()]++|-(?!----)){0,2000}+(?:-----END [A-Z0-9 ]{1,60}-----)?"
)

_WORDS = (
    "password passwd pwd passphrase passcode secret token apikey api_key api-key apiKey access_key access-key accessKey "
    "private_key privateKey signing_key auth_key AccountKey accountkey SharedAccessKey credential authorization cookie"
).split()
_SCHEMES = ("Bearer ", "bearer ", "BEARER ", "Basic ")
_SCHEME_VALUE = re.compile(r"[A-Za-z0-9_.~+/=-]{16,}+")
_ASSIGNED = re.compile(
    r"""[\w.-]{0,40}+\\?["'\]]{0,2}[ \t]{0,4}(?:=>|:=|[:=])[ \t]{0,4}(?:\\?["'`])?(?:(?:Bearer|Basic|Token)[ ])?"""
    r"""([^\s"'`,;<>{}\[\]()&\\\0]{6,}+)"""
)
_LONG_VALUE = 256
_NAME_BACKWARDS = re.compile(r"[\w.-]{0,40}")
_NAME = re.compile(r"[\w.-]{1,64}")


def _list_spellings(word: str) -> set[str]:
    return {word, word.upper(), word[0].upper() + word[1:], word.title()}


def build_secret_finder() -> Callable[[str], Found]:
    """Builds a search for ``secret``."""
    issued = [(prefix, body) for prefixes, body in _ISSUED_TOKENS.items() for prefix in prefixes.split()] + [
        ("-----BEGIN ", _PEM)
    ]

    @cache  # there are a hundred patterns; a start needs none and most texts few of them
    def compile_token_pattern(which: int) -> re.Pattern[str]:
        prefix, body = issued[which]
        return re.compile(re.escape(prefix) + body)

    words = sorted({spelling for word in _WORDS for spelling in _list_spellings(word)})
    search = build_literal_search([prefix for prefix, _ in issued] + words + list(_SCHEMES), Implementation.DFA)
    first_word, first_scheme = len(issued), len(issued) + len(words)

    def find(text: str) -> Found:
        found: Found = []
        read_to = 0
        for which, start, end in search(text):
            if start < read_to:
                continue
            if which < first_word:
                # "task-" contains "sk-": a token never begins inside a longer word.
                before, first = text[start - 1 : start], text[start]
                if first != ":" and (before.isalnum() or before == "_" or (before == "-" and first != "-")):
                    continue
                span = _match_issued_token(text, start, compile_token_pattern(which))
            else:
                span = _match_assigned_value(text, start) if which < first_scheme else _match_scheme_value(text, end)
            if span and span[0] < span[1]:
                found.append((*span, "SECRET"))
            read_to = span[1] if span else read_to
        return found

    return find


def _match_issued_token(text: str, start: int, pattern: re.Pattern[str]) -> tuple[int, int] | None:
    if text[start] == ":":  # the digits before the colon belong to the token of a Telegram bot
        digits = _BOT_BACKWARDS.match(text[max(0, start - 12) : start][::-1])
        match = pattern.match(text, start) if digits else None
        return (start - len(digits[0]), match.end()) if digits and match else None
    match = pattern.match(text, start)
    return (start, match.end()) if match else None


_BOT_BACKWARDS = re.compile(r"[0-9]{8,10}(?![0-9A-Za-z])")


def _match_assigned_value(text: str, start: int) -> tuple[int, int] | None:
    """Returns the span of the value in ``API_KEY=…``, ``"password": "…"`` and similar, if it is not just a word."""
    match = _ASSIGNED.match(text, start)
    if match is None:
        return None
    before = _NAME_BACKWARDS.match(text[max(0, start - 40) : start][::-1])
    name = _NAME.match(text, start - len(before[0]) if before else start)
    hint = read_hint(name[0]) if name else None
    value = match[1]
    if hint not in ("password", "key") or not is_secret_value(hint, value) or _is_word(value):
        # A long value is skipped whole, or a text such as "token=token=..." would be read again and again.
        return (match.end(), match.end()) if len(value) > _LONG_VALUE else None
    return match.span(1)


def _is_word(value: str) -> bool:
    """Tells whether the value is an ordinary word, as in "password: required"."""
    return value.isalpha() and (value.islower() or value.istitle())


def _match_scheme_value(text: str, end: int) -> tuple[int, int] | None:
    match = _SCHEME_VALUE.match(text, end)
    return match.span() if match and not match[0].isalpha() else None
