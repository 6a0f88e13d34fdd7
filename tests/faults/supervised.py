"""The processes of `fugu run --processes N`."""

import re

from tests.kafka.pipelines import RunningPipeline

_STARTED = re.compile(r"process (\d+) \(shards? [0-9, ]+\): started, process id (\d+)")


def process_ids(supervisor: RunningPipeline) -> list[int]:
    """Those of the newest start of each, by number."""
    newest = {int(number): int(found) for number, found in _STARTED.findall(supervisor.stderr)}
    return [newest[number] for number in sorted(newest)]
