"""Audit a pipeline of kind anonymize: count what linkage attacks find in windows."""

from pathlib import Path

from fugu.dataflows.commands.output import Terminal, print_json
from fugu.dataflows.kinds import AnonymizeOperator
from fugu.dataflows.offline.anonymity.attacks import attack
from fugu.dataflows.offline.anonymity.generated import generated
from fugu.dataflows.offline.anonymity.sampled import SampledWindows
from fugu.dataflows.offline.anonymity.tables import print_attacks
from fugu.dataflows.offline.evaluation.sample import Sample
from fugu.dataflows.pipeline.config import PipelineFile
from fugu.dataflows.pipeline.mechanisms import configure

_MADE_UP = 5
"""Windows that are made up where there is no sample."""


def attacked_windows(
    file: PipelineFile,
    operator: AnonymizeOperator,
    path: Path | None,
    key_field: str,
    seed: int,
    plot: Path | None,
    *,
    as_json: bool,
) -> bool:
    """Print whom attacks single out; return whether the claim survived."""
    console, mechanism = Terminal(), operator.windows()
    if path is None:
        windows, source = generated(operator, _MADE_UP, seed), f"made up, seed {seed}"
    else:
        sample = Sample.read(path, key_field, configure(file).codec)
        sampled = SampledWindows.of(file.pipeline, operator, sample)
        windows, source = list(sampled.windows), str(path)
        if not as_json:
            for refused in sampled.refused(sample):
                console.print(f"- [yellow]refused[/yellow], {refused}")
    report = attack(file.pipeline.name, source, mechanism, windows)
    if plot is not None:
        from fugu.dataflows.offline.anonymity.plot import save_attacks

        save_attacks(report, plot)
    if as_json:
        print_json(report.document())
    else:
        print_attacks(console, report)
    return not report.broken
