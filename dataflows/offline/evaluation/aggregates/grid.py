"""What is compared: the pipeline's strategy and all others, over epsilons and windows."""

from collections.abc import Sequence
from dataclasses import dataclass

from fugu.dataflows.base.errors import FuguError
from fugu.dataflows.kinds import WEventOperator, as_kind, kinds_of
from fugu.dataflows.offline.evaluation.candidates import Candidate
from fugu.dataflows.offline.evaluation.grid import Grid

_APART = {"binary_tree": "its totals are about many ticks", "quantified": "it has no epsilon"}
STRATEGIES = tuple(kind for kind in kinds_of(WEventOperator) if kind not in _APART)
_LARGEST_WINDOW = 100_000


@dataclass(frozen=True, eq=False, kw_only=True)
class WindowedCandidate(Candidate):
    """One strategy; `epsilon` holds for any `window` ticks in a row."""

    window: int


def parse_windows(text: str) -> list[int]:
    """Positive integers with commas between them, in order, each once."""
    try:
        windows = sorted({int(word) for word in text.split(",")})
    except ValueError:
        windows = []
    if not windows or windows[0] < 1 or windows[-1] > _LARGEST_WINDOW:
        raise FuguError(
            f"--windows {text}: write whole numbers of ticks with commas between them, such as "
            f"10,20,40, at most {_LARGEST_WINDOW:,}"
        )
    return windows


def require_comparable(operator: WEventOperator) -> float:
    """The configured epsilon of a strategy that has figures per tick."""
    if operator.kind in _APART or operator.epsilon is None:
        raise FuguError(
            f"fugu evaluate compares figures of ticks at equal epsilons, and not {operator.kind}: "
            f"{_APART[operator.kind]}"
        )
    return float(operator.epsilon)


def chosen_rivals(own: str, text: str | None, known: Sequence[str]) -> list[str]:
    """Some of the `known` ones, with commas between them, or all; without the pipeline's own."""
    named = known if text is None else [name.strip() for name in text.split(",")]
    for name in named:
        if name not in known:
            raise FuguError(
                f"--rivals {name}: is nothing to compare {own} with. Write some of: "
                f"{', '.join(known)}"
            )
    return [name for name in dict.fromkeys(named) if name != own]


def grid_of(
    operator: WEventOperator,
    epsilons: Sequence[float],
    windows: Sequence[int],
    rivals: Sequence[str],
) -> Grid[WindowedCandidate]:
    """The pipeline's own strategy first, then its rivals, each with every window and epsilon that
    it takes."""
    grid = Grid[WindowedCandidate]()
    for kind in (operator.kind, *rivals):
        for window in windows:
            for epsilon in epsilons:
                _add(grid, operator, kind, epsilon, window)
    if not grid.candidates:
        raise FuguError("\n".join(["--epsilons: nothing is left to compare", *grid.left_out]))
    return grid


def _add(
    grid: Grid[WindowedCandidate],
    operator: WEventOperator,
    kind: str,
    epsilon: float,
    window: int,
) -> None:
    section = as_kind(operator, kind, epsilon=epsilon, window=window)
    try:
        mechanism = section.strategy()
    except ValueError as error:
        return grid.leave_out(f"{kind} with window {window}", epsilon, str(error))
    settings = section.model_dump(include={"epsilon", "window", "flags"} & section.model_fields_set)
    grid.candidates.append(WindowedCandidate(kind, epsilon, mechanism, settings, window=window))
