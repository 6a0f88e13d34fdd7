"""Say why a dataflow ended, and let Python collect garbage seldom while it runs."""

import gc

from fugu.dataflows.base.errors import FuguError, unexpected


def collect_garbage_seldom() -> None:
    """Let Python collect garbage seldom.

    A batch is thousands of lists and tuples that are soon gone and hold no cycles: by default
    Python looks through them, and all that stays, more often than anything else is done.
    """
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


def cause(error: BaseException) -> FuguError:
    """Return the error with a text of its own inside what bytewax raised."""
    innermost, cause = error, error.__cause__ or error.__context__
    while cause is not None and not isinstance(innermost, FuguError):
        innermost, cause = cause, cause.__cause__ or cause.__context__
    if isinstance(innermost, FuguError):
        return innermost
    return FuguError(f"{unexpected(innermost)} The state is that of the last snapshot.")
