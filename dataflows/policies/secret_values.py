"""Read secret pairs of values, as policies write them in place of theta.

`between: [0, 2.2 kW, 6 kW]` makes each two of its values a secret pair, and
`pairs: [[0, 2.2], [3, 6]]` those two pairs. Values of a sum are numbers, those of a histogram names
of groups, and those of a multi_histogram lists of the activities that go on at once.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated

from pydantic import BeforeValidator, Field

from fugu.dataflows.base.errors import UnusableField
from fugu.dataflows.policies.fields import amount
from fugu.operators.swellfish.secret_pairs import Pair, Value, between

Written = int | float | str | list[str]
_LONGEST_LIST = 100


def _written(given: object) -> Written:
    if isinstance(given, int | float | str) and not isinstance(given, bool):
        return given
    if isinstance(given, list) and all(isinstance(name, str) for name in given):
        return given
    raise ValueError("write a number, a name, or a list of names; put yes and no in quotes")


_Value = Annotated[Written, BeforeValidator(_written)]
SecretValues = Annotated[list[_Value], Field(min_length=2, max_length=_LONGEST_LIST)]
_SecretPair = Annotated[list[_Value], Field(min_length=2, max_length=2)]
SecretPairs = Annotated[list[_SecretPair], Field(min_length=1, max_length=_LONGEST_LIST)]


@dataclass(frozen=True)
class Vocabulary:
    """Say what values are: of which query, in which unit, and of which activities."""

    kind: str
    unit: str | None
    activities: Sequence[str]

    def pairs(
        self, values: Sequence[Written] | None, pairs: Sequence[Sequence[Written]] | None
    ) -> list[Pair]:
        """Return the pairs that `between` or `pairs` lists; `UnusableField` names the place."""
        if self.kind == "count":
            name = "pairs" if values is None else "between"
            raise UnusableField(name, "a count has two values only; write theta: 1")
        if values is not None:
            return between(list(self._different("between", values)))
        return [
            (one, other)
            for place, pair in enumerate(pairs or [])
            for one, other in [self._different(f"pairs.{place}", pair)]
        ]

    def _different(self, field: str, written: Sequence[Written]) -> Iterator[Value]:
        seen = set()
        for place, one in enumerate(written):
            try:
                value = self._value(one)
            except ValueError as error:
                raise UnusableField(f"{field}.{place}", str(error)) from None
            if value in seen:
                raise UnusableField(f"{field}.{place}", "is there twice; write different values")
            seen.add(value)
            yield value

    def _value(self, written: Written) -> Value:
        if self.kind == "sum":
            return self._number(written)
        if isinstance(written, list) != (self.kind == "multi_histogram"):
            raise ValueError(
                "write a list of activities, such as [sitting]; [] is none"
                if self.kind == "multi_histogram"
                else "write the name of one group"
            )
        names = written if isinstance(written, list) else [str(written)]
        if not set(names) <= set(self.activities):
            raise ValueError("is not among the activities of the document; add it there")
        return frozenset(names) if isinstance(written, list) else names[0]

    def _number(self, written: Written) -> Fraction:
        number, unit = amount(written)
        if unit is not None and unit != self.unit:
            expected = "without one" if self.unit is None else f"in {self.unit}, as query.unit says"
            raise ValueError(f"is in another unit than the query; write it {expected}")
        return Fraction(number)
