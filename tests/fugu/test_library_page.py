"""The page about the library runs, and prints what it says."""

import re
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "library.md"
BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.DOTALL | re.MULTILINE)


def test_every_example_prints_what_the_page_says() -> None:
    names: dict[str, object] = {}
    examples = BLOCK.findall(PAGE.read_text())
    assert examples
    for code, said in examples:
        with redirect_stdout(StringIO()) as printed:
            exec(code, names)
        assert printed.getvalue() == said
