"""Check a pipeline file, and with `--kafka` its topics, changing nothing."""

from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from fugu.dataflows.base.errors import FuguError, StartRefused
from fugu.dataflows.commands.arguments import AsJson, KeyField, PipelineArgument
from fugu.dataflows.commands.checks import Checks
from fugu.dataflows.commands.output import Terminal
from fugu.dataflows.commands.validate_by_user import check_by_user
from fugu.dataflows.commands.validate_copies import first_block_remarks, replica_remarks
from fugu.dataflows.commands.validate_schemas import check_schemas
from fugu.dataflows.commands.validate_start import AsRun, check_start
from fugu.dataflows.flows.added_partitions import partitions_begun
from fugu.dataflows.flows.found_partitioner import as_begun, sampled_keys
from fugu.dataflows.flows.sections import is_merged
from fugu.dataflows.kafka.client import Client, Topic
from fugu.dataflows.kafka.clients import client_of
from fugu.dataflows.kafka.connection import Connection
from fugu.dataflows.offline.evaluation.sample import Sample, refused_lines
from fugu.dataflows.pipeline.config import PipelineFile
from fugu.dataflows.pipeline.guarantee_text import in_words
from fugu.dataflows.pipeline.mechanisms import (
    columns_of,
    configure,
    refuse_what_pays_nothing,
    remarks_of,
    state_megabytes,
)
from fugu.dataflows.pipeline.policy_changes import (
    log_remarks,
    policy_topic_remarks,
    signatures_of,
    who_can_change,
)
from fugu.dataflows.pipeline.secrets import read_keys
from fugu.dataflows.pipeline.sections import Ledger
from fugu.dataflows.pipeline.topics import outputs, policies_problem, source_problems, without_added
from fugu.dataflows.policies.signatures import Signatures
from fugu.dataflows.publishing.ledger_topic import ledger_problem
from fugu.dataflows.records.codec import Codec
from fugu.dataflows.records.registered import Registered
from fugu.dataflows.state.row_sizes import estimated_row_bytes

_SMALL_RECORD_BYTES = 4096
_DAY_MS = 24 * 60 * 60 * 1000


def validate(
    pipeline: PipelineArgument,
    kafka: Annotated[
        bool, typer.Option("--kafka", help="Check the topics too; nothing is changed.")
    ] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Fail for warnings, too.")] = False,
    shard: Annotated[
        list[str] | None, typer.Option(help="With --kafka: as run --shard 0/4 would start.")
    ] = None,
    processes: Annotated[
        int | None, typer.Option(metavar="N", help="With --kafka: as run --processes N would.")
    ] = None,
    finish: Annotated[
        bool, typer.Option("--finish", help="With --kafka: as run --finish would.")
    ] = False,
    sample: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Read these records too: JSON lines, as of fugu sample."),
    ] = None,
    key_field: KeyField = "key",
    as_json: AsJson = False,
) -> bool:
    """Check a pipeline file; exit with 1 if the pipeline would not start.

    With --kafka everything is looked at as a start does: state, secret, topics, offsets, ledger,
    the port of metrics. Give --shard, --processes and --finish as you would to run. A pipeline that
    runs now is said to be in use, which is no start, either. With --sample, a field that no record
    holds fails.
    """
    file, checks, as_run = pipeline, Checks(), AsRun(shard or [], processes, finish)
    checks.passed("pipeline file", str(file.path))
    try:
        built = configure(file)
        mechanism = built.mechanism
        if sample is not None:
            _check_sample(sample, key_field, built.codec, checks)
        checks.passed("operator", f"{mechanism.kind}, {in_words(mechanism.guarantees()[0])}")
        for remark in remarks_of(file, mechanism):
            checks.warned("operator", remark)
        refuse_what_pays_nothing(mechanism)
        megabytes = state_megabytes(file.pipeline, mechanism)
        checks.passed("state size", f"about {megabytes:,.0f} MB with state.max_keys keys")
    except FuguError as error:
        checks.failed("operator or state", str(error))
    try:
        keys = read_keys(file)
        checks.passed("secret", f"key epoch {keys.epoch}")
    except FuguError as error:
        checks.failed("secret", str(error))
    signatures = _signatures(file, checks)
    try:
        as_run.shards(file)
    except FuguError as error:
        checks.failed("start", str(error))
    try:
        connection = file.connection()
        if kafka:
            with suppress(StartRefused):  # which the start says once more
                _check_kafka(file, connection, signatures, checks)
            check_start(file, as_run, checks)
        else:
            checks.passed("kafka", f"{connection.bootstrap}, {connection.protocol}, not contacted")
    except FuguError as error:
        checks.failed("kafka", str(error))
    checks.print(as_json=as_json)
    if not kafka and not as_json:
        Terminal().print("Topics were not looked at; add --kafka to check them too.")
    return checks.are_passed(strict=strict)


def _check_sample(path: Path, key_field: str, codec: Codec, checks: Checks) -> None:
    """Read records as the pipeline does; a field that none of them holds is a mistake."""
    try:
        dead = Sample.read(path, key_field, codec).decoded.dead
    except FuguError as error:
        checks.failed("sample", str(error))
        return
    refused = "; ".join(map(str, refused_lines(dead)))
    if refused:
        checks.warned("sample", f"lines that would become dead letters: {refused}")
    else:
        checks.passed("sample", f"every record of {path} is read")


def _signatures(file: PipelineFile, checks: Checks) -> Signatures | None:
    try:
        signatures = signatures_of(file)
    except FuguError as error:
        checks.failed("source.policies", str(error))
        return None
    if signatures is not None:
        checks.passed("source.policies", "; ".join(who_can_change(file.pipeline)))
    return signatures


