"""Go on with the state that the version of Fugu before wrote.

Another version may draw by other laws or keep other columns. Positions that were released stay
released: the upgrade needs a graceful stop, after which nothing is released again. Only
fingerprints are exchanged, each one atomically, so that an interrupted upgrade can be repeated;
rows are converted when the pipeline loads them. What was spent stays spent.
"""

from collections.abc import Sequence

from fugu.dataflows.base.errors import StartRefused
from fugu.dataflows.commands.arguments import PipelineArgument
from fugu.dataflows.commands.output import Terminal
from fugu.dataflows.commands.state import stopped
from fugu.dataflows.flows.found_partitioner import as_begun
from fugu.dataflows.flows.sections import layout_of
from fugu.dataflows.flows.stopped_state import require_graceful_stop
from fugu.dataflows.pipeline.config import Pipeline, reading_digest
from fugu.dataflows.pipeline.mechanisms import configure
from fugu.dataflows.state.directory import StateDirectory
from fugu.dataflows.state.fingerprint import Fingerprint
from fugu.operators.mechanism import Mechanism
from fugu.operators.realtime.local_release import LocalRealTimeRelease
from fugu.operators.realtime.real_time_release import RealTimeRelease
from fugu.operators.swellfish.strategy import PolicyStrategy
from fugu.operators.totals.running_total import RunningTotal
from fugu.operators.upgrades.former_laws import former_implementation, former_law_digest
from fugu.operators.upgrades.real_time_laws import law_digest_before
from fugu.operators.upgrades.running_total_laws import (
    how_to_finish,
    is_same_law,
    mixed_law_digest,
)


def upgrade(pipeline: PipelineArgument) -> None:
    """Go on with the state that the version of Fugu before wrote; budgets stay as they are.

    Stop the pipeline gracefully with the version before, install this one, run this, and start.
    """
    pipeline = as_begun(pipeline)
    mechanism = configure(pipeline).mechanism
    with stopped(pipeline) as directories:
        stored = {directory: directory.stored() for directory in directories}
        waiting = {
            directory: fingerprint
            for directory, fingerprint in stored.items()
            if fingerprint is not None
            and not _is_current(fingerprint, pipeline.pipeline, mechanism)
        }
        for directory, fingerprint in waiting.items():
            _require_a_former_version(directory, fingerprint, pipeline.pipeline, mechanism)
        for directory, fingerprint in waiting.items():
            positions = require_graceful_stop(directory)
            now = _written_by_this_version(fingerprint, pipeline.pipeline, mechanism)
            directory.replace(now.model_copy(update={"upgraded_at": positions}))
    Terminal().print(
        f"{pipeline.pipeline.name}: {len(waiting)} of {len(stored)} directories were of the "
        f"version of Fugu before and go on with this one; all budgets stay. Start {pipeline.path}."
    )


def _written_by_this_version(
    stored: Fingerprint, pipeline: Pipeline, mechanism: Mechanism
) -> Fingerprint:
    return stored.model_copy(
        update={
            "implementation": mechanism.implementation,
            "law": mechanism.law_digest().hex(),
            "layout": layout_of(pipeline),
            "reading": reading_digest(pipeline),
        }
    )


def _is_current(stored: Fingerprint, pipeline: Pipeline, mechanism: Mechanism) -> bool:
    now = _written_by_this_version(stored, pipeline, mechanism)
    return (stored.implementation, stored.layout) == (now.implementation, now.layout)


def _require_a_former_version(
    directory: StateDirectory, stored: Fingerprint, pipeline: Pipeline, mechanism: Mechanism
) -> None:
    """Refuse a state that another pipeline file, or an older version, has left."""
    former = [(former_implementation(mechanism), former_law_digest(mechanism), 1)]
    if isinstance(mechanism, RealTimeRelease | LocalRealTimeRelease):
        since = law_digest_before(mechanism, 2)
        former += [(2, since, layout_of(pipeline))] if since else []
    if isinstance(mechanism, PolicyStrategy | RunningTotal):
        former += [(implementation, law, layout_of(pipeline)) for implementation, law, _ in former]
    written = [_left_by(stored, one, pipeline) for one in former]
    if stored not in written:
        mixed = _with_mixed_figures(stored, pipeline, mechanism)
        if stored in mixed:
            assert isinstance(mechanism, RunningTotal)
            raise StartRefused(f"{directory.path}: {how_to_finish(mechanism)} Nothing was changed.")
        differing = _what_differs(stored, [*written, *mixed], mechanism)
        raise StartRefused(f"{directory.path} {differing} Nothing was changed.")
    require_graceful_stop(directory)


def _left_by(
    stored: Fingerprint, former: tuple[int, bytes, int], pipeline: Pipeline
) -> Fingerprint:
    """Return what an implementation, its law and its layout would have left for this file."""
    implementation, law, layout = former
    return stored.model_copy(
        update={
            "implementation": implementation,
            "law": law.hex(),
            "layout": layout,
            "reading": reading_digest(pipeline),
        }
    )


def _with_mixed_figures(
    stored: Fingerprint, pipeline: Pipeline, mechanism: Mechanism
) -> list[Fingerprint]:
    """Return what the version before left of running totals that no version goes on with."""
    if not isinstance(mechanism, RunningTotal) or is_same_law(mechanism):
        return []
    law = mixed_law_digest(mechanism)
    if law is None:
        return []
    return [_left_by(stored, (1, law, one), pipeline) for one in (1, layout_of(pipeline))]


def _what_differs(stored: Fingerprint, written: Sequence[Fingerprint], mechanism: Mechanism) -> str:
    """Say what of a state is not as any former version would have left it for this file."""
    if stored.operator != mechanism.kind:
        changed = [f"operator.kind was {stored.operator} and is {mechanism.kind}"]
    else:
        version = stored.implementation, stored.layout
        alike = [one for one in written if (one.implementation, one.layout) == version]
        if not alike:
            return (
                f"was written by implementation {stored.implementation} of {stored.operator}, with "
                f"layout {stored.layout} of its rows, which this version of Fugu does not go on "
                "from with this pipeline file. Let the version that wrote it finish, or upgrade "
                "with each version in between."
            )
        changed = []
        if stored.law not in {one.law for one in alike}:
            changed.append("the law (epsilon, alphabet, model, budget or another key of operator)")
        if stored.reading not in {one.reading for one in alike}:
            changed.append("how records are read (source.value, timestamp, partitioner or dedupe)")
    return (
        "was not written for this pipeline file by the version of Fugu before this one. What has "
        f"changed: {'; '.join(changed)}. Restore the pipeline and model files it was written with, "
        "and run this command again, or run the version that wrote it."
    )
