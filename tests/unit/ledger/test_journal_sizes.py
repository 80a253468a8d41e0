"""A full journal gives up runs of the tenant that fills it."""

import pytest

from gristmill.ledger.journal_sizes import RunSize, choose_excess


def run(tenant: str, changed: float, size: int = 10) -> RunSize:
    return RunSize(root=f"{tenant}{changed:g}", tenant=tenant, size=size, changed=changed)


def test_what_fits_is_kept() -> None:
    assert list(choose_excess([run("a", 1), run("a", 2)], 20)) == []


@pytest.mark.requirement("T134")
def test_the_largest_tenant_loses_its_oldest_runs_first_and_others_keep_theirs() -> None:
    runs = [run("modest", 0), *(run("greedy", number) for number in range(1, 10))]
    assert list(choose_excess(runs, 60)) == ["greedy1", "greedy2", "greedy3", "greedy4"]


def test_tenants_of_the_same_size_lose_alike() -> None:
    runs = [run(tenant, number) for tenant in "ab" for number in range(4)]
    assert sorted(choose_excess(runs, 40)) == ["a0", "a1", "b0", "b1"]
    assert len(list(choose_excess(runs, 0))) == 8
