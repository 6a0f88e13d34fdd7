"""Run all notebooks again and keep what they show: `python -m examples.notebooks`."""

import nbformat

from examples.notebooks.running import executed

for path, notebook in executed().items():
    nbformat.write(notebook, path)
