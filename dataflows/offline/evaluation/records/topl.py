"""Run ToPL over a sample: numbers cut off at a threshold that the first records have told.

No pipeline runs it: the server has to tell all users a threshold between two records, and laws are
continuous. Its privacy is proved, and stands on the same axis as that of all others.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from fugu.dataflows.base.batches import DeadLetters
from fugu.dataflows.base.errors import FuguError
from fugu.dataflows.kinds.families.ranges import NoisyNumberOperator
from fugu.dataflows.offline.evaluation.candidates import Candidate
from fugu.dataflows.offline.evaluation.run import Run, scope_of
from fugu.dataflows.offline.evaluation.sample import Sample
from fugu.dataflows.pipeline.config import Pipeline
from fugu.operators.local_numbers.learned_threshold import LearnedThreshold
from fugu.operators.mechanism import Inputs
from fugu.operators.randomness import record_positions
from fugu.operators.secret import Secret

TOPL = LearnedThreshold.kind
_SHARE_OF_FIRST, _FEWEST = 0.1, 100


def topl_candidates(
    pipeline: Pipeline, epsilons: Sequence[float], sample: Sample, *, asked: bool
) -> Iterator[Candidate]:
    """Yield it with every epsilon, where records are numbers of a range and a tenth of them can
    tell a threshold; raise `FuguError` where they are not, and somebody asked for it."""
    operator, first = pipeline.operator, int(_SHARE_OF_FIRST * sample.records)
    if not isinstance(operator, NoisyNumberOperator):
        if asked:
            raise FuguError(
                f"--rivals {TOPL}: is about numbers of a range, as laplace and staircase are, and "
                f"not about what {operator.kind} reads"
            )
        return
    if first < _FEWEST:
        if asked:
            raise FuguError(
                f"--rivals {TOPL}: a tenth of the records tells its threshold, and "
                f"{sample.records:,} are too few; give a sample of at least "
                f"{round(_FEWEST / _SHARE_OF_FIRST):,}"
            )
        return
    for epsilon in epsilons:
        topl = LearnedThreshold(*operator.ends, epsilon, operator.units_per_one, first)
        yield Candidate(TOPL, epsilon, topl, {"first": first}, label=f"{TOPL} (offline)")


def run_topl(topl: LearnedThreshold, pipeline: Pipeline, sample: Sample, secret: Secret) -> Run:
    """Run it once, over all records that it releases something for."""
    keys, offsets = sample.decoded.keys, sample.decoded.offsets
    scope = scope_of(pipeline, topl.kind, topl, secret)
    draws = scope.draws(keys, record_positions(pipeline.source.topic, 0, offsets))
    _, releases = topl.step({}, Inputs(np.asarray(sample.decoded.values)), draws)
    everything = Run(np.arange(sample.records), releases, None, DeadLetters())
    return everything.of(np.arange(sample.records) >= topl.first)


def about_topl(candidate: Candidate) -> Iterator[str]:
    """Say how to read its row."""
    topl = candidate.unbudgeted
    if isinstance(topl, LearnedThreshold):
        yield (
            f"{candidate.name}: no pipeline runs it. The first {topl.first:,} records tell a "
            "threshold, by reports at the same epsilon, and are not counted; numbers beyond it "
            "count as it, which biases means. Budgets of the pipeline do not limit it."
        )
