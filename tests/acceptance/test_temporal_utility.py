"""The utility table of section 9 of the TLDP specification in full length, through the lift.

Writes `results/temporal_utility.txt`, which is committed.
"""

from pathlib import Path

import pytest

from fugu.operators.temporal.random_delays import ForwardPerturbation
from tests.dataflows.offline.evaluation.temporal.section_nine import (
    EPSILONS,
    PENDING,
    PRINTED,
    PRINTED_LAPLACE,
    PRINTED_STEPS,
    WINDOW,
    measured,
    of_laplace,
    of_pending,
)

RESULTS = Path(__file__).parent / "results" / "temporal_utility.txt"
KINDS = ("threshold", "backward", "laplace", "grr")
STREAMS = 24
ROUNDING = 1e-9
HEADER = [
    "Mean squared errors of a running count of up moves and of a moving average of 10 ticks, of 24",
    "series of 14,058 ticks, k = 10; in brackets, what the specification (section 9) prints for 8.",
    "threshold: the extended one at eps 1 to 3. filled: divided by the share of ticks that hold a",
    "value, debiased for grr. moved: compared with the average one mean delay of visible values",
    "earlier (the specification takes k - c0, which is less at eps 1 and 2, where values are",
    "dropped). laplace goes by the square of the range, which is larger for more series. forward:",
    "eps is that of the choice of a tick, as in the specification; what is seen has about 2 more.",
    "",
]


@pytest.mark.acceptance
def test_counts_and_averages_err_as_in_section_9(tmp_path: Path) -> None:
    series = measured(tmp_path, PRINTED_STEPS, STREAMS, seed=5)
    found = {
        epsilon: {**series.rows(seen(epsilon), ("forward",)), **series.rows(epsilon, KINDS)}
        for epsilon in EPSILONS
    }
    lines, wrong = [line("eps", [f"{epsilon:g}" for epsilon in EPSILONS])], []
    for name, printed in {**PRINTED, "average, laplace": PRINTED_LAPLACE}.items():
        shown = []
        for epsilon, known in zip(EPSILONS, printed, strict=True):
            error = found[epsilon][name]
            shown.append(f"{error:.3g} [{known:.3g}]")
            right = known / 3 < error < known * 3
            if name.startswith("count, threshold") and epsilon in PENDING:
                right = error == pytest.approx(of_pending(PENDING[epsilon]), rel=0.05)
            if name == "average, laplace":
                law = of_laplace(series.series, epsilon)
                right = error == pytest.approx(law, rel=0.05)
            if not right:
                wrong.append((name, epsilon, shown[-1]))
        lines.append(line(name, shown))
    RESULTS.write_text("\n".join(HEADER + lines) + "\n")
    assert wrong == []


def seen(epsilon: float) -> float:
    """Return the epsilon of the delays that are seen where the choice of a tick has so much."""
    nominal = ForwardPerturbation(k=WINDOW, epsilon=epsilon, calibrate="nominal")
    return nominal.delay_law_epsilon + ROUNDING


def line(name: str, cells: list[str]) -> str:
    return (f"{name:<26}" + "".join(f"{cell:<21}" for cell in cells)).rstrip()
