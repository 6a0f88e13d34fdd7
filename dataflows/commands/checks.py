"""Collect what `fugu validate` finds, and print it."""

from rich.text import Text

from fugu.dataflows.commands.output import Terminal, folding_table, print_json

COLUMNS = ("check", "result", "detail")
_COLOURS = {"ok": "green", "warning": "yellow", "in use": "red", "failed": "red"}
_REFUSED = {"in use", "failed"}


class Checks:
    """Collect results in the order in which they were found."""

    def __init__(self) -> None:
        self.results: list[tuple[str, str, str]] = []

    def passed(self, what: str, detail: str) -> None:
        """Report that a check passed."""
        self.results.append((what, "ok", detail))

    def failed(self, what: str, advice: str) -> None:
        """Report that the pipeline would not start."""
        self.results.append((what, "failed", advice))

    def in_use(self, what: str, advice: str) -> None:
        """Report that the pipeline would not start now, because another process is in its place."""
        self.results.append((what, "in use", advice))

    def warned(self, what: str, advice: str) -> None:
        """Report that the pipeline would start, but somebody should look."""
        self.results.append((what, "warning", advice))

    def have_said(self, text: str) -> bool:
        """Return whether every line of a text was said already."""
        said = {line for _, _, detail in self.results for line in detail.splitlines()}
        return said.issuperset(text.splitlines())

    def are_passed(self, *, strict: bool) -> bool:
        """Return whether the pipeline would start, if strict without a warning."""
        wrong = _REFUSED | {"warning"} if strict else _REFUSED
        return all(result not in wrong for _, result, _ in self.results)

    def print(self, *, as_json: bool) -> None:
        """Print all results, as a table or for a machine."""
        if as_json:
            print_json([dict(zip(COLUMNS, row, strict=True)) for row in self.results])
            return
        table = folding_table(*COLUMNS)
        for what, result, detail in self.results:
            table.add_row(what, f"[{_COLOURS[result]}]{result}[/]", Text(detail))
        Terminal().print(table)
