"""Who gets which arm: always the same, evenly, never moved by growth, independent of other rollouts."""

import math

from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill.model import Identity
from gristmill.rollout.assign_arm import Asker, compute_weight_percent, draw_arm, draw_numbers, find_override, name_unit
from tests.unit.rollout.rollout_configs import ARMS, make_config

THREE = {**ARMS, "hybrid": {"mode": "hybrid", "weight": 3}}
NAMES = st.text(min_size=1, max_size=30)
PERCENTS = st.floats(0, 100)
MANY = 20_000


def asker(caller: str, **given: str) -> Asker:
    return Asker(identity=Identity(tenant=given.pop("tenant", "t"), caller=caller), **given)


@given(user=NAMES, percent=PERCENTS)
def test_the_same_user_always_gets_the_same_arm(user: str, percent: float) -> None:
    one, other = make_config(arms=THREE), make_config(arms=THREE)
    assert draw_arm(one, name_unit(one, asker(user)), percent) == draw_arm(other, name_unit(other, asker(user)), percent)


@given(user=NAMES, percents=st.tuples(PERCENTS, PERCENTS))
def test_growth_moves_nobody_who_has_a_new_arm(user: str, percents: tuple[float, float]) -> None:
    config = make_config(arms=THREE)
    unit, (less, more) = name_unit(config, asker(user)), sorted(percents)
    before, after = draw_arm(config, unit, less), draw_arm(config, unit, more)
    assert before in ("direct", after)


@given(user=NAMES)
def test_nobody_has_a_new_arm_at_0_and_everybody_at_100_percent(user: str) -> None:
    config = make_config(arms=THREE)
    unit = name_unit(config, asker(user))
    assert draw_arm(config, unit, 0) == "direct"
    assert draw_arm(config, unit, 100) != "direct"


@settings(max_examples=5, deadline=None)
@given(salt=NAMES, percent=st.floats(5, 95))
def test_arms_are_shared_out_as_the_percent_and_the_weights_say(salt: str, percent: float) -> None:
    config = make_config(arms=THREE, salt=salt)
    drawn = [draw_arm(config, name_unit(config, asker(f"user{number}")), percent) for number in range(MANY)]
    for arm, share in (("direct", 1 - percent / 100), ("code", percent / 400), ("hybrid", percent * 3 / 400)):
        error = math.sqrt(share * (1 - share) / MANY)
        assert abs(drawn.count(arm) / MANY - share) < 5.5 * error  # 5.5 standard errors: once in 26 million


def test_numbers_are_uniform() -> None:
    config = make_config()
    drawn = [draw_numbers(config, f"unit{number}") for number in range(MANY)]
    for which in (0, 1):
        ordered = sorted(numbers[which] for numbers in drawn)
        largest = max(abs(value - rank / MANY) for rank, value in enumerate(ordered))
        assert largest < 2 / math.sqrt(MANY)  # Kolmogorov and Smirnov: once in 1,500


def test_two_rollouts_and_two_salts_are_independent() -> None:
    one = make_config()
    for other in (make_config(name="another"), make_config(salt="s")):
        pairs = [
            (draw_numbers(one, name_unit(one, who))[0] < 0.5, draw_numbers(other, name_unit(other, who))[0] < 0.5)
            for who in (asker(f"user{number}") for number in range(MANY))
        ]
        both = sum(first and second for first, second in pairs) / MANY
        assert abs(both - 0.25) < 5.5 * math.sqrt(0.25 * 0.75 / MANY)


def test_who_stays_in_one_arm_is_the_user_the_tenant_or_the_session() -> None:
    ann, bob = asker("ann", session="s1"), asker("bob", session="s1")
    by_user, by_tenant, by_session = (make_config(by=by) for by in ("user", "tenant", "session"))
    assert name_unit(by_user, ann) == name_unit(by_user, asker("ann", session="s2")) != name_unit(by_user, bob)
    assert name_unit(by_tenant, ann) == name_unit(by_tenant, bob) != name_unit(by_tenant, asker("ann", tenant="u"))
    assert name_unit(by_session, ann) != name_unit(by_session, asker("ann", session="s2"))
    # One token of a service serves many users: each has an arm of its own.
    assert name_unit(by_user, asker("web", user="ann")) != name_unit(by_user, asker("web", user="bob"))
    assert "ann" not in name_unit(by_user, ann)


def test_the_most_exact_override_counts() -> None:
    config = make_config(
        users={"ann": "direct"}, tenants={"acme": "code"}, groups={"beta": {"arm": "code", "users": ["ann", "bob"]}}
    )
    assert find_override(config, asker("ann")) == "direct"
    assert find_override(config, asker("bob")) == "code"
    assert find_override(config, asker("web", user="bob")) == "code"
    assert find_override(config, asker("eve", tenant="acme")) == "code"
    assert find_override(config, asker("eve")) is None


def test_without_stages_the_weights_of_all_arms_give_the_percent() -> None:
    assert compute_weight_percent(make_config(arms=THREE, stages=[])) == 80
    assert compute_weight_percent(make_config(stages=[])) == 50
