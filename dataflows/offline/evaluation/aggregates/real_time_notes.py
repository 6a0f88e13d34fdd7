"""Say what to know before rows about a real-time release are compared."""

from collections.abc import Iterator

from fugu.dataflows.kinds import RealTimeOperator
from fugu.dataflows.offline.evaluation.aggregates.simulated import SimulatedRow
from fugu.dataflows.offline.evaluation.aggregates.utility import AggregateUtility
from fugu.dataflows.offline.evaluation.report import Report


def of_promises(operator: RealTimeOperator, ticks: int) -> Iterator[str]:
    """Say over what filters and rivals share epsilon."""
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


def of_columns() -> Iterator[str]:
    """Say how errors are measured, and what bars hold."""
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


def of_rivals(
    report: Report[AggregateUtility], operator: RealTimeOperator, ticks: int
) -> Iterator[str]:
    """Say what can be run, and what only looks at the true data."""
    kinds = dict.fromkeys(row.candidate.kind for row in report.rows)
    strategies = ", ".join(kind for kind in kinds if kind != operator.kind)
    if strategies:
        yield (
            f"{strategies}: run with window: {ticks:,}. uniform is Laplace noise "
            "at every tick; binary_tree publishes totals, of which these are the differences."
        )
    simulated = [one.rival for one in report.beside if isinstance(one, SimulatedRow)]
    if any(rival.name == "normal" for rival in simulated):
        yield (
            "normal (simulated): Gaussian noise at every tick, with the exact account of "
            "continuous noise. No computer draws that; baseline is what can be run."
        )
    oracles = [rival.label for rival in dict.fromkeys(simulated) if rival.uses_true_data]
    if oracles:
        yield (
            f"{', '.join(oracles)}: simulated, with the parameter that errs least, chosen by "
            "looking at the true figures. Nobody can run that and keep eps: it bounds what "
            "FAST (Laplace noise and a filter, at every tick) and Fourier perturbation (dft) "
            "could do. offline: it also needs the whole series first."
        )
    if operator.presentation != "none":
        yield (
            f"only filters are presented as operator.presentation says "
            f"({operator.presentation}); rivals are as they come."
        )
