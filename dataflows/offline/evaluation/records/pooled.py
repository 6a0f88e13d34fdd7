"""Run rivals that pool all records of a sample: ToPL and ToPS, which learn a threshold.

No pipeline runs them. ToPL has to tell all users a threshold between two records, and ToPS needs
one order of all records. Its promise is not that of the others: releases for other records depend
on a record, too.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from fugu.dataflows.base.batches import DeadLetters
from fugu.dataflows.base.errors import FuguError
from fugu.dataflows.kinds import Operator
from fugu.dataflows.kinds.families.ranges import NoisyNumberOperator
from fugu.dataflows.offline.evaluation.candidates import Candidate
from fugu.dataflows.offline.evaluation.run import Run, scope_of
from fugu.dataflows.offline.evaluation.sample import Sample
from fugu.dataflows.pipeline.config import Pipeline
from fugu.operators.local_numbers.learned_threshold import LearnedThreshold
from fugu.operators.mechanism import Inputs
from fugu.operators.randomness import Secret, record_positions
from fugu.operators.totals.truncated_totals import TruncatedTotals

Pooled = LearnedThreshold | TruncatedTotals
POOLED: dict[str, type[Pooled]] = {one.kind: one for one in (LearnedThreshold, TruncatedTotals)}
_SHARE_OF_FIRST, _FEWEST = 0.1, 100


def pooled_beside(operator: Operator) -> list[str]:
    """Return the names of those that can stand beside an operator."""
    return list(POOLED) if isinstance(operator, NoisyNumberOperator) else []


def pooled_candidates(
    pipeline: Pipeline, epsilons: Sequence[float], sample: Sample, asked: Sequence[str] | None
) -> Iterator[Candidate]:
    """Yield those that are `asked` for, or all, with every epsilon; raise `FuguError` where records
    are no numbers of a range, or a tenth of them cannot tell a threshold, and one was asked for."""
    operator, first = pipeline.operator, int(_SHARE_OF_FIRST * sample.records)
    names = POOLED if asked is None else [name for name in asked if name in POOLED]
    for name in names:
        if not isinstance(operator, NoisyNumberOperator):
            if asked is None:
                return
            raise FuguError(
                f"--rivals {name}: is about numbers of a range, as laplace and staircase are, and "
                f"not about what {operator.kind} reads"
            )
        if first < _FEWEST:
            if asked is None:
                return
            raise FuguError(
                f"--rivals {name}: a tenth of the records tells its threshold, and "
                f"{sample.records:,} are too few; give a sample of at least "
                f"{round(_FEWEST / _SHARE_OF_FIRST):,}"
            )
        for epsilon in epsilons:
            try:
                mechanism = POOLED[name](*operator.ends, epsilon, operator.units_per_one, first)
            except ValueError as error:
                if asked is None:
                    continue
                raise FuguError(f"--rivals {name}: {error}") from error
            yield Candidate(name, epsilon, mechanism, {"first": first}, label=f"{name} (offline)")


def run_pooled(mechanism: Pooled, pipeline: Pipeline, sample: Sample, secret: Secret) -> Run:
    """Run it once, over all records that it releases something for."""
    keys, offsets = sample.decoded.keys, sample.decoded.offsets
    scope = scope_of(pipeline, mechanism.kind, mechanism, secret)
    draws = scope.draws(keys, record_positions(pipeline.source.topic, 0, offsets))
    _, releases = mechanism.step({}, Inputs(np.asarray(sample.decoded.values)), draws)
    everything = Run(np.arange(sample.records), releases, None, DeadLetters())
    return everything.of(np.arange(sample.records) >= mechanism.first)


def about_pooled(candidate: Candidate) -> Iterator[str]:
    """Say how to read its row."""
    match candidate.unbudgeted:
        case LearnedThreshold(first=first):
            told, promise = "by reports at the same epsilon", ""
        case TruncatedTotals(first=first):
            told = "by a choice with the same epsilon"
            promise = (
                " Its eps is for one record in all releases together, against somebody who may "
                "know all others, so that it has no place under ldp and no rank. Most of the "
                "error of single releases is in the last one of each block, which makes totals "
                "right: look at the mean."
            )
        case _:
            return
    yield (
        f"{candidate.name}: no pipeline runs it. The first {first:,} records tell a threshold, "
        f"{told}, and are not counted; numbers beyond it count as it, which biases means. Budgets "
        f"of the pipeline do not limit it.{promise}"
    )
