"""Name a copy: a restart under the same name ends what its predecessor left open at once."""

import os
import re
import secrets
import socket

from fugu.dataflows.base.errors import ConfigurationError
from fugu.dataflows.kafka.client import identity_of

VARIABLE = "FUGU_INSTANCE"
"""The environment variable that names a copy, such as the name of a pod of a StatefulSet."""
_FORM = re.compile(r"[a-zA-Z0-9._-]{1,100}")
_OTHERS = "creation", "trial"
"""End the transactional ids that a pipeline has beside those of its copies."""


def instance(number: int | None = None) -> str:
    """Return the name of this copy; several on one machine have numbers."""
    given = os.environ.get(VARIABLE)
    if given is not None and not _FORM.fullmatch(given):
        raise ConfigurationError(f"{VARIABLE}: write up to 100 letters, digits, dots, _ and -")
    if given in _OTHERS:
        raise ConfigurationError(f"{VARIABLE}: {given} is a name of Fugu's own; write another one")
    name = given or f"{socket.gethostname()}-{secrets.token_hex(4)}"
    return name if number is None else f"{name}-{number}"


def merging(name: str) -> str:
    """Return the name of the part of a copy that merges; no copy can be called so.

    >>> merging("pod-3")
    'pod-3/merge'
    """
    return f"{name}/merge"


def changing(name: str) -> str:
    """Return the name of the part of a copy that takes changes of policies in.

    >>> changing("pod-3")
    'pod-3/policies'
    """
    return f"{name}/policies"


def forwarding(name: str) -> str:
    """Return the name of the part of a process that writes records by user.

    >>> forwarding("pod-3")
    'pod-3/by-user'
    """
    return f"{name}/by-user"


def transactional_id(pipeline: str, instance: str) -> str:
    """Return the transactional id of a copy."""
    return f"{identity_of(pipeline)}.{instance}"
