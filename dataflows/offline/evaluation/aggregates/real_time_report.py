"""What to know before rows about a real-time release are compared."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fugu.dataflows.kinds import RealTimeOperator
from fugu.dataflows.offline.evaluation.aggregates.real_time_utility import (
    RealTimeUtility,
    error_cells,
    error_of_series,
)
from fugu.dataflows.offline.evaluation.aggregates.report import GUESS, AggregateReport
from fugu.dataflows.offline.evaluation.aggregates.simulated import Simulated
from fugu.dataflows.offline.evaluation.estimates import Estimate
from fugu.dataflows.offline.evaluation.report import Beside


@dataclass(frozen=True, eq=False)
class SimulatedRow:
    """A rival that no pipeline runs, and what it errs."""

    rival: Simulated
    epsilon: float
    utility: RealTimeUtility

    def document(self) -> dict[str, object]:
        """The same for a machine."""
        return {
            "name": self.rival.name,
            "epsilon": self.epsilon,
            "uses_true_data": self.rival.uses_true_data,
            "offline": self.rival.offline,
            "utility": self.utility.document(),
        }


@dataclass(frozen=True, eq=False, kw_only=True)
class RealTimeReport(AggregateReport):
    """Rows are filters and strategies; `simulated` ones stand apart from them."""

    operator: RealTimeOperator
    simulated: Sequence[SimulatedRow]

    @property
    def guess_of_series(self) -> Estimate:
        """The mean, over whole series."""
        return error_of_series(self.truth, [self.truth.constant()])

    def beside(self, title: str) -> Sequence[Beside]:
        """Simulations, and the guess."""
        guess = {**error_cells(self.guess_of_series, self.guess), "held": "—", "new": "—"}
        simulated = [
            Beside(row.rival.label, row.utility.tables()[title], row.epsilon)
            for row in self.simulated
        ]
        return [*simulated, Beside(GUESS, guess)]

    def _of_rows(self) -> Iterator[str]:
        yield from self._of_promises()
        if any(row.configured for row in self.rows):
            yield "* is the pipeline as its file has it."
        yield (
            "RE: the root of the sum of squared errors, divided by the number of ticks and by the "
            "largest true figure; the mean of all groups. MAE, MSE: mean over ticks and groups of "
            "what a figure errs, and of its square."
        )
        yield (
            "held: how many figures lie within value ± 1.96 standard_error, where one is said. It "
            "counts ticks and is an average: bars hold less right after a step and at spikes, and "
            "more elsewhere. Those of strategies are about noise alone, not about what changed "
            "since. new: ticks with a new noisy value; others repeat or predict."
        )
        yield from self._of_rivals()
        yield self._of_guess()
        yield from self._of_all()

    def _of_promises(self) -> Iterator[str]:
        operator, ticks = self.operator, self.summed.ticks
        everything = f"eps: nats, with delta {operator.delta:g}, for everything a user contributes"
        if operator.period is not None:
            yield f"{everything} to any {operator.period:,} ticks in a row."
            if operator.period < ticks:
                yield (
                    f"rivals below the filters keep eps over all {ticks:,} ticks of the sample, "
                    "and so promise more than the filters do."
                )
            return
        yield f"{everything} to all ticks. Strategies for windows have no delta."
        horizon = operator.horizon
        if operator.decay is not None:
            yield (
                f"filters share it among all ticks that will ever come (operator.decay), rivals "
                f"among the {ticks:,} ticks of the sample."
            )
        elif horizon is not None and horizon > ticks:
            yield (
                f"operator.horizon is {horizon:,}, and the sample closes {ticks:,} ticks: filters "
                "keep the rest of their budget, rivals spend all of theirs. Set horizon to the "
                "ticks of the sample to compare them as equals."
            )
        elif horizon is not None and horizon < ticks:
            yield (
                f"operator.horizon is {horizon:,}, and the sample closes {ticks:,} ticks: later "
                "ones are predicted only, while rivals share theirs among all. Set horizon to the "
                "ticks that you will publish."
            )

    def _of_rivals(self) -> Iterator[str]:
        kinds = list(dict.fromkeys(row.candidate.kind for row in self.rows))
        strategies = ", ".join(kind for kind in kinds if kind != self.operator.kind)
        if strategies:
            yield (
                f"{strategies}: run with window: {self.summed.ticks:,}. uniform is Laplace noise "
                "at every tick; binary_tree publishes totals, of which these are the differences."
            )
        if any(row.rival.name == "normal" for row in self.simulated):
            yield (
                "normal (simulated): Gaussian noise at every tick, with the exact account of "
                "continuous noise. No computer draws that; baseline is what can be run."
            )
        rivals = dict.fromkeys(row.rival for row in self.simulated)
        oracles = [rival.label for rival in rivals if rival.uses_true_data]
        if oracles:
            yield (
                f"{', '.join(oracles)}: simulated, with the parameter that errs least, chosen by "
                "looking at the true figures. Nobody can run that and keep eps: it bounds what "
                "FAST (Laplace noise and a filter, at every tick) and Fourier perturbation (dft) "
                "could do. offline: it also needs the whole series first."
            )
        if self.operator.presentation != "none":
            yield (
                f"only filters are presented as operator.presentation says "
                f"({self.operator.presentation}); rivals are as they come."
            )

    def document(self) -> Mapping[str, object]:
        """The same for a machine."""
        document = dict(super().document())
        guess = document.pop("constant_guess")
        assert isinstance(guess, dict)
        return {
            **document,
            "simulated": [row.document() for row in self.simulated],
            "constant_guess": {**guess, "relative_error": self.guess_of_series.value},
        }

    def draw(self, path: Path) -> None:
        """Errors, and the largest group over time."""
        from fugu.dataflows.offline.evaluation.aggregates.real_time_plot import save

        save(self, path)
