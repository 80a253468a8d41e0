"""How text becomes terms."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gristmill.catalog.search.search_terms import MAX_CHARS, extract_terms, split_words, stem_word
from gristmill.near_names import find_near_names


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("getUserID2", ["getuserid2", "get", "user", "id", "2"]),
        ("HTTPServer", ["httpserver", "http", "server"]),
        ("snake_case-kebab.dot", ["snake", "case", "kebab", "dot"]),
        ("Crème BRÛLÉE", ["creme", "brulee"]),
        ("搜索词", ["搜索", "索词"]),
        ("한국어", ["한국어"]),
        ("", []),
    ],
)
def test_text_is_split_into_folded_words(text: str, expected: list[str]):
    assert split_words(text) == expected


@pytest.mark.parametrize(
    "family",
    [
        ("search", "searches", "searching", "searched"),
        ("create", "creates", "creating", "created", "creation", "creator"),
        ("query", "queries"),
        ("run", "running", "runs"),
        ("address", "addresses"),
    ],
)
def test_forms_of_a_word_have_one_stem(family: tuple[str, ...]):
    assert len({stem_word(word) for word in family}) == 1


@pytest.mark.parametrize("word", ["bus", "news", "thing", "class", "id", "s3", "été"])
def test_a_stem_keeps_enough_of_the_word(word: str):
    assert len(stem_word(word)) >= min(len(word), 3)


def test_words_that_say_nothing_are_no_terms():
    assert extract_terms("what is the weather") == extract_terms("weather")


def test_a_text_is_read_only_so_far():
    assert len(split_words("ab " * MAX_CHARS)) <= MAX_CHARS


@given(st.text())
def test_any_text_gives_terms_without_line_breaks(text: str):
    assert all(term and "\n" not in term for term in extract_terms(text))


def test_near_names_are_the_closest_ones():
    known = ["github.search_issues", "github.get_issue", "mail.send", "jira.search_issues"]

    assert find_near_names("search_issue", known)[:2] == ("jira.search_issues", "github.search_issues")
    assert find_near_names("zzzz", known) == ()
    assert find_near_names("", known) == ()
    assert find_near_names("x" * 1_000_000, known) == ()
