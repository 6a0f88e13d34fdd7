"""Plant a fault in the place of what it breaks, and name the detector that must notice it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol

import pytest
from typer.testing import CliRunner

from fugu.dataflows.commands.cli.fugu import app
from tests.dataflows.kinds.example_files import example_of


class Detector(Protocol):
    """Raise `AssertionError` for a mutant, and nothing for the original."""

    @property
    def name(self) -> str:
        """Return how the table of faults names it."""
        ...

    def __call__(self, planted: Any, /) -> None: ...


@dataclass(frozen=True, eq=False)
class Planted:
    """Hold a mistake, what it was planted in, and the detector that catches it.

    `fault` is the way to be wrong. What exactly is wrong is the first line of the mutant's
    docstring. The detector rejects the original with probability `false_alarm` at most.
    """

    fault: str
    original: Any
    mutant: Any
    detector: Detector
    false_alarm: float = 0.0


@dataclass(frozen=True, eq=False)
class InTest:
    """Run a test of the suite with arguments made of what is planted."""

    test: Callable[..., None]
    given: Callable[[Any], tuple[Any, ...]] = lambda planted: ()

    @property
    def name(self) -> str:
        module, test = self.test.__module__.split(".")[-1], self.test.__name__
        return f"`{module}.py`: {test.removeprefix('test_').replace('_', ' ')}"

    def __call__(self, planted: Any, /) -> None:
        self.test(*self.given(planted))


@dataclass(frozen=True, eq=False)
class InDirectory(InTest):
    """Run a test that takes a new directory first."""

    def __call__(self, planted: Any, /) -> None:
        with TemporaryDirectory() as name:
            self.test(Path(name), *self.given(planted))


@dataclass(frozen=True, eq=False)
class InAudit:
    """Run `fugu audit` on the example of a kind, with `changes` of its operator and other
    `sections`; it ends with 1 if a claim was seen to break."""

    kind: str
    changes: Mapping[str, Any] = field(default_factory=dict)
    runs: int = 4_000
    steps: int = 2
    sections: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return f"`fugu audit`, `kind: {self.kind}`"

    def __call__(self, planted: Any, /) -> None:
        with TemporaryDirectory() as name:
            example_of(self.kind, Path(name), self.changes, **self.sections)
            command = ["audit", f"{name}/pipeline.yaml", "--seed", "1"]
            effort = ["--runs", str(self.runs), "--steps", str(self.steps)]
            done = CliRunner().invoke(app, command + effort, catch_exceptions=False)
        if done.exit_code > 1:
            raise ValueError(f"the audit was not asked as it can be: {done.output}")
        assert done.exit_code == 0, done.output


@dataclass(frozen=True, eq=False)
class Replacing:
    """Run a detector while `owner` has what is planted, or what is `made` of it, as attribute."""

    owner: Any
    attribute: str
    detector: Detector
    made: Callable[[Any], Any] = lambda planted: planted

    @property
    def name(self) -> str:
        return self.detector.name

    def __call__(self, planted: Any, /) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(self.owner, self.attribute, self.made(planted))
            self.detector(planted)
