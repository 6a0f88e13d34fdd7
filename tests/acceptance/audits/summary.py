"""Choose the two figures that say most of an audit: the worst case, and the strongest attack."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tests.acceptance.audits.found import Row


@dataclass(frozen=True)
class Summary:
    """Hold, of one kind and notion, the rows that come nearest to their claims."""

    kind: str
    notion: str
    worst: Row | None
    strongest: Row | None
    not_reached: int

    @property
    def broken(self) -> bool:
        return any(row is not None and row.broken for row in (self.worst, self.strongest))


def summaries(rows: Sequence[Row]) -> list[Summary]:
    """Return one entry for each kind and notion, in the order of the results."""
    pairs = dict.fromkeys((row.kind, row.notion) for row in rows if row.notion)
    return [
        Summary(
            kind,
            notion,
            worst=_nearest(row for row in _of(rows, kind, notion) if row.part == "worst case"),
            strongest=_nearest(row for row in _of(rows, kind, notion) if row.part == "attack"),
            not_reached=sum(row.kind == kind and row.part == "not reached" for row in rows),
        )
        for kind, notion in pairs
    ]


def share(figure: float | None, row: Row | None) -> float | None:
    """Return a figure of a row as a share of what is claimed there."""
    if row is None or figure is None or not row.claimed:
        return None
    return figure / row.claimed


def _of(rows: Iterable[Row], kind: str, notion: str) -> list[Row]:
    return [row for row in rows if (row.kind, row.notion) == (kind, notion)]


def _nearest(rows: Iterable[Row]) -> Row | None:
    """Return the row with the largest share of its claim, and of these the largest claim."""
    return max(
        rows,
        key=lambda row: (
            row.broken,
            round(share(row.exact if row.part == "worst case" else row.proved, row) or 0.0, 3),
            row.claimed or 0.0,
        ),
        default=None,
    )