def _check_kafka(
    file: PipelineFile, connection: Connection, signatures: Signatures | None, checks: Checks
) -> None:
    pipeline = file.pipeline
    client = client_of(connection, pipeline.source.generation)
    source = client.topic(pipeline.source.topic)
    checks.passed("kafka", f"{connection.bootstrap}, {connection.protocol}, {client.name}")
    if source is None:
        return
    _report("source.topic", source, source_problems(pipeline, source), checks)
    codec = configure(file).codec
    wire = codec.wire
    _check_source_limits(source, pipeline.source.max_value_bytes, checks)
    if pipeline.source.is_repartitioned:
        source = check_by_user(pipeline, client, source, checks)
    else:
        _check_partitioner(file, client, source, codec, checks)
    if isinstance(wire, Registered):
        check_schemas(pipeline.source.topic, wire, checks)
    begun = partitions_begun(file)
    known = source if begun is None else without_added(source, begun)
    for output in outputs(pipeline, known, begun):
        sink = client.topic(output.name)
        if sink is not None:
            _report(output.key, sink, output.problems(sink), checks)
            _check_sink_limits(output.key, sink, checks)
        elif pipeline.sink.create:
            wanted = output.partitions_in_words
            checks.passed(output.key, f"{output.name} will be created with {wanted}")
        else:
            checks.failed(output.key, output.missing)
    if signatures is not None:
        _check_policies(client, signatures, checks)
    if is_merged(pipeline):
        log = pipeline.partials_topic
        for remark in log_remarks(log, client.rights(log)):
            checks.warned("sink.partials", remark)
    if pipeline.ledger is not None:
        _check_ledger(client, pipeline.ledger, checks)
    if pipeline.state.in_kafka:
        _check_state(file, client, source, checks)


def _check_partitioner(
    file: PipelineFile, client: Client, source: Topic, codec: Codec, checks: Checks
) -> None:
    """Compare where the newest keys are with where producers should have sent them."""
    written = as_begun(file).pipeline.source.partitioner
    sample = sampled_keys(client, source, codec)
    if written == "auto":
        try:
            found, why = sample.choice
            checks.passed("source.partitioner", f"auto, which is {found}: {why}")
        except FuguError as error:
            checks.failed("source.partitioner", str(error))
    elif written == "unchecked":
        checks.passed("source.partitioner", f"unchecked; {sample.in_words}")
    elif sample.keys and written not in sample.fitting:
        checks.warned(
            "source.partitioner",
            f"{written}, but {sample.in_words}. Keys in another partition become dead letters "
            "(wrong_partition); if producers have changed, run fugu state repartition",
        )
    else:
        checks.passed("source.partitioner", f"{written}; {sample.in_words}")


def _check_policies(client: Client, signatures: Signatures, checks: Checks) -> None:
    name = signatures.topic
    topic = client.topic(name)
    problem = policies_problem(topic, name)
    if topic is None or problem is not None:
        checks.failed("source.policies", problem or name)
        return
    checks.passed("source.policies", f"{name}, 1 partition")
    for remark in policy_topic_remarks(topic, client.rights(name), signatures):
        checks.warned("source.policies", remark)


def _check_ledger(client: Client, ledger: Ledger, checks: Checks) -> None:
    topic = client.topic(ledger.topic)
    if topic is None and ledger.create:
        checks.passed("ledger.topic", f"{ledger.topic} will be created, compacted")
        return
    problem = ledger_problem(topic, ledger.topic)
    if problem is None:
        checks.passed("ledger.topic", f"{ledger.topic}, compacted")
    else:
        checks.failed("ledger.topic", problem)


def _check_state(file: PipelineFile, client: Client, source: Topic, checks: Checks) -> None:
    """Warn where a whole partition may not fit into a transaction, and of fewer replicas."""
    pipeline = file.pipeline
    row = estimated_row_bytes(columns_of(pipeline, configure(file).mechanism))
    every = pipeline.state.every.total_seconds()
    for remark in first_block_remarks(pipeline.state.max_keys, source.partitions, row, every):
        checks.warned("state.max_keys", remark)
    state, sink = client.topic(pipeline.state_topic), client.topic(pipeline.sink.topic)
    for remark in replica_remarks(state, sink):
        checks.warned("state.topic", remark)


def _report(key: str, topic: Topic, problems: list[str], checks: Checks) -> None:
    for problem in problems:
        checks.failed(key, problem)
    if not problems:
        checks.passed(
            key, f"{topic.name}, {topic.partitions} partition{'s' * (topic.partitions > 1)}"
        )


def _check_source_limits(source: Topic, max_value_bytes: int, checks: Checks) -> None:
    largest = int((source.settings or {}).get("max.message.bytes", max_value_bytes))
    if largest > max_value_bytes:
        checks.warned(
            "message size",
            f"{source.name} takes records of up to {largest} bytes; values above "
            f"source.max_value_bytes ({max_value_bytes}) become dead letters",
        )
    _check_retention("source.topic", source, "while the pipeline is down", checks)


def _check_sink_limits(key: str, sink: Topic, checks: Checks) -> None:
    if int((sink.settings or {}).get("max.message.bytes", _SMALL_RECORD_BYTES)) < (
        _SMALL_RECORD_BYTES
    ):
        checks.failed(key, f"set max.message.bytes of {sink.name} to {_SMALL_RECORD_BYTES} or more")
    _check_retention(key, sink, "between a crash and the restart", checks)


def _check_retention(key: str, topic: Topic, when: str, checks: Checks) -> None:
    retention = int((topic.settings or {}).get("retention.ms", -1))
    if 0 <= retention < _DAY_MS:
        checks.warned(
            key,
            f"{topic.name} keeps records for {retention / 3_600_000:.1f} hours; if they go {when}, "
            "the pipeline refuses to continue",
        )
