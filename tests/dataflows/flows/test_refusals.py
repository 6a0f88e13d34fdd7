"""Refusals that are raised by name have a place in a table: what a look finds, and what it cannot.

Those that helpers return (`unusable_store`, `_unusable`, `offset_gone`), and errors of the file,
are not in it.

`tests/kafka/test_start_refusals.py` provokes those of a start, and asks `validate --kafka` before.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.docs.test_names import ROOT

REFUSALS = {"StartRefused", "StateInUse", "KafkaUnavailable"}
ABOVE = {"commands", "offline"}
"""Folders whose refusals are those of other commands than `run`."""
LOOK = "looked at before anything is created, by `validate --kafka` and by every start"
COMMAND = "of a command that writes the state anew, not of a start"
LATER = "met later, by what nobody can know before: "
TABLE = {
    "kafka/failures.py scan": LATER + "Kafka goes away while a topic is read",
    "kafka/kafka_python.py KafkaPythonReader.poll": LATER + "Kafka goes away",
    "kafka/native/handle.py _made": LOOK,
    "kafka/sink.py require_sink_offset": LOOK,
    "kafka/source.py require_source_offset": LOOK,
    "state/directory.py StateDirectory.lock": "said as `runs now`: it may stop, and exits with 1",
    "state/directory.py StateDirectory.refuse_while_exchanged": LOOK,
    "state/directory.py StateDirectory.stored": LOOK,
    "state/directory.py StateDirectory.require_startable": LOOK,
    "state/directory.py _fingerprint": LOOK,
    "state/directory.py _refuse_newer": LOOK,
    "state/exchange.py Exchange.is_decided": COMMAND,
    "state/fingerprint.py check_same": LOOK,
    "state/lease_file.py LeaseFile.read": LOOK,
    "state/moved_rows.py moved_rows": COMMAND,
    "state/redrive.py Driven.require_number": COMMAND,
    "state/redrive.py due_records": COMMAND,
    "state/row_block.py read": LOOK,
    "state/row_log.py _require_length": LOOK,
    "state/row_table.py RowTable.take_in": COMMAND,
    "state/row_table.py RowTable.apply": LATER + "sound rows of another law, whose fingerprint and "
    "checksums were exchanged, too",
    "policies/told.py _written": LATER + "Kafka goes away while policies are written",
    "policies/zone_changes.py require_later": LATER
    + "figures are read, and a time zone database of "
    "another version has other clock changes in their days",
    "pipeline/source_budget.py _check": LOOK,
    "pipeline/topics.py find_policies": LOOK,
    "pipeline/topics.py _source": LOOK,
    "pipeline/topics.py _found": LOOK,
    "publishing/control_topic.py find_control": LOOK,
    "publishing/control_topic.py _found": LOOK,
    "publishing/lease.py Leases._require_own": LOOK,
    "publishing/ledger_topic.py find_ledger": LOOK,
    "publishing/registration.py _refuse_a_second_sink": LOOK,
    "publishing/registration.py _require_readable": LOOK,
    "flows/added_partitions.py added_partitions": LOOK,
    "flows/carrying_over.py CarriedOver.require_state_of": COMMAND,
    "flows/changed_entry.py ChangedEntry._refuse_a_name_of_another": COMMAND,
    "flows/first_start.py require_keys_without_a_past": LOOK,
    "flows/first_start.py empty_topic_begin": LOOK,
    "flows/first_start.py refuse_entries": LOOK,
    "flows/found_partitioner.py KeySample.choice": LOOK,
    "flows/key_layout.py stored_layout": COMMAND,
    "flows/redriven_sinks.py RedrivenSinks._shared": COMMAND,
    "flows/rewriting.py Rewriting._require_nothing_held": COMMAND,
    "flows/rewriting.py Rewriting._after_gaps": COMMAND,
    "flows/rewriting.py extended_topics": COMMAND,
    "flows/stopped_state.py every_stop": COMMAND,
    "flows/stopped_state.py require_graceful_stop": COMMAND,
}


def refusals_in(path: Path) -> Iterator[str]:
    """The functions of a module that raise a refusal by its name."""

    def within(node: ast.AST, names: tuple[str, ...]) -> Iterator[str]:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names += (node.name,)
        raised = node.exc if isinstance(node, ast.Raise) else None
        if isinstance(raised, ast.Call) and ast.unparse(raised.func) in REFUSALS:
            yield ".".join(names)
        for child in ast.iter_child_nodes(node):
            yield from within(child, names)

    yield from within(ast.parse(path.read_text()), ())


def test_refusals_by_name_are_found_before_a_start_or_say_why_not() -> None:
    dataflows = ROOT / "dataflows"
    found = {
        f"{path.relative_to(dataflows).as_posix()} {function}"
        for path in dataflows.rglob("*.py")
        if path.relative_to(dataflows).parts[0] not in ABOVE
        for function in refusals_in(path)
    }
    assert found == set(TABLE)
