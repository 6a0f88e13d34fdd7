"""A table of figures, for a terminal and for Markdown."""

from dataclasses import dataclass

from rich.table import Table


@dataclass(frozen=True)
class Grid:
    """A table whose first column is text and whose other columns are figures."""

    title: str
    header: list[str]
    rows: list[list[str]]

    def for_terminal(self) -> Table:
        """As rich prints it."""
        table = Table(title=self.title, title_justify="left")
        for number, name in enumerate(self.header):
            table.add_column(name, justify="right" if number else "left")
        for row in self.rows:
            table.add_row(*row)
        return table

    def for_markdown(self) -> str:
        """As a file shows it."""
        rule = ["---", *["---:"] * (len(self.header) - 1)]
        lines = [" | ".join(row).strip() for row in (self.header, rule, *self.rows)]
        return "\n".join([f"**{self.title}**", "", *(f"| {line} |" for line in lines)])


def figures(decimals: int, *values: float) -> list[str]:
    """Cells of a row."""
    return [f"{value:,.{decimals}f}" for value in values]
