"""Show a taxonomy of sensitive values as a tree: its levels, and what is released at a height."""

from pathlib import Path
from typing import Annotated

import typer
from rich.tree import Tree

from fugu.dataflows.commands.arguments import AsJson
from fugu.dataflows.commands.output import Terminal, print_json
from fugu.dataflows.files.yaml_file import read_taxonomy, taxonomy_of
from fugu.operators.anonymity.suppression import Taxonomy


def show(
    path: Annotated[Path, typer.Argument(metavar="TAXONOMY", help="The taxonomy (YAML).")],
    height: Annotated[
        int,
        typer.Option(
            "--height", min=2, help="The privacy height: what it releases is marked with *."
        ),
    ] = 2,
    as_json: AsJson = False,
) -> None:
    """Check a taxonomy, and show its tree, with what is released of values at a privacy height."""
    taxonomy = taxonomy_of(read_taxonomy(path))
    released = taxonomy.categories(height).tolist()
    if as_json:
        print_json(
            {
                "height": taxonomy.height,
                "privacy_height": height,
                "values": [
                    {
                        "value": name,
                        "level": int(taxonomy.levels[place]),
                        "released_as": taxonomy.names[released[place]],
                    }
                    for place, name in enumerate(taxonomy.names)
                ],
            }
        )
        return
    console = Terminal()
    console.print(_tree(taxonomy, set(released)))
    categories = len(set(released))
    console.print(
        f"\n{len(taxonomy.names):,} values on {taxonomy.height} levels. "
        f"At privacy_height {height}, {categories:,} of them are released (marked with *): every "
        "other value as the marked one that is nearest above it.",
        soft_wrap=True,
    )


def _tree(taxonomy: Taxonomy, released: set[int]) -> Tree:
    branches: list[Tree] = []
    for place, (name, parent) in enumerate(zip(taxonomy.names, taxonomy.parents, strict=True)):
        text = f"{name} ({int(taxonomy.levels[place])})"
        label = f"[bold]{text} *[/bold]" if place in released else text
        branches.append(Tree(label) if parent is None else branches[parent].add(label))
    return branches[0]
