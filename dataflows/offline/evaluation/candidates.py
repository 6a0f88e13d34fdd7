"""Define the grid: configured operators, and why others could not be configured."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import isfinite
from typing import TypeVar

from fugu.dataflows.base.errors import FuguError
from fugu.operators.budget import without_budget
from fugu.operators.guarantee import Notion
from fugu.operators.mechanism import Mechanism
from fugu.operators.sip.batches.batched_release import BatchedRelease

N = TypeVar("N", int, float)


@dataclass(frozen=True, eq=False)
class Candidate:
    """Hold one configured operator, under the pipeline's budget.

    `settings` is how its section says `epsilon`. `label` replaces the kind in tables. Epsilon
    counts nats per record, or holds for any `window` ticks in a row if there is one.
    """

    kind: str
    epsilon: float
    mechanism: Mechanism
    settings: Mapping[str, object] = field(default_factory=dict)
    label: str = ""
    window: int | None = None

    @property
    def name(self) -> str:
        """Return the label, or the kind and the length of the lists that it releases."""
        listed = isinstance(self.unbudgeted, BatchedRelease)
        return self.label or self.kind + f" of {self.records_per_release}" * listed

    @property
    def unbudgeted(self) -> Mechanism:
        """Return the mechanism without its budget."""
        return without_budget(self.mechanism)

    @property
    def records_per_release(self) -> int:
        """Return how many records one fresh release is about."""
        inside = self.unbudgeted
        return inside.window if isinstance(inside, BatchedRelease) else 1

    @property
    def sound(self) -> bool:
        """Return whether what it claims holds."""
        return all(guarantee.sound for guarantee in self.mechanism.guarantees())

    def per_release(self, notion: Notion) -> float | None:
        """Return the nats that one release may leak in this notion."""
        return _nats(self.unbudgeted, notion, "release")

    def per_record(self, notion: Notion) -> float | None:
        """Return a record's share of these, or of what a window of records may leak."""
        for one in self.unbudgeted.guarantees():
            if one.notion == notion and one.per == "window" and one.window is not None:
                return one.epsilon / one.window
        nats = self.per_release(notion)
        return None if nats is None else nats / self.records_per_release

    def place(self, notion: Notion) -> float | None:
        """Return where it stands on an axis of privacy, if anywhere.

        A law of delays stands at what it has, and what it is compared with at its epsilon.
        """
        exact = self.per_record(notion)
        return self.epsilon if notion == "delay-law" and exact is None else exact

    def per_stream(self, notion: Notion) -> float | None:
        """Return the nats that all releases of a stream may leak, where a budget limits them."""
        return _nats(self.mechanism, notion, "stream")


def _nats(mechanism: Mechanism, notion: Notion, per: str) -> float | None:
    """Count what is ldp for every prior as sip under the declared one (Theorem 3)."""
    stated = {g.notion: g.epsilon for g in mechanism.guarantees() if g.sound and g.per == per}
    return stated.get(notion, stated.get("ldp") if notion == "sip" else None)


@dataclass
class Grid:
    """Hold the candidates, and why others are none, by name and reason, with their epsilons."""

    candidates: list[Candidate] = field(default_factory=list)
    _left_out: dict[tuple[str, str], list[str]] = field(default_factory=dict, init=False)

    def add_each(
        self,
        names: Iterable[str],
        epsilons: Sequence[float],
        made: Callable[[str, float], Candidate],
    ) -> None:
        """Add a candidate for each name and epsilon, or note why there is none."""
        for name, epsilon in product(names, epsilons):
            try:
                self.candidates.append(made(name, epsilon))
            except ValueError as error:
                self._left_out.setdefault((name, str(error)), []).append(f"{epsilon:g}")

    @property
    def left_out(self) -> list[str]:
        """Say which candidates there are not."""
        return [
            f"left out: {name} at eps {', '.join(epsilons)}: {reason}"
            for (name, reason), epsilons in self._left_out.items()
        ]

    def require_some(self) -> None:
        """Raise `FuguError` if there is nothing to compare."""
        if not self.candidates:
            raise FuguError("\n".join(["--epsilons: nothing is left to compare", *self.left_out]))


def chosen_epsilons(configured: float, text: str | None) -> list[float]:
    """Return what was asked for; otherwise half, once and twice the configured one."""
    asked = [configured / 2.0, configured, configured * 2.0]
    return asked if text is None else parse_epsilons(text)


def parse_epsilons(text: str) -> list[float]:
    """Read positive numbers with commas between them; sort them, and keep each once."""
    epsilons = sorted_numbers(text, float)
    if not epsilons or not all(isfinite(epsilon) and epsilon > 0.0 for epsilon in epsilons):
        raise FuguError(
            f"--epsilons {text}: write positive numbers with commas between them, such as 0.5,1,2"
        )
    return epsilons


def sorted_numbers(text: str, read: Callable[[str], N]) -> list[N]:
    """Read what stands between commas; return nothing if anything else does."""
    try:
        return sorted({read(word) for word in text.split(",")})
    except ValueError:
        return []


def chosen_rivals(
    own: str, text: str | None, known: Sequence[str], *, own_too: bool = False
) -> list[str]:
    """Read names with commas between them; without any, return all `known` but the own one.

    `own_too` accepts the own one even if it is not known as a rival.
    """
    named = known if text is None else [name.strip() for name in text.split(",")]
    for name in named:
        if name not in known and not (own_too and name == own):
            raise FuguError(
                f"--rivals {name}: is nothing to compare {own} with. Write some of: "
                f"{', '.join(known)}"
            )
    return [name for name in dict.fromkeys(named) if name != own]
