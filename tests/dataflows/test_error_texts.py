"""A defect is reported by its place; keys, values and secrets never reach a text."""

from dataclasses import dataclass
from pathlib import Path
from traceback import format_exception

import pytest

from dataflows.errors import FuguError, StartRefused, without_values
from dataflows.monitoring.metrics import Metrics
from dataflows.sanitize import Sanitize
from operators.mechanism import Draws, Inputs, Releases, State
from operators.sip.conditional_randomized_response import ConditionalRandomizedResponse
from tests.dataflows.bad_records import CANARY
from tests.dataflows.columns import CRR, SCOPE, SECRET, batch_of, codec, lift, new_table

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
