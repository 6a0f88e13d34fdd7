"""Guarantees as data: what they are in JSON, and their short id."""

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from math import inf
from string import Formatter
from typing import Any, get_args

import orjson
import pytest

from fugu.dataflows.pipeline.guarantee_data import guarantee_data, guarantee_id, read_guarantee
from fugu.operators.guarantee import (
    GaussianLoss,
    Guarantee,
    LaplaceLoss,
    Loss,
    Neighbours,
    Point,
    PureLoss,
    RepeatedLoss,
    ResponseLoss,
    StatedLoss,
    WideGaussianLoss,
)
from fugu.operators.sip.conditional_randomized_response import PaperConditionalRandomizedResponse
from tests.conformance.kinds import KINDS
from tests.dataflows.stages.columns import CRR

SIP, LDP = CRR.guarantees()
[WINDOW] = KINDS["sample"].examples()[0].mechanism.guarantees()
[REALTIME] = KINDS["real_time"].examples()[0].mechanism.guarantees()


def every_guarantee() -> list[Guarantee]:
    examples = (example for tests in KINDS.values() for example in tests.examples())
    return [one for example in examples for one in example.mechanism.guarantees()]


def points_of(guarantee: Guarantee) -> Iterator[Point]:
    for field in fields(guarantee):
        value = getattr(guarantee, field.name)
        for point in value if isinstance(value, tuple) else [value]:
            if isinstance(point, Point):
                yield point


def reworded(guarantee: Guarantee) -> Guarantee:
    def other(value: Any) -> Any:
        if isinstance(value, Point):
            return replace(value, sentence="said otherwise")
        return tuple(map(other, value)) if isinstance(value, tuple) else value

    own: dict[str, Any] = {one.name: getattr(guarantee, one.name) for one in fields(guarantee)}
    return Guarantee(**{name: other(value) for name, value in own.items()})


def test_the_id_is_short_and_names_the_promises_in_their_order() -> None:
    name = guarantee_id([SIP, LDP])
    assert len(name) == 16
    assert name == guarantee_id(list(CRR.guarantees()))
    assert len({name, guarantee_id([SIP]), guarantee_id([LDP, SIP])}) == 3


def test_an_id_stays_what_it_is() -> None:
    """Every record has it. Who changes one says so in the changelog."""
    assert guarantee_id([SIP, LDP]) == b"334b7aae280bf063"
    assert guarantee_id([WINDOW]) == b"06ad2667716d6c2b"


def test_no_sentence_is_part_of_the_id() -> None:
    for guarantee in every_guarantee():
        assert guarantee_id([reworded(guarantee)]) == guarantee_id([guarantee])


@pytest.mark.parametrize("guarantee", [SIP, WINDOW, REALTIME], ids=["sip", "window", "realtime"])
def test_every_number_and_every_name_is_part_of_the_id(guarantee: Guarantee) -> None:
    changed = {field.name: changed_in(guarantee, field.name) for field in fields(guarantee)}
    ids = {guarantee_id([one]) for others in changed.values() for one in others}
    assert all(changed.values())
    assert len(ids) == sum(map(len, changed.values()))
    assert guarantee_id([guarantee]) not in ids


def changed_in(guarantee: Guarantee, name: str) -> list[Guarantee]:
    """The promise with one change each, of whatever this field says."""
    others = others_than(getattr(guarantee, name))
    return [replace(guarantee, **{name: other}) for other in others]


def others_than(value: Any) -> list[Any]:
    """Values with one change each."""
    match value:
        case Point():
            numbers = [replace(value, numbers=other) for other in others_in(value.numbers)]
            return [replace(value, name="another"), *numbers]
        case (str(name), number):
            return [(name, number + 1)]
        case tuple():
            return [(*value, Point("one-more", "one more")), *others_in(value)]
        case Neighbours():
            return [replace(value, reach=3), replace(value, kept=("presence",))]
        case GaussianLoss():
            more = replace(value, squares=value.squares + 1), replace(value, draws=value.draws + 1)
            return [*more, None]
        case bool():
            return [not value]
        case int() | float():
            return [value + 1]
        case str():
            return [f"not {value}"]
        case _:
            return [3]


def others_in(values: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    """Tuples with one change in one of their entries."""
    return [
        (*values[:place], other, *values[place + 1 :])
        for place, value in enumerate(values)
        for other in others_than(value)
    ]


def test_a_field_that_is_as_by_default_changes_no_id() -> None:
    @dataclass(frozen=True)
    class Guaranteed(Guarantee):
        more: int = 0

    Guaranteed.__name__ = "Guarantee"
    own = {field.name: getattr(SIP, field.name) for field in fields(SIP)}
    assert guarantee_id([Guaranteed(**own)]) == guarantee_id([SIP])
    assert guarantee_id([Guaranteed(**own, more=1)]) != guarantee_id([SIP])


def test_an_infinite_epsilon_has_an_id_too() -> None:
    unsound = PaperConditionalRandomizedResponse(CRR.model, CRR.epsilon).guarantees()
    assert len(guarantee_id(unsound)) == 16


def test_every_guarantee_comes_back_from_json_with_its_words() -> None:
    for guarantee in every_guarantee():
        read = read_guarantee(orjson.loads(orjson.dumps(guarantee_data(guarantee))))
        assert read == guarantee
        assert list(map(str, points_of(read))) == list(map(str, points_of(guarantee)))
        assert guarantee_id([read]) == guarantee_id([guarantee])


LOSSES = [
    PureLoss(1.5),
    StatedLoss(1.5, 1e-6),
    GaussianLoss(squares=7, draws=2),
    WideGaussianLoss(squares=7, draws=2),
    LaplaceLoss(rate=0.5, shift=3),
    RepeatedLoss(each=0.5, number=3),
    ResponseLoss(epsilon=1.5, symbols=4),
]


def test_every_type_of_loss_is_tried() -> None:
    assert {type(loss) for loss in LOSSES} == set(get_args(Loss))


@pytest.mark.parametrize("loss", [*LOSSES, None])
def test_a_loss_comes_back_as_what_it_was(
    loss: Loss | None,
) -> None:
    data = guarantee_data(replace(SIP, loss=loss))
    assert read_guarantee(orjson.loads(orjson.dumps(data))).loss == loss


def test_what_is_in_a_sentence_of_the_ledger_is_never_a_field_of_it() -> None:
    odd = Point("odd", "a sentence with {{braces}} and {numbers}").of(numbers=3)
    read = read_guarantee(guarantee_data(replace(SIP, epsilon=inf, trust=odd)))
    assert str(read.trust) == "a sentence with {braces} and 3"


def test_a_point_has_one_sentence_and_every_number_is_in_it() -> None:
    points = [point for guarantee in every_guarantee() for point in points_of(guarantee)]
    said = {point: str(point) for point in points}
    assert [str(point) for point in points] == [said[point] for point in points]
    for point in points:
        named = {name for _, name, _, _ in Formatter().parse(point.sentence) if name}
        assert named in (set(dict(point.numbers)), set()), point.name
    plain = {(point.name, point.sentence) for point in points if not point.numbers}
    assert len(plain) == len(dict(plain)) > 40
