"""`fugu state ...`."""

from pathlib import Path
from typing import Annotated

import typer

from fugu.dataflows.commands.cli.arguments import AsJson, PipelinePath
from fugu.dataflows.pipeline.pipeline_file import PipelineFile

app = typer.Typer(no_args_is_help=True, help="Look at, check, move or rotate a stopped state.")
ArchivePath = Annotated[Path, typer.Argument(metavar="ARCHIVE", help="The archive (.tar.gz).")]


@app.command("show")
def state_show(pipeline: PipelinePath, as_json: AsJson = False) -> None:
    """Show streams, bytes and spent budget of every partition."""
    from fugu.dataflows.commands.state import show

    show(PipelineFile.read(pipeline), as_json)


@app.command("verify")
def state_verify(pipeline: PipelinePath) -> None:
    """Check the checksums of the whole state."""
    from fugu.dataflows.commands.state import verify

    verify(PipelineFile.read(pipeline))


@app.command("export")
def state_export(pipeline: PipelinePath, archive: ArchivePath) -> None:
    """Write the state to one archive, to continue on another machine."""
    from fugu.dataflows.commands.state import export

    export(PipelineFile.read(pipeline), archive)


@app.command("import")
def state_import(pipeline: PipelinePath, archive: ArchivePath) -> None:
    """Unpack an archive into the (empty) state directory of the pipeline file."""
    from fugu.dataflows.commands.state import import_

    import_(PipelineFile.read(pipeline), archive)


@app.command("rotate")
def state_rotate(
    pipeline: PipelinePath,
    keys: Annotated[Path, typer.Option(help="Where to write the new key file.")],
) -> None:
    """Continue with the next key; budgets, beliefs and pseudonyms stay as they are."""
    from fugu.dataflows.commands.state import rotate

    rotate(PipelineFile.read(pipeline), keys)


@app.command("upgrade")
def state_upgrade(pipeline: PipelinePath) -> None:
    """Go on with the state that the version of Fugu before wrote; budgets stay as they are.

    Stop the pipeline gracefully with the version before, install this one, run this, and start.
    """
    from fugu.dataflows.commands.state_upgrade import upgrade

    upgrade(PipelineFile.read(pipeline))


@app.command("continue")
def state_continue(
    pipeline: PipelinePath,
    after: Annotated[
        Path, typer.Option(metavar="PIPELINE", help="The file of the version before, with grr.")
    ],
) -> None:
    """Continue the budgets of grr with crr, under the next version of the pipeline.

    Every stream goes on with what it has spent, and with what readers know after all releases so
    far: they are read back from the sanitized topic. The pipeline must have stopped gracefully.
    """
    from fugu.dataflows.commands.state_continue import continue_

    continue_(PipelineFile.read(pipeline), PipelineFile.read(after))
