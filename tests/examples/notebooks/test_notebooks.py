"""Notebooks run, show what they are kept with, and become pages of the site."""

import json
from pathlib import Path
from typing import Any

import nbformat
import pytest

from examples.notebooks.pages import as_markdown, on_page_markdown
from examples.notebooks.running import NOTEBOOKS, executed, outputs, printed


def kept(path: Path) -> Any:
    return nbformat.read(path, as_version=4)


def test_there_is_one_for_each_of_three_questions() -> None:
    assert [path.stem for path in NOTEBOOKS] == ["city", "clickstream", "heart_rate"]


@pytest.mark.slow
def test_notebooks_show_the_texts_that_they_are_kept_with() -> None:
    for path, notebook in executed().items():
        assert printed(notebook) == printed(kept(path)), f"{path}: run python -m examples.notebooks"
        assert [one.get("name") for one in outputs(notebook) if "text" in one].count("stderr") == 0


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_page_holds_every_cell_every_text_and_every_picture(path: Path) -> None:
    page = as_markdown(json.loads(path.read_text()))
    for cell in kept(path).cells:
        assert cell.source in page
    shown = outputs(kept(path))
    texts = [one["text"].rstrip() for one in shown if "text" in one]
    assert len(texts) > 3
    assert all(text in page for text in texts)
    assert page.count("](data:image/png;base64,") == len(shown) - len(texts) >= 2


def test_links_to_notebooks_lead_to_their_pages() -> None:
    page = "[one](../examples/notebooks/city.ipynb), [two](a.ipynb#b) and [three](c.md)"
    assert on_page_markdown(page) == (
        "[one](../examples/notebooks/city.md), [two](a.md#b) and [three](c.md)"
    )
