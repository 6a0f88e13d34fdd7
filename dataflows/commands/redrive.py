"""Release records that were refused: each one once, at its position, and from one budget."""

from dataclasses import asdict
from datetime import UTC, datetime
from typing import Annotated

import typer

from fugu.dataflows.base.batches import Reason
from fugu.dataflows.base.errors import ConfigurationError, StartRefused
from fugu.dataflows.base.ticks import MILLISECOND, between
from fugu.dataflows.commands.arguments import AsJson, PipelineArgument
from fugu.dataflows.commands.output import Terminal, print_json
from fugu.dataflows.flows.dead_letters import Choice
from fugu.dataflows.flows.found_partitioner import as_begun
from fugu.dataflows.flows.redriven_state import COMMAND, complete, decide
from fugu.dataflows.flows.state_directories import root_directory
from fugu.dataflows.flows.stopped_state import alone_in
from fugu.dataflows.pipeline.config import Pipeline
from fugu.dataflows.state.exchange import Exchange
from fugu.dataflows.state.redrive import FOLDER, Driven, Tally

_ALLOWED = (Reason.WRONG_PARTITION, Reason.TOO_MANY_KEYS)
"""Reasons that depend on keys alone: that a release comes late tells nothing about its value."""


def redrive(
    pipeline: PipelineArgument,
    reason: Annotated[Reason, typer.Option(help="Why they were refused.")] = Reason.WRONG_PARTITION,
    since: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Records from then on: 2026-11-24T08:00, or 2h ago."),
    ] = None,
    until: Annotated[
        str | None, typer.Option(metavar="TIME", help="Records before then, written alike.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be done, and change nothing.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Release records that became dead letters, now that they can be released.

    Each record is released once, at its position, if the budget of its key allows it. The pipeline
    must have stopped gracefully. Killed anywhere, the command is run once more.
    """
    _require_a_reason_of_keys(reason)
    _require_single_records(pipeline.pipeline)
    choice = Choice(reason, _moment("--since", since), _moment("--until", until))
    pipeline = as_begun(pipeline)
    root = root_directory(pipeline)
    exchange = Exchange(root.path)
    with alone_in(root):
        did = "drove"
        if exchange.is_decided(COMMAND):
            if dry_run:
                raise StartRefused(f"{COMMAND} was cut short. Run it once more without --dry-run.")
            did = "completed what was begun: drove"
        else:
            tally = decide(pipeline, exchange, choice, dry_run=dry_run)
            if tally is not None:
                _report(tally, as_json, "would drive" if dry_run else did)
                return
        complete(pipeline, exchange)
    _report(Driven.read(root.path / FOLDER).tally, as_json, did)
    if not as_json:
        Terminal(soft_wrap=True).print(
            f"Start {pipeline.path}. The old directories {root.path}/shard-*.before-* hold "
            "original keys: delete them when you are satisfied."
        )


def _require_a_reason_of_keys(reason: Reason) -> None:
    if reason not in _ALLOWED:
        raise ConfigurationError(
            f"--reason {reason}: a late release would tell readers that the value was refused "
            "before, which no epsilon covers. Records can be driven again that were refused for "
            f"their keys: {' or '.join(_ALLOWED)}"
        )


def _require_single_records(pipeline: Pipeline) -> None:
    operator = pipeline.operator
    if operator.releases_record_by_record:
        return
    why = "what it holds back was released in the order in which records came"
    if not operator.streams_can_move:
        why = "their ticks are published"
    raise ConfigurationError(
        f"operator.kind: records of {operator.kind} cannot be driven again: {why}"
    )


def _moment(option: str, text: str | None) -> int | None:
    """Return a time in milliseconds, from a moment or from a duration before now."""
    if text is None:
        return None
    now = datetime.now(UTC)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        try:
            moment = now - between("1ms", "36500d")(text.removesuffix(" ago"))
        except ValueError:
            raise ConfigurationError(
                f"{option} {text}: write a time such as 2026-11-24T08:00 (UTC) or "
                "2026-11-24T08:00+01:00, or a duration before now, such as 2h or 3d"
            ) from None
    moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
    return (moment - datetime.fromtimestamp(0, UTC)) // MILLISECOND


def _report(tally: Tally, as_json: bool, did: str) -> None:
    if as_json:
        print_json(asdict(tally))
        return
    parts = [f"{tally.released:,} released", f"{tally.repeated:,} repeated"]
    if tally.suppressed:
        parts.append(f"{tally.suppressed:,} suppressed")
    parts += [f"{count:,} refused again ({reason})" for reason, count in tally.refused.items()]
    if tally.gone:
        parts.append(f"{tally.gone:,} gone from the source")
    said = f"{did} {tally.records:,} records again: {', '.join(parts)}"
    if tally.foreign:
        said += (
            f". Left alone because the present key does not make their names: {tally.foreign:,} "
            "dead letters. They are older than the last fugu state rotate, of another version of "
            "the pipeline, or written by somebody else"
        )
    Terminal(soft_wrap=True).print(said)
