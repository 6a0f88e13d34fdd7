"""The whole example: a private topic, a pipeline under policies, one that knows none, an analyst.

Somebody adds a policy while they run.
"""

import re
from pathlib import Path

import orjson
import yaml
from rich.console import Console
from rich.panel import Panel
from rich.progress import Progress

from examples.household.analyst import read_topic
from examples.household.meters import (
    BEGIN_MS,
    FIRST_TICK,
    LARGEST_KW,
    PER_DAY,
    TICKS,
    WIDTH_MS,
    Meters,
)
from examples.household.protected import expected_noise, protected
from examples.household.report import Released, errors_table, protected_table, whose_table
from fugu.dataflows.base.batches import Outgoing
from fugu.dataflows.kafka.client import Client
from fugu.dataflows.kafka.clients import client_of
from fugu.dataflows.kafka.kafka_python_settings import settings_of
from fugu.dataflows.offline.demo.embedded_broker import EmbeddedBroker
from fugu.dataflows.offline.demo.whole_path import (
    Running,
    pipeline_on,
    produce,
    shown_progress,
)
from fugu.dataflows.pipeline.config import PipelineFile
from fugu.dataflows.pipeline.guarantee_text import in_words
from fugu.dataflows.pipeline.mechanisms import configure
from fugu.dataflows.policies.document import PolicyDocument
from fugu.operators.swellfish.attribution import improvement

CHANGE_KEY = b"household/sauna"
CHANGE = orjson.dumps(
    {
        "effective": "2026-01-14T10:00:00+01:00",
        "policy": {
            "id": "sauna",
            "calendar": {"days": ["wed", "thu"], "start": "12:00", "end": "16:00"},
            "pattern": {"duration": "PT30M"},
            "theta": "6 kW",
        },
    }
)
"""Added on Wednesday, and effective on the same day."""
CHANGED_AT = PER_DAY + PER_DAY * 8 // 24
"""The first tick that is not over when the policy is added, at eight on Wednesday."""
_HOUSEHOLDS = 600
_PIPELINE, _POLICIES = (
    Path(__file__).with_name(name) for name in ("pipeline.yaml", "policies.yaml")
)


def household(folder: Path, plot: Path | None) -> None:
    """Run it in an empty folder, print the tables, and draw the picture if one is wanted."""
    console, meters = Console(), Meters(_HOUSEHOLDS)
    console.print(
        f"[bold]Households[/bold]: {_HOUSEHOLDS} meters send {meters.records:,} records in three "
        "days, one every ten minutes.\n"
    )
    with EmbeddedBroker() as bootstrap:
        files = pipelines_on(bootstrap, folder)
        [guarantee] = configure(files["unicorn"]).mechanism.guarantees()
        console.print(Panel(in_words(guarantee), title="What is promised", border_style="green"))
        with shown_progress(console) as progress:
            released = summed(files, meters, progress)
    console.print(f"Added on Wednesday at 8:00: {released.decided}.")
    console.print(protected_table(released))
    console.print(errors_table(released))
    console.print(whose_table(released))
    if plot is not None:
        from examples.household.days_picture import save

        save(released, plot)
        console.print(f"Picture: {plot}")


def pipelines_on(bootstrap: str, folder: Path) -> dict[str, PipelineFile]:
    """The pipeline; and one with noise for everything in every window that is as long as the
    longest interval: at the same epsilon it hides what the first one hides, and more."""
    (folder / "policies.yaml").write_text(_POLICIES.read_text())
    unicorn = yaml.safe_load(_PIPELINE.read_text())
    document = PolicyDocument.read(_POLICIES)
    days = FIRST_TICK, FIRST_TICK + TICKS - 1
    uniform = {
        **unicorn,
        "name": "household-uniform",
        "source": {"topic": unicorn["source"]["topic"], "value": "kw"},
        "operator": {
            "kind": "uniform",
            "epsilon": document.section.epsilon,
            "window": improvement(document.policies, *days).longest,
            "sum": {"field": "kw", "lower": 0, "upper": LARGEST_KW, "unit": 0.01},
            "ticks": {"width": "10m"},
        },
        "sink": {"topic": "power.uniform"},
        "state": {**unicorn["state"], "directory": "./state-uniform"},
    }
    return {
        name: pipeline_on(bootstrap, folder, f"{name}.yaml", yaml.safe_dump(pipeline))
        for name, pipeline in (("unicorn", unicorn), ("uniform", uniform))
    }


def summed(files: dict[str, PipelineFile], meters: Meters, progress: Progress) -> Released:
    """Send the records through both pipelines, with a change of policies in between, and let the
    analyst read what comes out."""
    document, source = PolicyDocument.read(_POLICIES), files["unicorn"].pipeline.source
    assert source.policies is not None
    client = client_of(files["unicorn"].connection())
    client.topic(source.policies.topic)
    morning, rest = meters.raw(0, CHANGED_AT), meters.raw(CHANGED_AT + 1, TICKS)
    produce(client, source.topic, morning, meters.households * (CHANGED_AT + 1), progress)
    unicorn, uniform = (
        Running(client_of(file.connection()), file, TICKS, progress) for file in files.values()
    )
    with unicorn, uniform:
        unicorn.wait_for(CHANGED_AT)
        write_change(client, source.policies.topic)
        produce(client, source.topic, rest, meters.households * (TICKS - CHANGED_AT), progress)
        for pipeline in (unicorn, uniform):
            pipeline.wait_for(TICKS)
            pipeline.stop()
        [decided] = decisions(unicorn.said)
    return Released(
        meters.totals(),
        {
            name: read_topic(file.pipeline.sink.topic, **settings_of(file.connection()))
            for name, file in files.items()
        },
        document,
        protected(document, CHANGE_KEY, CHANGE),
        expected_noise(document, CHANGE_KEY, CHANGE, FIRST_TICK + CHANGED_AT),
        decided,
    )


def write_change(client: Client, topic: str) -> None:
    """As any producer may."""
    writer = client.writer()
    writer.write(
        topic, Outgoing(0, [CHANGE_KEY], [CHANGE], [[]], [BEGIN_MS + CHANGED_AT * WIDTH_MS])
    )
    writer.flush()
    writer.close()


def decisions(log: str) -> list[str]:
    """Return what a pipeline said of changes of policies."""
    return re.findall(r"policies: (.*)", log)
