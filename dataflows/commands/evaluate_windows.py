"""Evaluate a pipeline of kind anonymize: what is lost of a sample, against K and rho."""

from pathlib import Path

from fugu.dataflows.base.errors import ConfigurationError
from fugu.dataflows.commands.output import Terminal, print_json, progress
from fugu.dataflows.kinds import AnonymizeOperator
from fugu.dataflows.offline.anonymity.losses import LossReport, losses_of
from fugu.dataflows.offline.anonymity.sampled import SampledWindows
from fugu.dataflows.offline.anonymity.tables import print_losses
from fugu.dataflows.offline.evaluation.sample import Sample
from fugu.dataflows.pipeline.config import PipelineFile
from fugu.dataflows.pipeline.mechanisms import configure
from fugu.operators.anonymity.windows import AnonymizedWindows


def evaluate_windows(
    file: PipelineFile,
    operator: AnonymizeOperator,
    path: Path,
    key_field: str,
    people: str | None,
    known: str | None,
    plot: Path | None,
    *,
    as_json: bool,
) -> None:
    """Print what each pair of K and rho leaves of the windows of a sample."""
    sample = Sample.read(path, key_field, configure(file).codec)
    sampled = SampledWindows.of(file.pipeline, operator, sample)
    own = operator.K
    crowds = _numbers("--people", people, {max(2, own // 2), own, 2 * own, 4 * own}, least=2)
    points = _numbers("--known", known, {1, 2, operator.rho}, least=1)
    pairs = [(k, rho) for rho in points for k in crowds]
    console = Terminal()
    total, shown = len(pairs) * len(sampled.windows), console.is_terminal and not as_json
    with progress(console, "evaluating", total, shown=shown) as advance:
        candidates = (_candidate(operator, *pair) for pair in pairs)
        losses = losses_of(sampled.windows, candidates, advance)
    report = LossReport(file.pipeline.name, str(path), (own, operator.rho), losses)
    if plot is not None:
        from fugu.dataflows.offline.anonymity.plot import save_losses

        save_losses(report, plot)
    if as_json:
        print_json(report.document())
        return
    for refused in sampled.refused(sample):
        console.print(f"- [yellow]refused[/yellow], {refused}")
    print_losses(console, report)


def _candidate(operator: AnonymizeOperator, people: int, known: int) -> AnonymizedWindows:
    """Return the mechanism with other bounds; a window then needs twice so many people."""
    fewest = operator.fewest if people == operator.K else 2 * people
    return operator.windows(fewest=fewest, people=people, known_points=known)


def _numbers(option: str, given: str | None, otherwise: set[int], least: int) -> list[int]:
    if given is None:
        return sorted(otherwise)
    try:
        found = sorted({int(word) for word in given.split(",")})
    except ValueError:
        found = []
    if not found or found[0] < least:
        raise ConfigurationError(
            f"{option} {given}: write whole numbers from {least} on, with commas between them"
        )
    return found
