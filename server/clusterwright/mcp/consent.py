"""Asking before a measurement loads the machine.

A client that can ask its user is asked (elicitation, both protocol eras). Elsewhere the caller passes `confirm`, which
a model can set by itself: that is advisory, and documented as such.
"""

from typing import Any

from mcp.server.mcpserver import Context
from mcp.server.mcpserver.resolve import Elicit
from pydantic import BaseModel, Field

from clusterwright_tools.registry import Impact, Tool


class Consent(BaseModel):
    """The user's answer."""

    run: bool = Field(default=True, description="Run it now?")


def consent(tool: Tool, confirm: bool, context: Context[Any, Any]) -> Consent | Elicit[Consent]:
    """Whether the measurement may run: known at once, or a question to the user."""
    if tool.impact is Impact.OBSERVE:
        return Consent(run=True)
    if can_ask(context):
        return Elicit(question(tool), Consent)
    return Consent(run=confirm)


def question(tool: Tool) -> str:
    """What the user is asked."""
    return f"Run {tool.name} on this machine? {tool.summary} Usually {tool.seconds:.0f} s; impact: {tool.impact.value}."


def can_ask(context: Context[Any, Any]) -> bool:
    """Whether the client declared that it can put a form to its user."""
    declared = context.client_capabilities
    elicitation = declared.elicitation if declared is not None else None
    # A client that names no mode means forms; one that names only `url` has none.
    return elicitation is not None and (elicitation.form is not None or elicitation.url is None)
