"""Tell somebody whether figures were made with a policy, from public topics alone."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

import typer
from rich.box import SIMPLE_HEAD

from fugu.dataflows.base.errors import ConfigurationError
from fugu.dataflows.commands.arguments import AsJson, PipelineArgument
from fugu.dataflows.commands.output import Terminal, folding_table, print_json
from fugu.dataflows.commands.policy_force import history_of
from fugu.dataflows.policies.course import counted, moment
from fugu.dataflows.policies.in_force import Told, WrittenChange

_ANSWERS = {
    "explained": "made with the document and the changes of the topic",
    "protected": "an interval is open: what the policy says is hidden",
    "no interval": "in force, but no interval is open",
    "not in force": "not known, or not begun, or removed",
    "unexplained": "made with other policies than the document and the topic say",
}


@dataclass(frozen=True)
class Stretch:
    """Hold figures in a row, from tick `first` to `last`, of which the same is true."""

    first: int
    last: int
    answer: str


def proof(
    pipeline: PipelineArgument,
    policy: Annotated[
        str | None,
        typer.Option(metavar="COLLECTION/POLICY", help="Say of this one when it was in force."),
    ] = None,
    as_json: AsJson = False,
) -> bool:
    """Tell from public topics whether figures were made with the policies that were written.

    Every figure has a digest of the policies that it was made with. This command computes the
    digests again, from the policy document and the topic of changes alone; no secret is needed. It
    exits with 1 if a figure was made with others: a change was left out, or delayed, or made up.
    """
    history = history_of(pipeline)
    collection = _collection(policy, history) if policy else None
    stretches = list(_stretches(history, collection, policy or ""))
    if as_json:
        print_json(_data(history, stretches))
    else:
        _print(Terminal(), history, stretches, policy)
    return history.unexplained is None


def _collection(policy: str, history: Told) -> str:
    collection, _, name = policy.partition("/")
    known = {
        one.id: {configured.id for configured in one.policies}
        for one in history.document.policies.collections
    }
    for written in history.changes:
        if written.change is not None:
            added = {one.id for one in written.change.added}
            known[written.change.collection] = known.get(written.change.collection, set()) | added
    if not name or collection not in known:
        raise ConfigurationError(
            f"--policy {policy}: write COLLECTION/POLICY; collections are {', '.join(known)}"
        )
    if name not in known[collection]:
        there = ", ".join(sorted(known[collection]))
        raise ConfigurationError(
            f"--policy {policy}: neither the document nor the topic of changes has it; "
            + (f"those of {collection} are {there}" if there else f"{collection} has none")
        )
    return collection


def _stretches(history: Told, collection: str | None, policy: str) -> Iterator[Stretch]:
    """Yield stretches of figures, in order, with what is true of the policy."""
    name, wrong = policy.rpartition("/")[2], history.unexplained
    before: Stretch | None = None
    for figure in history.figures:
        if wrong is not None and figure.tick >= wrong.tick:
            answer = "unexplained"
        elif collection is None:
            answer = "explained"
        else:
            answer = _answer(history, collection, name, figure.tick)
        if before is None or before.answer != answer:
            if before is not None:
                yield before
            before = Stretch(figure.tick, figure.tick, answer)
        else:
            before = Stretch(before.first, figure.tick, answer)
    if before is not None:
        yield before


def _answer(history: Told, collection: str, name: str, tick: int) -> str:
    known = history.known_at(tick)
    assert known is not None
    there = history.document.policies.admitted(known.changes).get(collection, ())
    admitted = [one for one in there if one.policy.id == name]
    width = history.document.policies.tick_milliseconds
    if any(True for one in admitted for _ in one.overlapping(tick, tick, width)):
        return "protected"
    in_force = any(one.first <= tick < one.until for one in admitted)
    return "no interval" if in_force else "not in force"


def _data(history: Told, stretches: list[Stretch]) -> dict[str, object]:
    document, wrong = history.document, history.unexplained
    return {
        "figures": len(history.figures),
        "explained": wrong is None,
        "first_unexplained": None
        if wrong is None
        else {"offset": wrong.offset, "tick": wrong.tick, "time": document.begin(wrong.tick)},
        "known": [
            {
                "offset": one.offset,
                "from_tick": tick,
                "from": moment(tick, document),
                "became": said,
            }
            for one, tick, said in history.became()
        ],
        "unknown": [
            {"offset": one.offset, "written": _written(one, history)} for one in history.unknown
        ],
        "stretches": [
            {
                "first_tick": one.first,
                "last_tick": one.last,
                "start": moment(one.first, document),
                "end": moment(one.last + 1, document),
                "is": one.answer,
            }
            for one in stretches
        ],
    }


def _print(console: Terminal, history: Told, stretches: list[Stretch], policy: str | None) -> None:
    document, wrong = history.document, history.unexplained
    if not history.figures:
        console.print("There are no figures yet.")
        return
    if policy is not None:
        table = folding_table(
            "figures from", "to", policy, box=SIMPLE_HEAD, show_edge=False, pad_edge=False
        )
        for one in stretches:
            times = (moment(one.first, document), moment(one.last + 1, document))
            table.add_row(*map(str, times), f"{one.answer}: {_ANSWERS[one.answer]}")
        console.print(table)
    _print_known(console, history)
    if wrong is None:
        console.print(
            f"\nAll {counted(len(history.figures), 'figure')} were made with the document and the "
            f"changes of the topic{_but_for(history)}.",
            highlight=False,
        )
    else:
        console.print(
            f"\n[red]The figure at offset {wrong.offset}, {moment(wrong.tick, document)}, was made "
            "with other policies[/red] than the document and the topic of changes say: a change "
            "was left out, or was known earlier or later, or the document is another one. Ask "
            "whoever runs the pipeline.",
            highlight=False,
        )


def _print_known(console: Terminal, history: Told) -> None:
    for one, tick, said in history.became():
        assert one.change is not None
        console.print(
            f"offset {one.offset}, {one.change.key}: known to "
            f"figures from {moment(tick, history.document)} on: {said}",
            soft_wrap=True,
            highlight=False,
            markup=False,
        )
    for one in history.unknown:
        assert one.change is not None
        console.print(
            f"offset {one.offset}, {one.change.key}: written {_written(one, history)}, and known "
            "to no figure",
            highlight=False,
        )


def _but_for(history: Told) -> str:
    """Say which changes may have been left out: a pipeline that knows none of them looks like one
    that they came too late for."""
    if not history.unknown:
        return ""
    last = moment(history.figures[-1].tick + 1, history.document)
    return (
        f", but for the last {counted(len(history.unknown), 'change')}. Figures go to {last}: "
        "what was written before is left out, or delayed"
    )


def _written(change: WrittenChange, history: Told) -> str:
    """Return when a record was written, by the clock of its writer or of Kafka."""
    written = datetime.fromtimestamp(change.timestamp / 1000, history.document.zone)
    return f"{written:%Y-%m-%d %H:%M}"
