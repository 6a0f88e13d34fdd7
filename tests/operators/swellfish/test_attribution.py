"""Check who causes the noise, against every tick of policies with something left out."""

from collections.abc import Set as AbstractSet
from dataclasses import replace
from random import Random

import numpy as np
import pytest

from fugu.operators.mechanism import Floats, Inputs
from fugu.operators.randomness import DrawScope, Secret, tick_position
from fugu.operators.single_stream import released
from fugu.operators.swellfish.attribution import attribution
from fugu.operators.swellfish.bounds import cost
from fugu.operators.swellfish.changes import Change
from fugu.operators.swellfish.interval_strategies import Unicorn, UnicornPS
from fugu.operators.swellfish.policy import Collection, Policy
from fugu.operators.swellfish.relevance import Query
from fugu.operators.swellfish.timeline import Policies
from fugu.operators.wevent.allocation import Booleans
from tests.operators.swellfish.test_lifecycle import random_policy
from tests.operators.swellfish.zones import HOURLY, once

EPSILON = 0.7
FIRST, LAST = 30, 130
TICKS = range(FIRST, LAST + 1)
QUERIES = (
    Query("sum", 10),
    Query("count", 1),
    Query("multi_histogram", 3, ("a", "b", "c", "d")),
)
Names = AbstractSet[tuple[str, str]]
"""Policies, each with its collection."""


def random_policies(random: Random, query: Query) -> Policies:
    def policy(name: str) -> Policy:
        about = tuple(random.sample(query.activities, 2)) if query.activities else ()
        made = replace(random_policy(random, name, 60), activities=about)
        return made if random.random() < 0.85 else replace(made, thresholds=(0,))

    names = ("bath", "stove", "car", "sauna")
    collections = [
        Collection(one, tuple(map(policy, random.sample(names, random.randrange(5)))))
        for one in ("home", "shop", "farm")
    ]
    return Policies(HOURLY, query, tuple(collections[: random.randrange(1, 4)]))


def names_of(policies: Policies) -> Names:
    return {(one.id, policy.id) for one in policies.collections for policy in one.policies}


def only(policies: Policies, names: Names) -> Policies:
    """The same with these policies and no others."""
    return replace(
        policies,
        collections=tuple(
            replace(
                one, policies=tuple(each for each in one.policies if (one.id, each.id) in names)
            )
            for one in policies.collections
        ),
    )


def noise_of(policies: Policies, changes: bytes = b"") -> Floats:
    """Delta_t max delta(J) / epsilon, by what strategies see of every tick."""
    asked = [policies.relevance(tick, changes) for tick in TICKS]
    most = [max((each.affected for each in one.intervals), default=0) for one in asked]
    return np.array([one.sensitivity * m / EPSILON for one, m in zip(asked, most, strict=True)])


def relevant(policies: Policies) -> Booleans:
    return np.array([bool(policies.relevance(tick, b"").intervals) for tick in TICKS])


@pytest.mark.parametrize("query", QUERIES, ids=lambda query: query.kind)
@pytest.mark.parametrize("seed", range(10))
def test_shares_are_differences_to_policies_with_something_left_out(
    seed: int, query: Query
) -> None:
    policies = random_policies(Random(seed), query)
    noise, names = noise_of(policies), names_of(policies)
    found = attribution(policies, FIRST, LAST, EPSILON)
    assert np.repeat(found.noise, found.widths) == pytest.approx(noise)
    assert (found.ticks, found.noisy) == (noise.size, (noise > 0).sum())
    assert (found.mean, found.most) == pytest.approx((noise.mean(), noise.max()))
    for collection, share in found.collections.items():
        own = {name for name in names if name[0] == collection}
        alone = noise_of(only(policies, own))
        assert np.repeat(share.alone, found.widths) == pytest.approx(alone)
        assert set(share.policies) == {policy for _, policy in own}
        parts = [({(collection, policy)}, one) for policy, one in share.policies.items()]
        for left_out, one in [(own, share), *parts]:
            where = relevant(only(policies, left_out))
            assert one.ticks == where.sum()
            assert one.noise == pytest.approx(noise[where].mean() if where.any() else 0.0)
            without = noise_of(only(policies, names - left_out))
            assert one.saved == pytest.approx((noise - without).mean())
            assert one.saved >= 0.0


@pytest.mark.parametrize("seed", range(10))
def test_no_collection_alone_has_more_than_its_limit_counts_it_with(seed: int) -> None:
    policies = random_policies(Random(seed), QUERIES[0])
    found = attribution(policies, FIRST, LAST, EPSILON)
    for name, admitted in policies.admitted(b"").items():
        bound = cost(admitted, policies.query, [(FIRST - 48, LAST + 48)], HOURLY)
        assert found.collections[name].alone.max() <= bound / EPSILON * (1 + 1e-12)


