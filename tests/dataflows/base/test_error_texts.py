"""A defect is reported by its place; keys, values and secrets never reach a text."""

from dataclasses import dataclass
from pathlib import Path
from traceback import format_exception

import pytest

from fugu.dataflows.base.errors import FuguError, StartRefused, without_values
from fugu.dataflows.base.metrics import Metrics
from fugu.dataflows.base.ticks import Ticks
from fugu.dataflows.records.codec import Codec
from fugu.dataflows.records.numbers import Numbers
from fugu.dataflows.stages.series import SeriesPerTick
from fugu.dataflows.stages.stage import Admission
from fugu.dataflows.stages.stateful_step import Sanitize
from fugu.operators.mechanism import Draws, Inputs, Releases, State
from fugu.operators.randomness import DrawScope
from fugu.operators.realtime.local_release import LocalRealTimeRelease
from fugu.operators.sip.conditional_randomized_response import ConditionalRandomizedResponse
from tests.dataflows.records.bad_records import CANARY
from tests.dataflows.stages.columns import CRR, SCOPE, SECRET, batch_of, codec, lift, new_table

ALICE = f"alice-{CANARY}".encode()


@dataclass(frozen=True, eq=False)
class Defective(ConditionalRandomizedResponse):
    """Fails as a defect would, with what it was given in the text."""

    def step(self, state: State, inputs: Inputs, draws: Draws) -> tuple[State, Releases]:
        raise ValueError(f"{draws!r} {CANARY}")


def test_a_defect_in_a_mechanism_is_reported_by_coordinates_only(tmp_path: Path) -> None:
    defective = Defective(CRR.model, CRR.epsilon)
    step = Sanitize(lift(mechanism=defective), tmp_path, "vitals.raw", Metrics(), None)
    decoded = codec().decode(batch_of([(ALICE, b'{"zone": "rest"}')] * 3, first_offset=7))
    with pytest.raises(FuguError) as caught:
        step.on_batch([decoded])
    said = str(caught.value)
    assert "unexpected ValueError at " in said
    assert "sanitize: topic vitals.raw, partition 2, offsets 7 to 9" in said
    assert CANARY not in "".join(format_exception(caught.value))


def test_an_error_that_is_meant_to_be_read_passes_unchanged() -> None:
    with pytest.raises(StartRefused, match=r"^why$"), without_values("decode", "t", 0, []):
        raise StartRefused("why")


def test_a_defect_without_records_says_so() -> None:
    with pytest.raises(FuguError, match="no records"), without_values("decode", "t", 0, []):
        raise KeyError(CANARY)


def test_a_damaged_state_does_not_show_its_keys() -> None:
    table = new_table()
    lift()(codec().decode(batch_of([(ALICE, b'{"zone": "rest"}')])), table)
    encoded = table.take_everything()
    assert CANARY.encode() in encoded, "state is inside the trusted zone"
    with pytest.raises(StartRefused) as caught:
        new_table().apply(encoded[:-1])
    assert CANARY not in "".join(format_exception(caught.value))


def test_a_secret_shows_nowhere() -> None:
    key = bytes(range(32))
    for shown in (repr(SECRET), str(SECRET), repr(SCOPE), f"{SECRET}", repr(SECRET.derive("x"))):
        assert key.hex() not in shown
        assert repr(key) not in shown


def test_that_records_wait_for_stream_time_is_said_now_and_then_by_coordinates_only(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    scope = DrawScope(SECRET, "rates", "real_time_local", 1, bytes(32))
    series = LocalRealTimeRelease(40, 180, epsilon=1.0, delta=1e-6, horizon=10)
    lifted = SeriesPerTick(series, scope, "id", Admission("unchecked", 1, 9), Ticks(1_000, 0, 30))
    step = Sanitize(lifted, tmp_path, "vitals.raw", Metrics(), None)
    numbers = Codec(Numbers("bpm", units_per_one=1), 1_000)
    for offset in range(30):
        record = batch_of([(ALICE, b'{"bpm": 71}')], first_offset=offset)
        step.on_batch([numbers.decode(record)])
    said = [record.getMessage() for record in caplog.records]
    assert len(said) == 2, "with the first and with the tenth"
    assert "topic vitals.raw, partition 2: 10 records refused so far" in said[1]
    assert "ticks.stream_time" in said[1]
    assert CANARY not in "".join(said)
