"""Make pages of the site from notebooks, as a hook of MkDocs: links to notebooks lead to them."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

_LINK = re.compile(r"(\]\([^)\s]+)\.ipynb(#[^)\s]*)?\)")


def as_markdown(notebook: Mapping[str, Any]) -> str:
    """Return the cells of a notebook and what they show, as one page."""
    return "\n\n".join(part for cell in notebook["cells"] for part in _of_cell(cell)) + "\n"


def on_files(files: Any, config: Any) -> Any:
    """Put a page in the place of every notebook."""
    from mkdocs.structure.files import File

    for file in [one for one in files if one.src_uri.endswith(".ipynb")]:
        page = file.src_uri.removesuffix(".ipynb") + ".md"
        files.remove(file)
        content = as_markdown(json.loads(file.content_string))
        files.append(File.generated(config, page, content=content))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Return a page whose links to notebooks lead to their pages."""
    return _LINK.sub(r"\1.md\2)", markdown)


def _of_cell(cell: Mapping[str, Any]) -> Iterator[str]:
    source = _joined(cell["source"])
    if cell["cell_type"] == "markdown":
        yield source
        return
    yield _fenced("python", source)
    for output in cell["outputs"]:
        if "text" in output:
            yield _fenced("text", _joined(output["text"]))
        elif (picture := output["data"].get("image/png")) is not None:
            content = _joined(picture).replace("\n", "")
            yield f"![What the cell above draws](data:image/png;base64,{content})"
        else:
            yield _fenced("text", _joined(output["data"]["text/plain"]))


def _joined(text: str | Sequence[str]) -> str:
    """Return a text that may be kept as lines."""
    return text if isinstance(text, str) else "".join(text)


def _fenced(language: str, text: str) -> str:
    return f"```{language}\n{text.rstrip()}\n```"
