from types import SimpleNamespace

import pytest
from mcp_types import ClientCapabilities, ElicitationCapability, FormElicitationCapability, UrlElicitationCapability

from clusterwright.mcp.consent import Consent, can_ask, consent, question
from clusterwright_tools import registry

FORM = ElicitationCapability(form=FormElicitationCapability())
URL = ElicitationCapability(url=UrlElicitationCapability())


def context(elicitation: ElicitationCapability | None) -> SimpleNamespace:
    return SimpleNamespace(client_capabilities=ClientCapabilities(elicitation=elicitation))


@pytest.mark.parametrize(
    ("declared", "can"), [(FORM, True), (ElicitationCapability(), True), (URL, False), (None, False)]
)
def test_who_can_ask(declared: ElicitationCapability | None, can: bool) -> None:
    assert can_ask(context(declared)) is can  # type: ignore[arg-type]


def test_a_client_without_capabilities() -> None:
    assert not can_ask(SimpleNamespace(client_capabilities=None))  # type: ignore[arg-type]


@pytest.mark.parametrize("confirm", [True, False])
def test_without_a_way_to_ask_the_callers_word_counts(confirm: bool) -> None:
    assert consent(registry.find("preflight"), confirm, context(None)) == Consent(run=confirm)  # type: ignore[arg-type]


def test_the_question_says_how_long_and_what_it_does() -> None:
    text = question(registry.find("matmul-flops"))
    assert "60 s" in text and "loads device" in text
