"""Refusals have a place in a table: what a look finds, and what it cannot.

They are raised by name, or by a helper that returns one. Errors of the file are not in it.

`tests/kafka/foretold.py` asks `validate --kafka` before a start, and compares every line.
"""

import ast
from dataclasses import dataclass
from pathlib import Path

from tests.docs.test_names import ROOT

REFUSALS = {
    "StartRefused",
    "OtherVersion",
    "StateInUse",
    "StartContended",
    "TakenOver",
    "ReleaseMismatch",
    "BudgetExhausted",
    "KafkaUnavailable",
    "AddressInUse",
}
ABOVE = {"analysis", "commands", "offline"}
"""Folders whose refusals are those of other commands than `run`."""
LOOK = "looked at before anything is created, by `validate --kafka` and by every start"
COMMAND = "of a command that writes the state anew, not of a start"
LATER = "met later, by what nobody can know before: "
MISMATCH = "a replay makes other content than what was published"
GIVEN = LATER + "a partition is looked at by whoever the consumer group gives it to"
WATCH = "of what looks beside the dataflow, which goes on, and says it in a notice"
TABLE = {
    "copies/accounts.py Account._digests": GIVEN,
    "copies/accounts.py Account.look": GIVEN,
    "copies/accounts.py Account.note": LATER + MISMATCH,
    "copies/by_user_positions.py Positions._never_committed": GIVEN,
    "copies/by_user_positions.py Positions._require_there": GIVEN,
    "copies/copy.py Copy._take_over": GIVEN,
    "copies/moving_parts.py MovingPart.require_own": COMMAND,
    "copies/last_change.py LastChange.apply": GIVEN,
    "copies/moving_back.py _complete": COMMAND,
    "copies/moving_back.py _moved": COMMAND,
    "copies/moving_back.py _present": COMMAND,
    "copies/moving_back.py _require_settled": COMMAND,
    "copies/moving_back.py _state": COMMAND,
    "copies/others.py others_between": LATER + "something else commits state",
    "copies/planning.py _require_no_past": LOOK,
    "copies/sole_member.py SoleMember._present": COMMAND,
    "copies/sole_member.py SoleMember.wait": COMMAND,
    "copies/takeover.py Takeover._position": GIVEN,
    "copies/takeover.py Takeover._require_own": GIVEN,
    "copies/takeover.py Takeover._require_readable": GIVEN,
    "copies/patience.py Patience.require_hope": GIVEN,
    "flows/planning.py _require_a_place_for_each": LOOK,
    "flows/state_in_kafka.py find_state": LOOK,
    "kafka/native/group_member.py NativeGroupMember.committed": GIVEN,
    "kafka/native/group_member.py NativeGroupMember.poll": LATER + "no right to join the group",
    "stages/log_entries.py read_entry": LATER + "a process of another version writes to the log",
    "state/same_topics.py SameTopics.require": LATER + "a topic is deleted and made anew",
    "state/chain_reader.py ChainReader.require_whole": GIVEN,
    "state/changelog.py read": GIVEN,
    "state/state_topic.py StateTopic._require_no_other_seal": LOOK,
    "state/state_topic.py StateTopic.put": LATER + "something else floods the state topic",
    "state/state_topic.py StateTopic.create": LATER
    + "the state topic has other partitions than the source, when a state begins",
    "state/state_topic.py StateTopic.read": LOOK,
    "state/state_topic.py StateTopic.stored": LOOK,
    "flows/redriven_sinks.py RedrivenSinks.publish": COMMAND,
    "flows/rebuilding.py _require_nothing_there": COMMAND,
    "flows/replaying.py Replay._compare": COMMAND,
    "flows/replaying.py Replay._match": COMMAND,
    "flows/replaying.py Replay._position": COMMAND,
    "flows/replaying.py Replay._whole": COMMAND,
    "flows/replaying.py Replay.of": COMMAND,
    "flows/orphans.py tail_of": COMMAND,
    "flows/newest_copy.py require_nothing_behind": COMMAND,
    "flows/rebuilt_ledger.py LedgerOf.refuse_more": COMMAND,
    "flows/settling.py Settling._follow": COMMAND,
    "flows/settling.py Settling._read": COMMAND,
    "flows/settling.py Settling._step": COMMAND,
    "flows/settling.py Settling.of": COMMAND,
    "publishing/lease.py Leases.require_no_other_sink": COMMAND,
    "kafka/failures.py scan": LATER + "Kafka goes away while a topic is read",
    "kafka/kafka_python.py KafkaPythonClient._wait_for_partitions": COMMAND,
    "kafka/kafka_python.py KafkaPythonClient.add_partitions": COMMAND,
    "kafka/kafka_python.py KafkaPythonClient.create_topic": LATER + "no right to create topics",
    "kafka/kafka_python.py KafkaPythonClient._described": LOOK,
    "kafka/kafka_python.py KafkaPythonReader.bounds": LOOK,
    "kafka/kafka_python.py KafkaPythonClient.identities": LATER + "a right is taken away",
    "kafka/kafka_python.py KafkaPythonReader._poll": LATER + "Kafka goes away",
    "kafka/kafka_python_refusals.py reach": LOOK,
    "kafka/native/group_member.py NativeGroups.committed": WATCH,
    "kafka/native/group_member.py NativeGroups.group": WATCH,
    "kafka/native/group_member.py NativeGroups.partitions": WATCH,
    "kafka/native/consumer.py _made": LOOK,
    "kafka/native/consumer.py NativeReader._bounds": LOOK,
    "kafka/native/consumer.py NativeReader._is_end": LATER + "an offset goes while it is read",
    "kafka/native/consumer.py NativeReader._poll": LATER + "reading ends for good",
    "kafka/native/consumer.py NativeReader.assign": LATER + "reading does not begin",
    "kafka/sink.py ReplayedReleases._explain_by_time": LATER + MISMATCH,
    "kafka/sink.py ReplayedReleases._explain_unmatched": LATER + MISMATCH,
    "kafka/sink.py ReplayedReleases.without_published": LATER + MISMATCH,
    "kafka/sink.py KafkaSink._settled_bounds": LATER + "another producer's transaction is open",
    "kafka/sink.py require_sink_offset": LOOK,
    "kafka/source.py require_source_offset": LOOK,
    "monitoring/server.py _listening": LOOK,
    "monitoring/source_watch.py SourceWatch._look": WATCH,
    "run/run.py _run_shard": LATER + "bytewax finds what it wrote itself not to be there",
    "stages/per_record.py sanitized": LATER + "a stream cannot pay for a release",
    "state/directory.py StateDirectory.is_in_use": LOOK,
    "state/directory.py StateDirectory.lock": "said as `in use`: it may stop, and exits with 1",
    "state/looking_directory.py LookingDirectory.lock": LOOK,
    "state/recovery.py _refusing": LOOK,
    "state/row_log.py _place": LOOK,
    "state/row_log.py blocks": LOOK,
    "state/directory.py StateDirectory.refuse_while_exchanged": LOOK,
    "state/directory.py StateDirectory.stored": LOOK,
    "state/directory.py StateDirectory.require_startable": LOOK,
    "state/directory.py _fingerprint": LOOK,
    "state/exchange.py Exchange.is_decided": COMMAND,
    "state/fingerprint.py check_same": LOOK,
    "state/fingerprint.py read_fingerprint": LOOK,
    "state/lease_file.py LeaseFile.read": LOOK,
    "state/moved_rows.py moved_rows": COMMAND,
    "state/redrive.py Driven.require_number": COMMAND,
    "state/redrive.py due_records": COMMAND,
    "state/row_block.py read": LOOK,
    "state/row_log.py _require_length": LOOK,
    "state/row_table.py RowTable.take_in": COMMAND,
    "state/row_table.py RowTable.apply": LATER + "sound rows of another law, whose fingerprint and "
    "checksums were exchanged, too",
    "policies/in_force.py _written": LATER + "Kafka goes away while policies are written",
    "policies/changes.py require_later": LATER + "figures are read, and a time zone database of "
    "another version has other clock changes in their days",
    "pipeline/source_budget.py _check": LOOK,
    "pipeline/topics.py find_policies": LOOK,
    "pipeline/topics.py _source": LOOK,
    "pipeline/topics.py topic_to_read": LOOK,
    "pipeline/topics.py _found": LOOK,
    "kafka/schema_registry.py SchemaRegistry.register": LATER
    + "the registry refuses the schema of releases, when a sink begins",
    "publishing/envelope.py ReleaseForm.require_own": LATER
    + "the sink holds what another schema or none has written",
    "publishing/lease.py find_control": LOOK,
    "publishing/lease.py _found": LOOK,
    "publishing/lease.py Leases._require_own": LOOK,
    "publishing/lease.py Leases.require_held": LATER + "another process claims the state",
    "publishing/ledger_topic.py find_ledger": LOOK,
    "publishing/promise.py Promise.read": LOOK,
    "publishing/registration.py register": LATER
    + "another pipeline is entered at once; exits with 1",
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
    "flows/told_moves.py ToldMoves.kept": COMMAND,
    "flows/told_moves.py ToldMoves.tell": COMMAND,
    "flows/stopped_state.py require_graceful_stop": COMMAND,
}


