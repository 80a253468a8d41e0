"""How fully each hit of a search is written."""

from gristmill.catalog.answers.choose_details import HitDetails, choose_details
from gristmill.catalog.search.search_hits import SearchHit
from gristmill.model import Tool


def _hits(**scores: float) -> list[SearchHit]:
    return [SearchHit(tool=Tool(server="s", name=name), score=score) for name, score in scores.items()]


def test_hits_that_fit_nearly_as_well_as_the_best_are_written_in_full_up_to_two() -> None:
    assert choose_details(_hits(a=10, b=9, c=9)) == HitDetails(full=("s.a", "s.b"))


def test_a_second_hit_that_fits_worse_gets_one_line() -> None:
    assert choose_details(_hits(a=10, b=8)) == HitDetails(full=("s.a",))


def test_hits_that_fit_much_worse_are_named_and_those_that_hardly_fit_are_left_out() -> None:
    assert choose_details(_hits(a=10, b=6.9, c=4, d=3.9, e=-2)) == HitDetails(
        full=("s.a",), named=frozenset(("s.b", "s.c")), left_out=frozenset(("s.d", "s.e"))
    )


def test_without_a_score_the_first_two_are_written_in_full() -> None:
    assert choose_details(_hits(a=0, b=0, c=0)) == HitDetails(full=("s.a", "s.b"))
    assert choose_details([]) == HitDetails()
