"""The tenant that holds most makes room first."""

import pytest

from gristmill.sandbox.pool.fair_eviction import HeldInterpreter, choose_evicted


def held(share: str, *times: float, weight: float = 1) -> list[HeldInterpreter]:
    return [HeldInterpreter(name=f"{share}{used:g}", share=share, used=used, is_idle=True, weight=weight) for used in times]


@pytest.mark.requirement("T135")
def test_of_two_tenants_above_their_share_the_larger_one_makes_room() -> None:
    assert choose_evicted([*held("large", 5, 6, 7, 8, 9), *held("small", 1, 2, 3), *held("one", 0)], 6) == "large5"


def test_what_weighs_more_counts_more() -> None:
    assert choose_evicted([*held("many", 1, 2, 3, weight=1), *held("heavy", 4, weight=50)], 40) == "heavy4"


def test_nothing_is_dropped_where_all_fits() -> None:
    assert choose_evicted([*held("a", 1, 2), *held("b", 3)], 3) is None
