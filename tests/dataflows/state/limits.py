"""A disk that takes no more: a limit of this process, which needs no privileges."""

import resource
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def no_file_grows_beyond(count: int) -> Iterator[None]:
    """Let no file grow beyond so many bytes; Python ignores the signal, and gets an error."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (count, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