@dataclass(frozen=True)
class Raised:
    """Where a module raises or returns what; helpers are known by their last name."""

    raises: list[tuple[str, str]]
    returns: list[tuple[str, str]]


def raised_in(path: Path) -> Raised:
    """What the functions of a module raise and return by a call, or by a name for it."""
    found = Raised([], [])

    def within(node: ast.AST, names: tuple[str, ...]) -> None:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names += (node.name,)
        for kind, into in ((ast.Raise, found.raises), (ast.Return, found.returns)):
            value = getattr(node, "exc" if kind is ast.Raise else "value", None)
            if isinstance(node, kind) and isinstance(value, ast.Call):
                into += [(".".join(names), one) for one in _called(value.func)]
        for child in ast.iter_child_nodes(node):
            within(child, names)

    within(ast.parse(path.read_text()), ())
    return found


def _called(function: ast.AST) -> list[str]:
    """The last names of what may be called: of both sides of a choice, too."""
    match function:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return [name]
        case ast.IfExp(body=body, orelse=other):
            return _called(body) + _called(other)
    return []


def refusals() -> set[str]:
    """All functions that raise a refusal, by its name or by that of a helper that returns one."""
    dataflows = ROOT / "dataflows"
    modules = {
        path.relative_to(dataflows): raised_in(path)
        for path in dataflows.rglob("*.py")
        if path.relative_to(dataflows).parts[0] not in ABOVE
    }
    names, before = set(REFUSALS), set[str]()
    while names != before:
        before = set(names)
        for module in modules.values():
            names |= {of.rpartition(".")[2] for of, called in module.returns if called in names}
    return {
        f"{path.as_posix()} {of}"
        for path, module in modules.items()
        for of, called in module.raises
        if called in names
    }


def test_refusals_are_found_before_a_start_or_say_why_not() -> None:
    found = refusals()
    assert found - set(TABLE) == set(), "no place in the table"
    assert set(TABLE) - found == set(), "not raised any more"
