"""Python on pages about the library runs, block after block, and prints the text after it."""

import re
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[1]
BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.DOTALL | re.MULTILINE)
EXAMPLES = {
    page: examples
    for page in ("README.md", "docs/library.md")
    if (examples := BLOCK.findall((CHECKOUT / page).read_text()))
}


@pytest.mark.parametrize("page", EXAMPLES)
def test_every_example_prints_what_the_page_says(page: str) -> None:
    names: dict[str, object] = {}
    for code, said in EXAMPLES[page]:
        with redirect_stdout(StringIO()) as printed:
            exec(code, names)
        assert printed.getvalue() == said


def test_the_library_has_examples() -> None:
    assert "docs/library.md" in EXAMPLES
