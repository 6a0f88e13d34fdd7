"""Say what to know before rows about symbols or numbers are compared."""

from collections.abc import Iterator, Sequence

from fugu.dataflows.offline.evaluation.candidates import Candidate
from fugu.dataflows.offline.evaluation.family import CONFIGURED
from fugu.dataflows.offline.evaluation.records.equal_nats import RIVAL_DECISION, RIVAL_WINDOW
from fugu.dataflows.offline.evaluation.records.numbers import NumberUtility
from fugu.dataflows.offline.evaluation.report import Report, Utility
from fugu.dataflows.pipeline.config import Pipeline
from fugu.dataflows.stages.per_record import passing_time
from fugu.operators.sip.adaptive_release import AdaptiveRelease
from fugu.operators.sip.batches.batched_release import BatchedRelease
from fugu.operators.sip.cold_start import ColdStart

_OF_SYMBOLS = (
    "expected: how often wrong a reader thinks that records are, from their confidence. "
    "Where not all have one, those that do are counted once more under: of these. If both "
    "are far apart, the model does not fit the sample.",
    "debiased: what a reader makes of the releases who knows the operator.",
)
_OF_NUMBERS = (
    "predicted: what a reader expects who knows the noise. A larger error of the mean, and a bias "
    "beyond its ±, come from what lies outside the declared range, or after the end of a budget.",
)


def notes(pipeline: Pipeline, report: Report[Utility]) -> Iterator[str]:
    """Say what epsilon means, what differs between kinds, and what a budget does."""
    sip = "sip" in report.notions
    candidates = [row.candidate for row in report.rows]
    yield (
        "ldp: nats per record that releases may leak, without any model"
        f"{'; sip: relative to the declared model' if sip else ''}. Compare rows with equal nats "
        "in the column that you rely on, not rows with the same eps."
    )
    if any(row.configured for row in report.rows):
        yield CONFIGURED
    if not all(candidate.sound for candidate in candidates):
        yield (
            "! promises nothing: its eps is a claim that fails. What it spent is what it "
            "really leaked, relative to the model."
        )
    if sip:
        yield (
            "what was spent counts nats relative to the model where an operator uses one, and "
            "without any model where not."
        )
    own = pipeline.operator.kind
    yield from dict.fromkeys(line for one in candidates for line in _of_kind(one, own))
    rivals = any(one.kind != own for one in candidates)
    if rivals and passing_time(candidates[0].unbudgeted) is not None:
        yield "operator.step: rivals have none, and take one step of a model per record."
    yield from _of_candidates(report)
    numbers = isinstance(report.rows[0].utility, NumberUtility)
    yield from _OF_NUMBERS if numbers else _OF_SYMBOLS
    yield from _of_budget(pipeline, report)


def _of_kind(candidate: Candidate, own: str) -> Iterator[str]:
    rival = candidate.kind != own
    match candidate.unbudgeted:
        case BatchedRelease(window=window):
            as_rival = f" As a rival it has window: {RIVAL_WINDOW} and kernel: heuristic."
            yield (
                f"{candidate.name}: a release is a list of {window} records. eps, ldp and sip are "
                "a record's share of what a list may leak, but all of it may be about one record. "
                "held back: how many records wait in the end for the rest of their list. "
                f"A repeated list counts by its last symbol.{as_rival if rival else ''}"
            )
        case AdaptiveRelease():
            as_rival = f" As a rival it has {RIVAL_DECISION:.0%} of eps for the decision."
            yield (
                "adaptive_crr: eps is that of the decision and of a fresh symbol together. still "
                "good: repeated by that decision, which tells something and costs less than eps, "
                f"so compare what it spent on a record.{as_rival if rival else ''}"
            )
        case ColdStart():
            yield (
                "cold_start_crr: sip is relative to the model that each stream learns, which "
                "nobody holds before: rely on ldp. learned: share of records with such a model."
            )


def _of_candidates(report: Report[Utility]) -> Iterator[str]:
    """Join the epsilons at which the same is to be said."""
    found: dict[tuple[str, str], list[str]] = {}
    for row in report.rows:
        for note in row.utility.notes():
            found.setdefault((row.candidate.name, note), []).append(f"{row.candidate.epsilon:g}")
    for (name, note), epsilons in found.items():
        yield f"{name} at eps {', '.join(epsilons)}: {note}"


def _of_budget(pipeline: Pipeline, report: Report[Utility]) -> Iterator[str]:
    budget = pipeline.budget
    if budget is None:
        return
    window = "" if budget.window is None else f" in any {budget.window} consecutive records"
    yield (
        f"every operator has the pipeline's budget: {budget.total:g} nats per stream{window}. "
        "Rates and biases are of everything published, repeated releases too; debiased shares "
        "and means are estimated from what was paid for, which need not be a fair sample of "
        "all records, and compared with all of them."
    )
    if budget.window is None:
        yield f"all releases of a stream together: {', '.join(_totals(report))}."
    if budget.when_exhausted == "stop":
        yield (
            "budget.when_exhausted is stop: the pipeline would end with the first exhausted "
            "stream. Here the sample goes on, and what cannot be paid for is suppressed."
        )


def _totals(report: Report[Utility]) -> Sequence[str]:
    """Say what every kind of operator promises of a whole stream."""
    found = []
    for kind, candidate in {row.candidate.kind: row.candidate for row in report.rows}.items():
        stated = [(notion, candidate.per_stream(notion)) for notion in report.notions]
        nats = " and ".join(f"{nats:.4g} {notion}" for notion, nats in stated if nats)
        found.append(f"{kind} {nats or 'promises nothing'}")
    return found
