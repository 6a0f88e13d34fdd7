"""bytewax's Rust core reports a Python exception as a panic on stderr, with a stack of its own."""

import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def native_stderr_hidden() -> Iterator[None]:
    """Rust's panic report repeats what the Python exception says; only Python keeps writing."""
    saved = os.dup(2)
    python_stderr = sys.stderr
    handlers = [
        handler
        for handler in logging.getLogger().handlers
        if isinstance(handler, logging.StreamHandler) and handler.stream is python_stderr
    ]
    visible = os.fdopen(os.dup(saved), "w", buffering=1)
    sys.stderr = visible
    for handler in handlers:
        handler.setStream(visible)
    with open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)
        sys.stderr = python_stderr
        for handler in handlers:
            handler.setStream(python_stderr)
        visible.close()
