"""The public package: what it draws, what it refuses, and what it imports."""

import subprocess
import sys
from typing import Any

import bytewax.operators as op
import numpy as np
import pytest
from bytewax.dataflow import Dataflow
from bytewax.testing import TestingSink, TestingSource, run_main

import fugu
from fugu.dataflows.base.errors import BudgetExhausted, StartRefused
from fugu.mechanisms import Budgeted, MarkovModel
from fugu.operators.mechanism import Mechanism
from fugu.streams import Advance

ONE, OTHER = fugu.Secret(bytes(32)), fugu.Secret(bytes(range(32)))
POSITIONS = 2_000


@pytest.fixture
def laplace() -> Mechanism:
    return fugu.mechanism("laplace", lower=0, upper=100, epsilon=1.0)


def noise(
    mechanism: Mechanism, value: int, secret: fugu.Secret = ONE, name: str = "one", key: str = "ada"
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return what is added to the same value at many positions."""
    values = np.full(POSITIONS, value)
    released = fugu.release_arrays(mechanism, [key] * POSITIONS, values, secret, name=name)
    return released.values - value


def test_the_same_call_gives_the_same_releases(laplace: Mechanism) -> None:
    assert (noise(laplace, 5) == noise(laplace, 5)).all()


def test_other_secrets_names_keys_and_values_have_independent_noise(laplace: Mechanism) -> None:
    """So the difference of two releases at one place never shows the difference of the truths."""
    one = noise(laplace, 5)
    others = [
        noise(laplace, 5, secret=OTHER),
        noise(laplace, 5, name="other"),
        noise(laplace, 5, key="bob"),
        noise(laplace, 6),
    ]
    for other in others:
        assert not (other == one).any()
        assert len(np.unique((other - one).round(6))) > 0.99 * POSITIONS
        assert abs(np.corrcoef(one, other)[0, 1]) < 0.1


def test_noise_differs_between_positions(laplace: Mechanism) -> None:
    assert len(np.unique(noise(laplace, 5))) > 0.99 * POSITIONS


def test_the_same_step_over_other_data_does_not_repeat_its_draws() -> None:
    """A truth is kept with probability 1/2 by each: together as often as if they were apart."""
    grr = fugu.mechanism("grr", symbols=2, epsilon=1e-6)
    kept = []
    for value in (0, 1):
        flow, out = Dataflow("zones"), list[tuple[str, fugu.Release]]()
        source = op.input("in", flow, TestingSource([("ada", value)] * POSITIONS, batch_size=100))
        op.output("out", fugu.sanitize("grr", source, grr, ONE), TestingSink(out))
        run_main(flow)
        kept.append(np.array([release.value == value for _, release in out]))
    assert abs(np.mean(kept[0] == kept[1]) - 0.5) < 0.05


def test_nothing_heavy_is_imported_before_it_is_used() -> None:
    looked_at = (
        "import fugu, sys; print({'numpy', 'bytewax', 'numba', 'pydantic'} & {*sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", looked_at], capture_output=True, text=True)
    assert done.stdout == "set()\n"


def test_everything_public_is_there() -> None:
    for name in fugu.__all__:
        assert getattr(fugu, name) is not None
    assert dir(fugu) == sorted(fugu.__all__)
    with pytest.raises(AttributeError, match="no attribute 'sanitise'"):
        _ = fugu.sanitise


def test_a_budget_is_spent_by_each_key_alone() -> None:
    grr = fugu.mechanism("grr", symbols=4, epsilon=1.0, budget=2.0)
    records = [("ada", 1), ("ada", 2), ("bob", 3), ("ada", 3)]
    kinds = [release.kind.name for _, release in fugu.release(grr, records, ONE)]
    assert kinds == ["FRESH", "FRESH", "FRESH", "REPEATED"]


def test_a_stream_may_stop_at_the_end_of_its_budget() -> None:
    inside = fugu.mechanism("grr", symbols=4, epsilon=1.0)
    stopping = Budgeted(inside, total=1.0, when_exhausted="stop")  # type: ignore[arg-type]
    with pytest.raises(BudgetExhausted, match="cannot pay for another release"):
        list(fugu.release(stopping, [("ada", 1), ("ada", 2)], ONE))


@pytest.mark.parametrize("value", [1.5, "rest", None, [1, 2], 2**70])
def test_values_that_are_no_integers_are_refused(value: object, laplace: Mechanism) -> None:
    with pytest.raises(TypeError, match="laplace takes one integer for each record"):
        list(fugu.release(laplace, [("ada", value)], ONE))


def test_names_that_are_not_known_are_refused() -> None:
    with pytest.raises(ValueError, match="no mechanism of single records has this name"):
        fugu.mechanism("laplas", epsilon=1.0)
    with pytest.raises(ValueError, match="charges nothing per release"):
        fugu.mechanism("backward_perturbation", k=3, epsilon=1.0, budget=3.0)


@pytest.mark.parametrize(
    ("kind", "parameters"),
    [
        (
            "paper_crr",
            {
                "model": MarkovModel.smoothed([0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], 0.0),
                "epsilon": 1.0,
            },
        ),
        ("threshold_perturbation", {"k": 5, "c0": 3, "start_mode": "cold"}),
    ],
)
def test_what_breaks_its_own_claim_is_refused_unless_it_is_accepted(
    kind: str, parameters: dict[str, Any]
) -> None:
    with pytest.raises(ValueError, match="accept_unsound=True"):
        fugu.mechanism(kind, **parameters)
    assert fugu.mechanism(kind, accept_unsound=True, **parameters).kind == kind


def test_state_goes_with_its_mechanism_secret_and_step(laplace: Mechanism) -> None:
    advance = Advance(laplace, ONE, "zones.step")
    snapshot = advance.digest, advance.start(1)
    assert Advance(laplace, ONE, "zones.step").restored(snapshot) is snapshot[1]
    wider = fugu.mechanism("laplace", lower=0, upper=200, epsilon=1.0)
    for other in (
        Advance(wider, ONE, "zones.step"),
        Advance(laplace, OTHER, "zones.step"),
        Advance(laplace, ONE, "zones.other"),
    ):
        with pytest.raises(StartRefused, match="belongs to another mechanism, secret or step"):
            other.restored(snapshot)


def test_a_promise_says_what_is_not_covered(laplace: Mechanism) -> None:
    first, listed = fugu.promise(laplace).split("\n\n")
    assert first.startswith("Local Differential Privacy with epsilon 1 nats")
    assert listed.startswith("Not covered:\n- when records arrive")
