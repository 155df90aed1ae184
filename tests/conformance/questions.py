"""Tools of the conformance suite that put a question to the client: to its user, to its model, about its roots.

The questions go through `Resolve`, as those of the product do, wherever the suite leaves their keys open.
"""

from typing import Annotated, Any, Literal

from mcp.server import MCPServer
from mcp.server.elicitation import ElicitationResult
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.resolve import Elicit, ListRoots, Resolve, Sample
from mcp_types import (
    CreateMessageRequest,
    CreateMessageResult,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequest,
    InputRequiredResult,
    ListRootsResult,
    SamplingMessage,
    TextContent,
)
from pydantic import BaseModel, Field, create_model

Ctx = Context[Any, Any]
_ROUNDS = "test_input_required_result_"


class Name(BaseModel):
    name: str


class Color(BaseModel):
    color: str


class Confirmation(BaseModel):
    ok: bool


class Contact(BaseModel):
    username: str = Field(description="User's response")
    email: str = Field(description="User's email address")


class Defaults(BaseModel):
    name: str = "John Doe"
    age: int = 30
    score: float = 95.5
    status: Literal["active", "inactive", "pending"] = "active"
    verified: bool = True


def _titled(*values: str) -> list[dict[str, str]]:
    return [{"const": value, "title": value.capitalize()} for value in values]


Choices = create_model(
    "Choices",
    untitledSingle=Literal["option1", "option2", "option3"],
    titledSingle=Annotated[str, Field(json_schema_extra={"oneOf": _titled("value1", "value2")})],
    untitledMulti=list[Literal["option1", "option2", "option3"]],
    titledMulti=Annotated[list[str], Field(json_schema_extra={"items": {"anyOf": _titled("value1", "value2")}})],
    legacyEnum=Annotated[
        Literal["opt1", "opt2", "opt3"], Field(json_schema_extra={"enumNames": ["First", "Second", "Third"]})
    ],
)


def ask_name() -> Elicit[Name]:
    return Elicit("What is your name?", Name)


def ask_color(name: Annotated[Name, Resolve(ask_name)]) -> Elicit[Color]:
    return Elicit(f"What is your favorite color, {name.name}?", Color)


def ask_confirmation() -> Elicit[Confirmation]:
    return Elicit("Please confirm", Confirmation)


def ask_contact(message: str) -> Elicit[Contact]:
    return Elicit(message, Contact)


def ask_defaults() -> Elicit[Defaults]:
    return Elicit("Please provide user information", Defaults)


def ask_choices() -> Elicit[Choices]:
    return Elicit("Please choose", Choices)


def sample(prompt: str) -> Sample:
    return Sample([SamplingMessage(role="user", content=TextContent(type="text", text=prompt))], max_tokens=100)


def sample_capital() -> Sample:
    return sample("What is the capital of France?")


def list_roots() -> ListRoots:
    return ListRoots()


def mount(server: MCPServer[Any]) -> None:
    """Put the tools on the server."""
    for name, tool in TOOLS.items():
        server.add_tool(tool, name=name, structured_output=False)


def reply(answer: Annotated[ElicitationResult[Contact], Resolve(ask_contact)], message: str) -> str:
    """Asks the user what it is told to ask."""
    return f"User response: {answer.model_dump_json()}"


def defaults(answer: Annotated[ElicitationResult[Defaults], Resolve(ask_defaults)]) -> str:
    """Asks with a default for every field."""
    return f"Elicitation completed: {answer.model_dump_json()}"


def choices(answer: Annotated[ElicitationResult[Choices], Resolve(ask_choices)]) -> str:
    """Asks for choices of every kind."""
    return f"Elicitation completed: {answer.model_dump_json()}"


def greet(name: Annotated[Name, Resolve(ask_name)]) -> str:
    """Asks the user."""
    return f"Hello, {name.name}!"


def complete(answer: Annotated[CreateMessageResult, Resolve(sample)], prompt: str) -> str:
    """Asks the client's model what it is told to ask."""
    return f"LLM response: {answer.content}"


def capital(answer: Annotated[CreateMessageResult, Resolve(sample_capital)]) -> str:
    """Asks the client's model."""
    return f"LLM response: {answer.content}"


def roots(found: Annotated[ListRootsResult, Resolve(list_roots)]) -> str:
    """Asks for the client's roots."""
    return ", ".join(str(root.uri) for root in found.roots)


def confirm(confirmation: Annotated[Confirmation, Resolve(ask_confirmation)]) -> str:
    """Asks the user, and keeps sealed state between the rounds."""
    return f"state-ok: {confirmation.ok}"


def everything(
    name: Annotated[Name, Resolve(ask_name)],
    answer: Annotated[CreateMessageResult, Resolve(sample_capital)],
    found: Annotated[ListRootsResult, Resolve(list_roots)],
) -> str:
    """Asks three things at once."""
    return f"{name.name}; {answer.content}; {len(found.roots)} roots"


def rounds(name: Annotated[Name, Resolve(ask_name)], color: Annotated[Color, Resolve(ask_color)]) -> str:
    """Asks one thing, then another that depends on it."""
    return f"{name.name} likes {color.color}."


def keyed(ctx: Ctx) -> str | InputRequiredResult:
    """Asks the user, under a key that the suite chose."""
    name = given(ctx, "user_name", "name")
    return f"Hello, {name}!" if name else InputRequiredResult(input_requests={"user_name": form("name")})


def able(ctx: Ctx) -> InputRequiredResult:
    """Asks whatever the client can answer."""
    can = ctx.client_capabilities
    asked: dict[str, InputRequest] = {}
    if can and can.elicitation:
        asked["name"] = form("name")
    if can and can.sampling:
        asked["hello"] = CreateMessageRequest(params=sample("Say hello").params)
    return InputRequiredResult(input_requests=asked)


def form(field: str) -> ElicitRequest:
    """A question for one piece of text."""
    schema = {"type": "object", "properties": {field: {"type": "string"}}, "required": [field]}
    return ElicitRequest(params=ElicitRequestFormParams(message=f"What is your {field}?", requested_schema=schema))


def given(ctx: Ctx, key: str, field: str) -> Any:
    """What the user answered, None before."""
    answer = (ctx.input_responses or {}).get(key)
    return (answer.content or {}).get(field) if isinstance(answer, ElicitResult) else None


TOOLS = {
    "test_elicitation": reply,
    "test_elicitation_sep1034_defaults": defaults,
    "test_elicitation_sep1330_enums": choices,
    "test_streaming_elicitation": greet,
    "test_sampling": complete,
    "test_missing_capability": capital,
    f"{_ROUNDS}elicitation": keyed,
    f"{_ROUNDS}sampling": capital,
    f"{_ROUNDS}list_roots": roots,
    f"{_ROUNDS}request_state": confirm,
    f"{_ROUNDS}tampered_state": confirm,
    f"{_ROUNDS}multiple_inputs": everything,
    f"{_ROUNDS}multi_round": rounds,
    f"{_ROUNDS}capabilities": able,
}
