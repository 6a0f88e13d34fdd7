"""Tell names of environment variables from secrets that stand where a name belongs."""

import re

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_LONGEST_NAME = 43
"""A secret of 32 bytes is longer, in hexadecimal and in base64."""


def is_name_of_variable(value: object) -> bool:
    """Return whether a value can be the name of an environment variable, and no secret of Fugu.

    >>> is_name_of_variable("FUGU_SECRET"), is_name_of_variable("deadbeef" * 8)
    (True, False)
    """
    if not isinstance(value, str) or len(value) > _LONGEST_NAME:
        return False
    return _NAME.fullmatch(value) is not None
