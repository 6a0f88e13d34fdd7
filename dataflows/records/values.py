"""Say what a mechanism needs to read its values from records, and to write them as JSON."""

from collections.abc import Sequence
from typing import ClassVar, Literal, Protocol, runtime_checkable

from numpy.typing import DTypeLike

from fugu.dataflows.records.json_fields import Record
from fugu.operators.mechanism import Releases

ReleasedAs = Literal[
    "symbol", "symbols", "set", "report", "half", "number", "series", "payload", "figures", "person"
]
"""One symbol; a list, one for each record; a set; a set with its epsilon; a row of the Hadamard
matrix and a sign; a number; a number with its error bar; an envelope around a true value; figures
of groups; points of a person and a category."""

Value = int | bytes | tuple[int, int] | None


class Values(Protocol):
    """Read the values of a mechanism from records, in one field or more."""

    released_as: ClassVar[ReleasedAs]
    """The form in which a release shows its value."""

    @property
    def field(self) -> str:
        """Return the field, or the first one."""
        ...

    @property
    def fields(self) -> Sequence[str]:
        """Return all fields."""
        ...

    @property
    def dtype(self) -> DTypeLike:
        """Return the type of a column of values."""
        ...

    def read(self, record: Record) -> Value:
        """Return the value as the mechanism reads it; `Refused` if it is none."""
        ...

    def read_column(self, records: Sequence[Record]) -> Sequence[Value]:
        """Read many records at once; `Refused` if `read` refuses one."""
        ...


@runtime_checkable
class Domain(Values, Protocol):
    """Read and write the values of a mechanism as JSON, one release for one record or tick."""

    def write(self, releases: Releases) -> Sequence[bytes]:
        """Write one JSON object per release."""
        ...
