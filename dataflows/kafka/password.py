"""Read passwords from where the pipeline file says; nothing ever shows them."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

from pydantic import BeforeValidator, SecretStr

from fugu.dataflows.base.errors import UnusableField
from fugu.dataflows.base.section import Section
from fugu.dataflows.base.variables import is_name_of_variable

Resolve = Callable[[str], Path]
"""Turn a path in the pipeline file into a path on this machine."""


def _elsewhere(value: object) -> object:
    """Check the source without repeating it: it may be a password by mistake."""
    if not (isinstance(value, dict) and len(value) == 1 and value.keys() <= {"env", "file"}):
        raise ValueError(
            "write {env: NAME} or {file: PATH}; the pipeline file itself holds no password"
        )
    if "env" in value and not is_name_of_variable(value["env"]):
        raise ValueError("env: write the name of an environment variable, such as KAFKA_PASSWORD")
    return value


class PasswordSource(Section):
    """Name an environment variable, or a file with one line."""

    env: str | None = None
    """The environment variable that holds the password."""
    file: str | None = None
    """The file that holds the password, on one line."""

    def read(self, field: str, resolve: Resolve) -> SecretStr:
        """Return the password; errors name `field`."""
        if self.env is not None:
            where = f"environment variable {self.env}"
            password = os.environ.get(self.env, "")
        else:
            path = resolve(str(self.file))
            where = f"file {path}"
            password = _only_line(path, field)
        if not password:
            raise UnusableField(field, f"{where} is not set or empty; put the password there")
        if not password.isprintable():
            raise UnusableField(field, f"{where} must hold the password alone, one line of text")
        return SecretStr(password)


Password = Annotated[PasswordSource, BeforeValidator(_elsewhere)]


def _only_line(path: Path, field: str) -> str:
    try:
        return path.read_text(encoding="utf-8").removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError:
        reason = "it is not UTF-8 text"
    except OSError as error:
        reason = error.strerror or "input/output error"
    raise UnusableField(field, f"file {path} cannot be read ({reason})")
