"""The programme that shares a budget out: its answers are those of calculus."""

import builtins
from typing import Any

import numpy as np
import pytest

from fugu.operators.swellfish.programme import Limit, least_noise, require_solver


def test_shares_go_with_the_square_root_of_the_weight() -> None:
    for weights in ([1.0, 4.0, 25.0], [3.0, 3.0, 3.0]):
        shares = least_noise(weights, [Limit(3, [(0, 1), (1, 1), (2, 1)])])
        roots = np.sqrt(weights)
        assert shares == pytest.approx(roots / roots.sum(), rel=0.1)
        assert shares.sum() == pytest.approx(1.0)
        least = roots.sum() ** 2
        assert (np.array(weights) / shares).sum() == pytest.approx(least, rel=0.002)


def test_only_the_largest_shares_count() -> None:
    """Two of ten ticks: all get a half, whatever their number."""
    assert least_noise([10.0], [Limit(2, [(0, 10)])]) == pytest.approx([0.5])


def test_what_is_spent_is_one_of_the_largest() -> None:
    one = Limit(2, [(0, 5)], [(0.75, 1), (0.1, 3)])
    assert least_noise([5.0], [one]) == pytest.approx([0.25], rel=1e-3)
    everything = Limit(1, [(0, 5)], [(1.0, 1)])
    assert least_noise([5.0], [everything]) == pytest.approx([1.0])


@pytest.mark.parametrize("apart", [1e2, 1e4, 1e6])
def test_a_tick_that_hides_next_to_nothing_gets_little_and_not_nothing(apart: float) -> None:
    shares = least_noise([apart, 1.0], [Limit(2, [(0, 1), (1, 1)])])
    assert shares[1] / shares[0] == pytest.approx(apart**-0.5, rel=0.6)
    assert least_noise([apart, 1.0], [Limit(1, [(0, 1)]), Limit(1, [(1, 1)])]) == pytest.approx(
        [1.0, 1.0], rel=0.01
    )


def test_where_scipy_is_missing_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    imported = builtins.__import__

    def without(name: str, *rest: Any, **named: Any) -> Any:
        if name.startswith("scipy"):
            raise ModuleNotFoundError(name)
        return imported(name, *rest, **named)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ValueError, match=r"^kind: unicorn_plan needs SciPy; pip install scipy"):
        require_solver()


def test_where_no_solution_is_found_there_are_no_shares(monkeypatch: pytest.MonkeyPatch) -> None:
    """The plan then says nothing, and ticks are charged as without one."""
    monkeypatch.setattr("fugu.operators.swellfish.programme._STEPS", 1)
    assert least_noise([1.0, 4.0], [Limit(2, [(0, 1), (1, 1)])]).tolist() == [0.0, 0.0]
