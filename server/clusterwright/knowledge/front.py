"""Front matter: what a chapter says about itself, and the only place where its sources are defined."""

import difflib
import re
from collections.abc import Iterator, Sequence
from typing import Annotated

import pydantic
import yaml
from pydantic_core import PydanticCustomError

from clusterwright.errors import UserError
from clusterwright.knowledge.markdown import visible

_FRONT = re.compile(r"\A---\n(.*?)^---[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_Text = Annotated[str, pydantic.AfterValidator(visible)]
_Filled = Annotated[_Text, pydantic.Field(min_length=1)]


class Broken(UserError):
    """A chapter that cannot be read: `line` of its file and `reason`."""

    def __init__(self, file: str, line: int, reason: str):
        super().__init__(f"{file}: line {line}: {reason}")
        self.line, self.reason = line, reason


class Reference(pydantic.BaseModel):
    """A source: a document (`url`) or a measurement made for this project (`measured`)."""

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)

    title: _Filled
    url: _Text = ""
    measured: _Text = ""

    @pydantic.model_validator(mode="after")
    def _one_origin(self) -> "Reference":
        if bool(self.url) == bool(self.measured):
            raise PydanticCustomError("origin", "give either url or measured")
        return self


class Front(pydantic.BaseModel):
    """The keys of the front matter. `moved` maps slugs of sections that were renamed to those of today."""

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)

    title: _Filled
    summary: _Filled
    reviewed: str
    tools: tuple[str, ...] = ()
    sources: dict[str, Reference] = pydantic.Field(default_factory=dict)
    moved: dict[str, str] = pydantic.Field(default_factory=dict)

    @pydantic.field_validator("reviewed")
    @classmethod
    def _month(cls, value: str) -> str:
        if not re.fullmatch(r"\d{4}-(0[1-9]|1[0-2])", value):
            raise PydanticCustomError("month", "write the month as YYYY-MM")
        return value


def split(text: str, file: str) -> tuple[str, str, int]:
    """The front matter's YAML, the body, and how many lines stand before the body.

    Raises:
        Broken: there is no front matter.
    """
    match = _FRONT.match(text)
    if not match:
        raise Broken(file, 1, "no front matter; begin the file with '---', title, summary, reviewed, '---'")
    return visible(match[1]), visible(text[match.end() :]), match[0].count("\n")


def parse(front: str, file: str) -> Front:
    """Read and check the YAML of the front matter.

    Raises:
        Broken: it is no YAML, or a key is missing, unknown, given twice or of the wrong form.
    """
    node = None
    try:
        # Every value stays text: YAML would make a date of 2026-12-01 and fail on 2026-02-30.
        loader = yaml.BaseLoader(front)
        node = loader.get_single_node()
        if node is None:
            raise Broken(file, 1, "front matter: it is empty; give title, summary, reviewed")
        about = Front.model_validate(loader.construct_document(node))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or "not YAML"
        line = mark.line + 2 if mark else 1
        raise Broken(file, line, f"front matter: {problem}; quote values that hold ': ' or '#'") from error
    except pydantic.ValidationError as error:
        # A misspelt key is also a missing one: tell of the misspelling.
        first = min(error.errors(), key=lambda one: one["type"] != "extra_forbidden")
        loc = [part for part in first["loc"] if part != "[key]"]
        raise Broken(file, _line(node, loc), f"front matter: {_told(first['type'], first['msg'], loc)}") from error
    for line, key in _twice(node):
        raise Broken(file, line, f"front matter: '{key}' is given twice; keep one")
    return about


def line(front: str, *loc: str) -> int:
    """The line of the file where a key of valid front matter stands, e.g. `line(front, "sources", "maker")`."""
    return _line(yaml.compose(front, Loader=yaml.BaseLoader), loc)


def _told(type: str, message: str, loc: Sequence[str | int]) -> str:
    key = ".".join(map(str, loc))
    if type == "missing":
        return f"{key} is missing"
    if type == "too_short":
        return f"{key} is empty"
    if type == "extra_forbidden":
        known = list(Reference.model_fields if len(loc) > 1 else Front.model_fields)
        near = difflib.get_close_matches(str(loc[-1]), known, 1)
        hint = f"did you mean '{near[0]}'?" if near else f"it takes {', '.join(known)}"
        return f"unknown key '{key}'; {hint}"
    if type in ("tuple_type", "dict_type", "model_type"):
        message = "write a list: [a, b]" if type == "tuple_type" else "write 'key: value' pairs"
    return f"{key}: {message[0].lower()}{message[1:]}".removeprefix(": ")


def _line(node: yaml.Node | None, loc: Sequence[str | int]) -> int:
    """The line of the last part of `loc` that exists; the front matter begins in line 2."""
    found = 1
    for part in loc:
        inner: tuple[yaml.Node, yaml.Node] | None = None
        if isinstance(node, yaml.MappingNode):
            inner = next((pair for pair in node.value if pair[0].value == part), None)
        elif isinstance(node, yaml.SequenceNode) and isinstance(part, int):
            inner = (node.value[part], node.value[part])
        if inner is None:
            break
        found, node = inner[0].start_mark.line + 2, inner[1]
    return found


def _twice(node: yaml.Node) -> Iterator[tuple[int, str]]:
    if isinstance(node, yaml.MappingNode):
        seen = set()
        for key, value in node.value:
            if key.value in seen:
                yield key.start_mark.line + 2, key.value
            if isinstance(key, yaml.ScalarNode):
                seen.add(key.value)
            yield from _twice(value)
