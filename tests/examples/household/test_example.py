"""Three days of a few households, from the raw topic to the picture, on the embedded broker."""

from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from examples.household.days_picture import save
from examples.household.example import (
    CHANGE,
    CHANGE_KEY,
    CHANGED_AT,
    pipelines_on,
    summed,
)
from examples.household.meters import CARS, FIRST_TICK, PER_DAY, SAUNA, TICKS, Meters
from examples.household.report import errors_table, protected_table, whose_table
from fugu.dataflows.offline.demo.embedded_broker import PARTITIONS, EmbeddedBroker
from fugu.dataflows.offline.demo.raw_records import partition_of
from fugu.dataflows.offline.demo.whole_path import shown_progress
from fugu.dataflows.policies.changes import change
from fugu.dataflows.policies.document import PolicyDocument
from fugu.operators.mechanism import Floats
from tests.dataflows.policies.documents import EXAMPLE

METERS = Meters(30)
TUESDAY, WEDNESDAY, THURSDAY = (
    slice(PER_DAY * day + PER_DAY * 12 // 24, PER_DAY * day + PER_DAY * 16 // 24)
    for day in range(3)
)
"""From twelve to four."""


def asked() -> Floats:
    """Return by how much a household can change each tick, in kW."""
    document = PolicyDocument.read(EXAMPLE)
    policies, added = document.policies, change(CHANGE_KEY, CHANGE, document).to_bytes()
    after = policies.changed(b"", added, FIRST_TICK + CHANGED_AT)
    known = [b""] * CHANGED_AT + [after] * (TICKS - CHANGED_AT)
    units = [
        policies.relevance(FIRST_TICK + tick, known[tick]).sensitivity for tick in range(TICKS)
    ]
    return np.array(units) / document.section.query.units_per_one


@pytest.mark.slow
def test_the_analyst_finds_exact_figures_except_where_policies_ask_for_noise(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with EmbeddedBroker() as bootstrap, shown_progress(Console(quiet=True)) as progress:
        released = summed(pipelines_on(bootstrap, tmp_path), METERS, progress)
    unicorn, uniform = released.by_strategy["unicorn"], released.by_strategy["uniform"]
    assert unicorn.sensitivities == pytest.approx(asked())
    exact = np.array(unicorn.status) == "exact"
    assert np.array_equal(exact, unicorn.sensitivities == 0.0)
    assert unicorn.values[exact] == pytest.approx(released.truth[exact])
    assert exact[TUESDAY].all(), "the policy of saunas was added on Wednesday"
    assert not exact[WEDNESDAY].any()
    assert not exact[THURSDAY].any()
    assert released.decided.startswith("household/sauna is added from 2026-01-14T09:00Z on")
    assert {one.name: one.ticks for one in released.protected}["sauna"] == 48

    lower, upper = uniform.bars
    assert uniform.share("sampled") == 1.0
    assert np.mean((lower <= released.truth) & (released.truth <= upper)) > 0.9
    assert released.errors("unicorn").mean() < 0.5 * released.errors("uniform").mean()
    for table in (protected_table(released), errors_table(released), whose_table(released)):
        Console(width=120).print(table)
    assert "electric-car, 2 keys" in capsys.readouterr().out
    noise = np.repeat(released.noise.noise, released.noise.widths)
    assert np.array_equal(noise > 0.0, unicorn.sensitivities > 0.0)
    assert released.noise.collections["household"].policies["sauna"].ticks == 48
    save(released, tmp_path / "picture.png")
    assert (tmp_path / "picture.png").stat().st_size > 10_000


def test_every_meter_sends_in_every_tick_and_every_partition_has_records() -> None:
    keys = {key for key, _, _ in METERS.raw(0, 0)}
    assert len(keys) == METERS.households
    assert {partition_of(key) for key in keys} == set(range(PARTITIONS))
    assert METERS.records == sum(1 for _ in METERS.raw())


def test_a_household_does_what_the_policies_are_about() -> None:
    """Nobody draws more than a meter can; a car draws 11 kW at ten in the evening, a sauna 6 kW."""
    kilowatts = Meters(60).kilowatts
    assert kilowatts.max() <= 14.5
    assert (kilowatts[list(CARS), PER_DAY * 22 // 24] >= 11.0).all()
    assert kilowatts[SAUNA, WEDNESDAY].max() >= 6.0
    mornings = Meters(600).totals()[PER_DAY * 7 // 24], Meters(600).totals()[PER_DAY * 4 // 24]
    assert mornings[0] > 1.3 * mornings[1], "showers"
