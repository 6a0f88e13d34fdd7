"""The local-model baseline: clamp, noise, release, charge."""

from fractions import Fraction
from math import nan

import numpy as np
import pytest

from fugu.operators.budget import Budgeted
from fugu.operators.budget_units import UNITS_PER_NAT, units_of
from fugu.operators.mechanism import Array, Floats, Inputs
from fugu.operators.noise.additive import BudgetBelowResolution
from fugu.operators.noise.number_release import LaplaceRelease
from fugu.operators.randomness import DrawScope, KeyedDraws, Secret, record_positions
from tests.conformance.example import EPSILONS, Example, Examples, Unusable
from tests.operators.noise.simulated import SimulatedDraws

TENTHS = LaplaceRelease(lower=400, upper=2000, epsilon=1.0, units_per_one=10)
THIRDS = LaplaceRelease(lower=-7, upper=90, epsilon=0.3, units_per_one=3)

each_release = pytest.mark.parametrize("mechanism", [TENTHS, THIRDS], ids=["tenths", "thirds"])


def examples(kind: type[LaplaceRelease]) -> tuple[Example, ...]:
    tenths = kind(lower=0, upper=1000, epsilon=1.0, units_per_one=10)
    sign = kind(lower=-1, upper=1, epsilon=0.1)
    wide = kind(lower=-(2**55), upper=2**55, epsilon=2.5)
    return (
        Example(tenths, np.array([0, 250, 725, 1000])),
        Example(sign, np.array([-1, 1, 7])),
        Example(wide, np.array([-(2**55), -3, 2**55 - 1])),
        Example(Budgeted(tenths, total=3.0), np.array([0, 725])),
    )


EXAMPLES: Examples = {LaplaceRelease: examples}
UNUSABLE: Unusable = {
    LaplaceRelease: {
        "lower": (2**60, -(2**62)),
        "upper": (-(2**60), 2**62),
        "epsilon": (*EPSILONS, 20.1, 1e-8),
        "units_per_one": (0, -1, 10**12 + 1),
    },
}


def draws(rows: int) -> KeyedDraws:
    scope = DrawScope(Secret(bytes(32)), "p", "laplace", 1, TENTHS.law_digest())
    return scope.draws([b"key"] * rows, record_positions("topic", 0, range(rows)))


def released(values: Array, mechanism: LaplaceRelease = TENTHS) -> Floats:
    _, releases = mechanism.step(mechanism.start(len(values)), Inputs(values), draws(len(values)))
    return releases.values


@each_release
@pytest.mark.parametrize("beyond", [1, 1000, 2**40, 2**62])
def test_values_are_clamped_before_noise(mechanism: LaplaceRelease, beyond: int) -> None:
    inside = np.tile([mechanism.lower, mechanism.upper], 50)
    outside = inside + np.tile([-beyond, beyond], 50)
    assert released(outside, mechanism).tolist() == released(inside, mechanism).tolist()


@each_release
def test_every_release_is_a_point_of_the_public_grid_whatever_the_value(
    mechanism: LaplaceRelease,
) -> None:
    """No digit of a double says which value it comes from: all can lead to the same points."""
    step = mechanism.noise.grid.step / mechanism.units_per_one
    for value in np.linspace(mechanism.lower, mechanism.upper, 7).astype(np.int64):
        for release in released(np.full(50, value), mechanism).tolist():
            assert float(round(Fraction(release) / step) * step) == release


@each_release
def test_releases_are_unbiased_and_as_noisy_as_epsilon_says(mechanism: LaplaceRelease) -> None:
    """A sound release fails with probability 7e-5; the seed is fixed."""
    rows, truth = 20_000, mechanism.lower + 5
    simulated = SimulatedDraws(np.random.default_rng(3))
    _, releases = mechanism.step(mechanism.start(rows), Inputs(np.full(rows, truth)), simulated)
    width = (mechanism.upper - mechanism.lower) / mechanism.units_per_one
    deviation = np.sqrt(2.0) * width / mechanism.epsilon
    assert mechanism.audit()["standard deviation of the noise"] == pytest.approx(deviation)
    mean = truth / mechanism.units_per_one
    assert abs(releases.values.mean() - mean) < 4.0 * deviation / np.sqrt(rows)
    assert releases.values.std() == pytest.approx(deviation, rel=0.05)


