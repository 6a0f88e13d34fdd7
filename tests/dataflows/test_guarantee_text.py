"""Guarantees in words and their short id."""

from dataclasses import replace

from dataflows.guarantee_text import guarantee_id, in_words
from operators.sip.paper_conditional_randomized_response import PaperConditionalRandomizedResponse
from tests.dataflows.columns import CRR

SIP, LDP = CRR.guarantees()


def test_a_guarantee_says_what_is_promised_about_what_and_relative_to_what() -> None:
    words = in_words(SIP)
    assert words.startswith("Sequence Information Privacy with epsilon 1 nats per release")
    assert SIP.protects in words
    assert SIP.relative_to in words
    assert SIP.composition in words


def test_the_guarantee_without_a_model_is_weaker_and_says_so() -> None:
    assert in_words(LDP).startswith("Local Differential Privacy with epsilon 2 nats")
    assert "no model" in in_words(LDP)


def test_a_baseline_promises_nothing() -> None:
    [nothing] = PaperConditionalRandomizedResponse(CRR.model, CRR.epsilon).guarantees()
    assert "no bound is promised" in in_words(nothing)
    assert "epsilon" not in in_words(nothing)


def test_the_id_is_short_and_changes_with_every_word_of_the_promise() -> None:
    name = guarantee_id([SIP, LDP])
    assert len(name) == 16
    assert name == guarantee_id(list(CRR.guarantees()))
    others = [[SIP], [LDP, SIP], [replace(SIP, epsilon=1.5), LDP], [replace(SIP, proof="-"), LDP]]
    assert len({name, *map(guarantee_id, others)}) == 5


def test_an_infinite_epsilon_has_an_id_too() -> None:
    unsound = PaperConditionalRandomizedResponse(CRR.model, CRR.epsilon).guarantees()
    assert len(guarantee_id(unsound)) == 16
