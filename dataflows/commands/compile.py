"""Compile before a first start what would be compiled then: for an image, or a machine."""

import time
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer
from rich.table import Table

from fugu.dataflows.base.errors import ConfigurationError
from fugu.dataflows.base.install import install
from fugu.dataflows.commands.arguments import AsJson, read_pipeline
from fugu.dataflows.commands.init import write_example
from fugu.dataflows.commands.output import Terminal, print_json, progress
from fugu.dataflows.flows.warming import warm_up_without_kafka
from fugu.dataflows.kinds import KINDS
from fugu.operators import compiled
from fugu.operators.compiled import folders


@dataclass(frozen=True)
class Compiled:
    """Say how many functions were compiled for a pipeline, and how long that took."""

    pipeline: str
    functions: int
    seconds: float


def compile_code(
    pipelines: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[PIPELINE]...", help="Pipeline files; without any, all kinds."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compile what pipelines need, so that their first start has not to; Kafka is not asked.

    Code is kept in the first folder of FUGU_CACHE_DIR that can be written to, or where the log of
    a start says. It serves processors of this kind only; others compile for themselves. Kinds that
    need a package that is not installed are left out.
    """
    if not compiled.available():
        raise ConfigurationError(f"nothing can be compiled here. Install it:  {install('fast')}")
    folder = folders.kept_in()
    if folder is None:
        raise ConfigurationError(f"compiled code {folders.described()}")
    done, left_out = [], []
    with TemporaryDirectory() as examples:
        named = {str(path): path for path in pipelines or []}
        if not named:
            named = {kind: write_example(Path(examples), kind) for kind in KINDS}
        with progress(Terminal(stderr=True), "compiling", len(named)) as advance:
            for name, path in named.items():
                before, began = folders.found(), time.monotonic()
                try:
                    warm_up_without_kafka(read_pipeline(str(path)))
                except ConfigurationError as error:
                    if pipelines:
                        raise
                    left_out.append(f"{name} is left out: {error}")
                    continue
                finally:
                    advance(1)
                seconds = round(time.monotonic() - began, 1)
                done.append(Compiled(name, folders.found() - before, seconds))
    if as_json:
        print_json(
            {"folder": str(folder), "compiled": [asdict(one) for one in done], "left_out": left_out}
        )
        return
    table = Table(title=f"compiled into {folder}")
    for column, justify in (("pipeline", "left"), ("functions", "right"), ("seconds", "right")):
        table.add_column(column, justify=justify)  # type: ignore[arg-type]
    for one in done:
        if one.functions or pipelines:
            table.add_row(one.pipeline, str(one.functions), f"{one.seconds:.1f}")
    Terminal().print(table)
    for text in left_out:
        Terminal().print(text, markup=False)
    Terminal().print(f"{folders.found()} functions have code here")
