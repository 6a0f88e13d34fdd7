"""A pipeline of any kind publishes the same, to the last byte, however its records are cut.

Beside releases that is every dead letter, every entry of the ledger and of the internal log, and
the state at the end. Records come twice, of strangers, broken, in the wrong partition, late, and of
more keys than there is room for.
"""

from importlib import import_module
from inspect import isabstract
from pathlib import Path
from pkgutil import iter_modules
from random import Random
from typing import Any

import orjson
import pytest

from fugu.dataflows import stages
from fugu.dataflows.base.batches import Reason
from fugu.dataflows.flows.sections import reports_spending
from fugu.dataflows.kinds import KINDS
from fugu.dataflows.stages.stage import Stage
from tests.conformance.pipelines import Built, built, variants
from tests.conformance.whole import Outcome, one_cut, random_cuts, whole
from tests.thinned import first_in_test

CUTS = 2
ALWAYS_REFUSED = {Reason.NO_KEY, Reason.NOT_JSON, Reason.WRONG_PARTITION, Reason.TOO_MANY_KEYS}


def cases() -> list[object]:
    """Return all variants; but for one of each kind of stage they are slow."""
    found, seen = list[object](), set[object]()
    for kind, variant in variants():
        about = KINDS[kind].stage, variant
        marks = [pytest.mark.slow] if about in seen else []
        seen.add(about)
        found.append(pytest.param(kind, variant, id=f"{kind} {variant}", marks=marks))
    return found


@pytest.mark.parametrize("seed", first_in_test(range(1, 7), 1))
@pytest.mark.parametrize(("kind", "variant"), cases())
def test_how_records_are_cut_into_batches_never_shows(
    kind: str, variant: str, seed: int, tmp_path: Path
) -> None:
    """Nor does a restart between two batches, nor which partition comes first."""
    pipeline = built(tmp_path, kind, variant)
    sent = pipeline.records(seed)
    at_once = whole(pipeline).run(one_cut(sent))
    require_worth_cutting(pipeline, at_once)
    for number in range(CUTS):
        cuts = random_cuts(sent, seed=100 * seed + number)
        assert differing(whole(pipeline, Random(seed)).run(cuts), at_once) == []


def differing(one: Outcome, other: Outcome) -> list[object]:
    """Name the topics and partitions whose records are not the same, in the same order."""
    named = sorted(one.topics.keys() | other.topics.keys())
    found: list[object] = [name for name in named if one.topics[name] != other.topics[name]]
    return found + ["state"] * (one.tables != other.tables)


def require_worth_cutting(pipeline: Built, outcome: Outcome) -> None:
    """Require that all came that a cut could show in."""
    settings = pipeline.file.pipeline
    refused = {orjson.loads(value)["reason"] for _, value, *_ in outcome.of("dead")}
    assert refused >= ALWAYS_REFUSED
    assert (Reason.DUPLICATE in refused) == (settings.source.dedupe is not None)
    assert (Reason.LATE in refused) == (settings.operator.in_ticks() is not None)
    assert outcome.of("releases")
    assert bool(outcome.of("ledger")) == reports_spending(settings)
    assert bool(outcome.of("log")) == settings.operator.stage.merges


def test_every_stage_runs_a_kind(tmp_path: Path) -> None:
    modules = [
        import_module(f"{stages.__name__}.{one.name}") for one in iter_modules(stages.__path__)
    ]
    found = {
        member
        for module in modules
        for member in vars(module).values()
        if isinstance(member, type) and issubclass(member, Stage) and not isabstract(member)
    }
    ran = set[type[Stage[Any]]]()
    for number, (kind, variant) in enumerate(variants()):
        ran.add(type(whole(built(tmp_path / str(number), kind, variant)).stage))
    assert ran == found