def test_every_release_costs_epsilon_rounded_down_to_the_resolution() -> None:
    tenth = LaplaceRelease(lower=0, upper=10, epsilon=0.1)
    state = tenth.start(2)
    for count in range(1, 4):
        assert tenth.next_charge(state).tolist() == [tenth.largest_charge] * 2
        state, _ = tenth.step(state, Inputs(np.array([0, 10])), draws(2))
        assert state["spent"].tolist() == [count * tenth.largest_charge] * 2
    assert 10 * tenth.largest_charge <= UNITS_PER_NAT
    assert 0 <= units_of(0.1) - tenth.largest_charge <= UNITS_PER_NAT * 2**-24


def test_a_skipped_position_costs_nothing_and_publishes_what_it_is_given() -> None:
    state, _ = TENTHS.step(TENTHS.start(2), Inputs(np.array([725, 400])), draws(2))
    after, releases = TENTHS.skip(state, np.array([1.5, TENTHS.constant]))
    assert after["spent"].tolist() == state["spent"].tolist()
    assert releases.values.tolist() == [1.5, 120.0]


def test_the_promise_is_local_differential_privacy_with_a_stated_delta() -> None:
    (guarantee,) = TENTHS.guarantees()
    assert (guarantee.notion, guarantee.epsilon, guarantee.delta) == ("ldp", 1.0, 0.0)
    assert 0.0 < guarantee.finite_precision_delta < 2e-18


def test_the_audit_has_exact_numbers_and_the_warning() -> None:
    audit = TENTHS.audit()
    assert audit["grid step"] == "5/524288"
    assert audit["sensitivity in grid steps"] == 2**24
    assert audit["scale of the noise"] == 160.0
    assert audit["charge per release in nats"] == 1.0
    assert audit["warning"] is None
    assert LaplaceRelease(lower=0, upper=1, epsilon=1e-6).audit()["warning"]


def test_the_law_digest_changes_with_every_parameter_that_changes_the_law() -> None:
    others = [
        LaplaceRelease(lower=401, upper=2000, epsilon=1.0, units_per_one=10),
        LaplaceRelease(lower=400, upper=2001, epsilon=1.0, units_per_one=10),
        LaplaceRelease(lower=400, upper=2000, epsilon=1.1, units_per_one=10),
        LaplaceRelease(lower=400, upper=2000, epsilon=1.0, units_per_one=100),
    ]
    assert len({TENTHS.law_digest(), *(other.law_digest() for other in others)}) == 5
    same_steps = LaplaceRelease(lower=400, upper=2000, epsilon=1.0 + 2.0**-30, units_per_one=10)
    assert same_steps.law_digest() == TENTHS.law_digest()


def test_the_width_of_integers_does_not_matter() -> None:
    narrow = np.array([725, 400], dtype=np.int16)
    far = LaplaceRelease(lower=-(2**40), upper=2**40, epsilon=1.0)
    assert released(narrow, far).tolist() == released(narrow.astype(np.int64), far).tolist()


@pytest.mark.parametrize("dtype", [np.float64, np.uint64])
def test_values_that_do_not_count_units_are_refused(dtype: type) -> None:
    with pytest.raises(ValueError, match="integers that count units"):
        released(np.array([725, 400], dtype=dtype))


@pytest.mark.parametrize(
    ("lower", "upper", "epsilon", "units_per_one", "field"),
    [
        (1, 1, 1.0, 1, "lower"),
        (2, 1, 1.0, 1, "lower"),
        (-(2**62), 1, 1.0, 1, "lower, upper"),
        (0, 1, 0.0, 1, "epsilon"),
        (0, 1, nan, 1, "epsilon"),
        (0, 1, 21.0, 1, "epsilon"),
        (0, 1, 1.0, 0, "units_per_one"),
        (0, 1, 1.0, 10**12 + 1, "units_per_one"),
    ],
)
def test_a_configuration_that_cannot_be_is_refused_naming_the_field(
    lower: int, upper: int, epsilon: float, units_per_one: int, field: str
) -> None:
    with pytest.raises(ValueError, match=f"^{field}: "):
        LaplaceRelease(lower, upper, epsilon, units_per_one)


def test_an_epsilon_below_the_resolution_is_refused() -> None:
    with pytest.raises(BudgetBelowResolution, match="epsilon"):
        LaplaceRelease(lower=0, upper=1, epsilon=1e-8)