@pytest.mark.parametrize("seed", range(10))
def test_who_sets_a_factor_has_the_largest_and_several_may(seed: int) -> None:
    policies = random_policies(Random(seed), QUERIES[0])
    found = attribution(policies, FIRST, LAST, EPSILON)
    for name, share in found.collections.items():
        sensitivities = affected = 0
        for tick in TICKS:
            all_ask, asks = policies.relevance(tick, b""), policies.by_collection(tick, b"")[name]
            most = max((one.affected for one in all_ask.intervals), default=0)
            own = max((one.affected for one in asks.intervals), default=0)
            sensitivities += 0 < all_ask.sensitivity == asks.sensitivity
            affected += 0 < most == own
        assert (share.sets_sensitivity, share.sets_affected) == (sensitivities, affected)


def test_a_large_change_of_one_meets_the_long_pattern_of_another() -> None:
    """Each of them alone would ask for a tenth of it, and so each is what it costs."""
    large, long = once("oven", 40, 49, 1, 10), once("fridge", 40, 49, 10, 1)
    home, shop = Collection("home", (large,)), Collection("shop", (long,))
    found = attribution(Policies(HOURLY, Query("sum", 100), (home, shop)), 40, 49, epsilon=1.0)
    assert found.mean == 100.0
    assert [share.saved for share in found.collections.values()] == [90.0, 90.0]
    sets = [(one.sets_sensitivity, one.sets_affected) for one in found.collections.values()]
    assert sets == [(10, 0), (0, 10)]


def test_what_two_ask_for_alike_is_saved_without_both_only() -> None:
    homes = tuple(Collection(name, (once("oven", 40, 49, 2, 10),)) for name in ("home", "shop"))
    found = attribution(Policies(HOURLY, Query("sum", 100), homes), 40, 49, epsilon=1.0)
    assert found.mean == 20.0
    assert [share.saved for share in found.collections.values()] == [0.0, 0.0]
    assert [share.sets_sensitivity for share in found.collections.values()] == [10, 10]


def test_policies_that_were_added_cost_noise_and_replaced_ones_are_one_policy() -> None:
    home = Collection("home", (once("oven", 40, 49, 2, 3), once("tea", 60, 69, 1, 1)))
    policies, changes = Policies(HOURLY, Query("sum", 100), (home,)), b""
    for wanted in (
        Change("home", 35, "tea", once("tea", 80, 89, 1, 5)),
        Change("home", 35, None, once("sauna", 80, 89, 4, 6)),
    ):
        changes = policies.changed(changes, wanted.to_bytes(), 35)
    found = attribution(policies, FIRST, LAST, EPSILON, changes)
    noise = noise_of(policies, changes)
    assert noise[80 - FIRST] == pytest.approx(11 * 5 / EPSILON)
    assert np.repeat(found.noise, found.widths) == pytest.approx(noise)
    parts = found.collections["home"].policies
    assert list(parts) == ["oven", "tea", "sauna"]
    assert parts["sauna"].saved == pytest.approx(10 * (55 - 5) / EPSILON / len(TICKS))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("kind", "times"), [(UnicornPS, 1), (Unicorn, 2)])
def test_unicorns_have_at_most_this_noise_and_twice_as_much_if_they_decide(
    kind: type[UnicornPS], times: int, seed: int
) -> None:
    policies = random_policies(Random(seed), QUERIES[0])
    found = attribution(policies, 0, 79, EPSILON)
    expected = np.repeat(found.noise, found.widths)
    strategy = kind(policies, 1, EPSILON)
    sampled = 0
    for tick, release in enumerate(released(strategy, [[5]] * expected.size)):
        epsilon = release.annotations["publication_epsilon"][0]
        if epsilon:
            scale = release.annotations["sensitivity"][0] / epsilon
            assert scale <= times * expected[tick] * (1 + 1e-9)
            sampled += 1
    assert sampled or not expected.any()


@pytest.mark.parametrize(("kind", "times"), [(UnicornPS, 1), (Unicorn, 2)])
def test_a_first_figure_has_this_noise_in_the_mean(kind: type[UnicornPS], times: int) -> None:
    """An interval begins with an even share, and there is no decision on a first figure."""
    home = Collection("home", (once("oven", 40, 59, 3, 1000), once("tea", 40, 59, 2, 200)))
    policies, rows = Policies(HOURLY, Query("sum", 5000), (home,)), 4000
    expected, _ = attribution(policies, 40, 59, EPSILON).at(40)
    assert expected == pytest.approx(1200 * 5 / EPSILON)
    strategy = kind(policies, 1, EPSILON)
    scope = DrawScope(Secret(bytes(32)), "trial", kind.kind, 1, strategy.law_digest())
    streams = [b"%d" % row for row in range(rows)]
    draws = scope.draws(streams, [tick_position("trial", 40)] * rows)
    state = strategy.elapse(strategy.start(rows), np.full(rows, 40))
    _, releases = strategy.step(state, Inputs(np.zeros((rows, 1), dtype=np.int64)), draws)
    assert np.abs(releases.values).mean() == pytest.approx(times * expected, rel=0.06)
