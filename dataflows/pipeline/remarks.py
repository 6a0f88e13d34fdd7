"""Configurations that run, but hardly do what was meant: for `validate`, `explain` and the log."""

from fugu.dataflows.files.model_file import read_model_file
from fugu.dataflows.kinds import AdaptiveOperator, BatchedMarkovOperator, MarkovOperator
from fugu.dataflows.kinds.temporal_mechanism import as_in_the_file
from fugu.dataflows.pipeline.pipeline_file import PipelineFile
from fugu.operators.mechanism import Mechanism
from fugu.operators.temporal.temporal_perturbation import TemporalPerturbation
from fugu.operators.wevent.fast import Fast
from fugu.operators.wevent.watched import Watched


def remarks(file: PipelineFile, mechanism: Mechanism) -> list[str]:
    """Return what somebody should look at."""
    warnings = mechanism.warnings if isinstance(mechanism, TemporalPerturbation) else ()
    found = map(as_in_the_file, warnings)
    return [*found, *_order_of_the_alphabet(file), *_samples_of_a_window(mechanism)]


def _samples_of_a_window(mechanism: Mechanism) -> list[str]:
    """`fast` with one sample in a window is `sample` at half its budget."""
    strategy = mechanism.strategy if isinstance(mechanism, Watched) else mechanism
    if not isinstance(strategy, Fast) or strategy.samples_per_block > 1 or strategy.window == 1:
        return []
    return [
        f"operator.samples: fast takes one sample in {strategy.window} ticks and repeats it, so "
        "that nothing is filtered, with half of epsilon (by default 3 samples in 40 ticks, and one "
        "up to a window of 26). Write samples: 2 or more, or kind: sample, which takes one with "
        "all of epsilon"
    ]


def _order_of_the_alphabet(file: PipelineFile) -> list[str]:
    """Symbols are ranked by a list that learning has sorted, and not by what they mean."""
    operator = file.pipeline.operator
    if not isinstance(operator, MarkovOperator | BatchedMarkovOperator | AdaptiveOperator):
        return []
    if operator.distance not in ("ordered", "steps") or isinstance(operator.alphabet[0], int):
        return []
    if not read_model_file(file.resolve(operator.model)).has_sorted_alphabet:
        return []
    ranks = " < ".join(map(str, operator.alphabet[:4])) + " < …" * (len(operator.alphabet) > 4)
    return [
        f"operator.distance: {operator.distance} ranks the symbols as operator.alphabet lists "
        f"them, {ranks}, and fugu model learn sorted that list by letters. If they have another "
        "order, learn the model again with --alphabet, or with --pipeline and the list in the file"
    ]
