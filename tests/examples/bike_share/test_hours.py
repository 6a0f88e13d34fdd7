"""Check that people lose less who rent less often."""

import pytest

from examples.bike_share.hours import HOURS, epsilon_of


def test_only_who_rents_in_every_measured_hour_loses_all_of_epsilon() -> None:
    lost = [epsilon_of(hours) for hours in HOURS]
    assert lost == sorted(lost)
    assert lost == pytest.approx([0.38, 0.81, 1.46, 3.0], abs=0.01)
