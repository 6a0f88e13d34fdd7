"""Hide the panic with a stack of its own that bytewax's Rust core writes for a Python exception."""

import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def native_stderr_hidden() -> Iterator[None]:
    """Hide stderr from native code; Python keeps writing to it."""
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
