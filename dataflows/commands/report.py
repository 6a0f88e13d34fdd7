"""Write the privacy card: one page that says what pipelines promise, for people."""

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import orjson
import typer

from fugu.dataflows.base.errors import ConfigurationError, StartRefused
from fugu.dataflows.commands.arguments import KeyField, PipelineArguments
from fugu.dataflows.commands.explain import parameters_of, require_different
from fugu.dataflows.commands.explain_together import check_budgets
from fugu.dataflows.commands.output import say
from fugu.dataflows.kafka.client import Client
from fugu.dataflows.kafka.clients import client_of
from fugu.dataflows.offline.card.facts import DeadLetterCounts, Facts, PipelineFacts
from fugu.dataflows.offline.card.page import page
from fugu.dataflows.offline.evaluation.report import Report
from fugu.dataflows.pipeline.config import PipelineFile
from fugu.dataflows.pipeline.joint import Told, declared_joints
from fugu.dataflows.pipeline.mechanisms import configure
from fugu.dataflows.pipeline.source_budget import Promises
from fugu.dataflows.publishing.ledger_topic import LedgerContent, read_ledger
from fugu.operators.mechanism import Mechanism

_RUNS = 5


def report(
    pipelines: PipelineArguments,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", dir_okay=False, help="The page.")
    ] = Path("report.html"),
    audits: Annotated[
        list[Path] | None,
        typer.Option(
            "--audit", metavar="FILE", help="Output of fugu audit --json; may be given again."
        ),
    ] = None,
    samples: Annotated[
        list[str] | None,
        typer.Option(
            "--sample",
            metavar="[NAME=]FILE",
            help="A sample of the pipeline of this name, to measure accuracy; the page is then "
            "for the trusted zone.",
        ),
    ] = None,
    key_field: KeyField = "key",
    kafka: Annotated[
        bool, typer.Option("--kafka", help="Read the ledger and count dead letters.")
    ] = False,
) -> None:
    """Write one page on what pipelines promise, for privacy officers and partners.

    What goes in and out, the promise with a worked consequence, what is not covered, sums over
    several pipelines, the budget ledger, an audit, accuracy, refused records, and digests.

    The page is self-contained HTML. Exit with 1 if the pipelines exceed source.budget, which the
    page says, too.
    """
    require_different([file.path for file in pipelines])
    found = [(file, configure(file).mechanism) for file in pipelines]
    audited = _audits(found, audits or [])
    sampled = _samples(found, samples or [])
    sources: dict[str, list[Promises]] = {}
    for file, mechanism in found:
        source = file.pipeline.source
        promises = Promises(file.pipeline.name, mechanism.guarantees(), source.declared_budget)
        sources.setdefault(source.topic, []).append(promises)
    about = [
        PipelineFacts(
            file,
            mechanism,
            parameters_of(file, mechanism),
            sha256(file.path.read_bytes()).hexdigest(),
            audited.get(file.pipeline.name),
            _measured(file, sampled.get(file.pipeline.name), key_field),
            _dead_letters(file) if kafka else None,
        )
        for file, mechanism in found
    ]
    told = {file.pipeline.name: Told.of(file.pipeline, one) for file, one in found}
    exceeded: StartRefused | None = None
    try:
        check_budgets(sources)
    except StartRefused as problem:
        exceeded = problem
    facts = Facts(
        pipelines=about,
        sources=sources,
        joints=declared_joints(told),
        ledgers=_ledgers(pipelines) if kafka else {},
        exceeded=None if exceeded is None else str(exceeded),
        looked_at_kafka=kafka,
        made=datetime.now(UTC),
        version=version("fugu-streams"),
    )
    output.write_text(page(facts))
    say(f"written to {output}")
    if exceeded is not None:
        raise exceeded


def _audits(
    found: Sequence[tuple[PipelineFile, Mechanism]], paths: Sequence[Path]
) -> dict[str, Mapping[str, Any]]:
    """Return results by pipeline; `ConfigurationError` for one that is about another law."""
    laws = {file.pipeline.name: one.law_digest().hex()[:16] for file, one in found}
    results: dict[str, Mapping[str, Any]] = {}
    for path in paths:
        try:
            result = orjson.loads(path.read_bytes())
        except (OSError, orjson.JSONDecodeError):
            result = None
        if not isinstance(result, dict) or not {"pipeline", "status"} <= result.keys():
            raise ConfigurationError(
                f"--audit {path}: is no output of fugu audit --json; write it with  "
                "fugu audit PIPELINE --json"
            )
        name = result["pipeline"]
        if name not in laws:
            raise ConfigurationError(
                f"--audit {path}: is about pipeline {name}; give its pipeline file, too"
            )
        if "verdict" not in result:
            raise ConfigurationError(
                f"--audit {path}: has no verdict ({result['status']}); run fugu audit again"
            )
        if result.get("law") != laws[name]:
            raise ConfigurationError(
                f"--audit {path}: is about another law of {name} than that of its file now "
                f"({laws[name]}). Audit it again"
            )
        results[name] = result
    return results


def _samples(
    found: Sequence[tuple[PipelineFile, Mechanism]], given: Sequence[str]
) -> dict[str, Path]:
    names = [file.pipeline.name for file, _ in found]
    samples = {}
    for text in given:
        name, separator, path = text.partition("=")
        if not separator:
            name, path = names[0], text
        if name not in names or (not separator and len(names) > 1):
            raise ConfigurationError(
                f"--sample {text}: write NAME=FILE with the name of one of the pipelines: "
                f"{', '.join(names)}"
            )
        samples[name] = Path(path)
    return samples


def _measured(file: PipelineFile, sample: Path | None, key_field: str) -> Report[Any] | None:
    if sample is None:
        return None
    from fugu.dataflows.offline.evaluation.families.by_section import family_of
    from fugu.dataflows.offline.evaluation.family import Wanted
    from fugu.dataflows.offline.evaluation.sample import Sample

    wanted = Wanted(rivals=file.pipeline.operator.kind)
    family = family_of(file.pipeline.operator, wanted)
    records = Sample.read(sample, key_field, configure(file).codec)
    return family.planned(file, records, wanted).report(_RUNS, 0)


def _dead_letters(file: PipelineFile) -> DeadLetterCounts | None:
    """Count dead letters by reason; no value is in them."""
    client, name = client_of(file.connection()), file.pipeline.sink.dead_letter_topic
    topic = client.topic(name)
    if topic is None:
        return None
    reasons: Counter[str] = Counter()
    with closing(client.reader(name)) as reader:
        bounds = reader.bounds(list(range(topic.partitions)))
        for partition, bound in bounds.items():
            for batch in reader.read_range(partition, bound.start, bound.end):
                reasons.update(_reason(value) for _, _, _, value, _ in batch.records())
    return DeadLetterCounts(name, reasons, not any(bound.start for bound in bounds.values()))


def _reason(value: bytes | None) -> str:
    try:
        letter = orjson.loads(value or b"null")
    except orjson.JSONDecodeError:
        letter = None
    return str(letter["reason"]) if isinstance(letter, dict) and "reason" in letter else "no letter"


def _ledgers(pipelines: Sequence[PipelineFile]) -> dict[str, LedgerContent]:
    contents: dict[str, LedgerContent] = {}
    for file in pipelines:
        ledger = file.pipeline.ledger
        client: Client = client_of(file.connection())
        topic = None if ledger is None else client.topic(ledger.topic)
        if topic is not None:
            contents.setdefault(topic.name, read_ledger(client, topic))
    return contents
