"""A copy has a name of its own, and never one under which Fugu does something else."""

import pytest

from fugu.dataflows.base.errors import ConfigurationError
from fugu.dataflows.copies.instance import VARIABLE, instance


def test_a_given_name_is_kept_and_several_on_a_machine_have_numbers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(VARIABLE, "pod-7")
    assert instance() == "pod-7"
    assert instance(2) == "pod-7-2"


@pytest.mark.parametrize("name", ["", "a b", "x" * 101, "creation", "trial"])
def test_a_name_that_cannot_be_one_of_a_copy_is_refused(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(VARIABLE, name)
    with pytest.raises(ConfigurationError, match=VARIABLE):
        instance()
