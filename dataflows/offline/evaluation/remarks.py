"""What to know of the kinds that are compared, beyond the numbers."""

from collections.abc import Iterator, Sequence

from fugu.dataflows.offline.evaluation.candidates import Candidate
from fugu.dataflows.offline.evaluation.equal_nats import RIVAL_DECISION, RIVAL_WINDOW
from fugu.dataflows.stages.per_record import passing_time
from fugu.operators.sip.adaptive_release import AdaptiveRelease
from fugu.operators.sip.batches.batched_release import BatchedRelease
from fugu.operators.sip.cold_start import ColdStart


def remarks(candidates: Sequence[Candidate], own_kind: str) -> list[str]:
    """Each once, in the order of the candidates, of which the pipeline's own kind is the first."""
    found = list(dict.fromkeys(line for one in candidates for line in _remarks(one, own_kind)))
    rivals = any(one.kind != own_kind for one in candidates)
    if rivals and passing_time(candidates[0].unbudgeted) is not None:
        found.append("operator.step: rivals have none, and take one step of a model per record.")
    return found


def _remarks(candidate: Candidate, own_kind: str) -> Iterator[str]:
    rival = candidate.kind != own_kind
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
