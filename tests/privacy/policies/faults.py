"""Faults in the life of policies, planted one at a time: whoever looks on must notice them."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from fugu.dataflows.policies.signatures import Signatures
from fugu.dataflows.stages.merging import MergeState, Merging
from fugu.operators.swellfish import decisions, timeline
from fugu.operators.swellfish.changes import Standing


def _no_notice(patch: pytest.MonkeyPatch) -> None:
    admit = decisions.admit

    def without(admitted: Any, change: Any, now: int, notice: int, ticks: int) -> Any:
        return admit(admitted, change, now, 0, ticks)

    patch.setattr(decisions, "admit", without)


def _nothing_is_an_obstacle(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(decisions, "first_free", lambda effective, _: effective)


def _replaced_at_once(patch: pytest.MonkeyPatch) -> None:
    kept = decisions._kept_occurrences

    def at_once(old: Any, new: Any, first: Any, noticed: int, ticks: int) -> Any:
        return kept(old, None, None, 0, ticks)

    patch.setattr(decisions, "_kept_occurrences", at_once)


def _anybody_is_an_owner(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(decisions, "_require_no_less", lambda *_: None)


def _repeated_records_count(patch: pytest.MonkeyPatch) -> None:
    numbers = iter(range(10**9, 2 * 10**9))

    def again(standings: Any, change: Any, *more: Any) -> Any:
        return decisions.decided(standings, replace(change, sequence=next(numbers)), *more)

    patch.setattr(timeline, "decided", again)


def _signatures_are_not_looked_at(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Signatures, "by_owner", lambda _, key, value, headers: bool(headers))


def _too_much_is_forgotten(patch: pytest.MonkeyPatch) -> None:
    forgetful = Standing.forgetful
    patch.setattr(Standing, "forgetful", lambda one, now, ticks: forgetful(one, now + 30, ticks))


def _pending_changes_are_lost_with_the_process(patch: pytest.MonkeyPatch) -> None:
    restored = Merging.restored

    def without(merge: Merging, *args: Any) -> MergeState:
        return replace(restored(merge, *args), pending=[])

    patch.setattr(Merging, "restored", without)


def _changes_count_twice(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(
        Merging, "_remember", lambda _, state, change: state.pending.append(change.content)
    )


FAULTS: Mapping[str, Callable[[pytest.MonkeyPatch], None]] = {
    "no notice": _no_notice,
    "nothing is an obstacle": _nothing_is_an_obstacle,
    "replaced at once": _replaced_at_once,
    "anybody is an owner": _anybody_is_an_owner,
    "repeated records count": _repeated_records_count,
    "signatures are not looked at": _signatures_are_not_looked_at,
    "too much is forgotten": _too_much_is_forgotten,
    "pending changes are lost with the process": _pending_changes_are_lost_with_the_process,
    "changes count twice": _changes_count_twice,
}
