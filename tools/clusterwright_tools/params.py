"""Parameters of a measurement: one frozen dataclass gives command-line options, JSON schema and validation.

@dataclass(frozen=True)
class Params:
    seconds: float = param(60.0, "time budget", unit="s", low=5, high=3600)
    ops: tuple[str, ...] = param(("all_reduce",), "collectives", choices=("all_reduce", "broadcast"))
    max_bytes: int = param(1 << 30, "largest message", kind="bytes")
"""

from __future__ import annotations

import dataclasses
import difflib
import math
import re
import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

import click

from clusterwright_tools.errors import BadParameter

T = TypeVar("T")
Scalar = bool | int | float | str
Kind = Literal["plain", "bytes"]

_SUFFIX = {"b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}
_SUFFIX |= {"k": 2**10, "m": 2**20, "g": 2**30, "kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40, "": 1}
_JSON_TYPE = {bool: "boolean", int: "integer", float: "number", str: "string"}


@dataclass(frozen=True)
class Field:
    """One parameter as declared: `base` is its scalar type, `many` says that it takes several values."""

    name: str
    base: type
    many: bool
    default: Any
    help: str
    unit: str = ""
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] = ()
    kind: Kind = "plain"

    @property
    def option(self) -> str:
        """The command-line spelling, e.g. `--max-bytes`."""
        return "--" + self.name.replace("_", "-")

    @property
    def text(self) -> str:
        """Help with unit and bounds, as options, schema and README show it."""
        parts = [self.help]
        if self.unit:
            parts.append(f"[{self.unit}]")
        if self.low is not None or self.high is not None:
            parts.append(f"({_bound(self, self.low)} to {_bound(self, self.high)})")
        return " ".join(parts)


def param(
    default: Any,
    help: str,
    *,
    unit: str = "",
    low: float | None = None,
    high: float | None = None,
    choices: tuple[str, ...] = (),
    kind: Kind = "plain",
) -> Any:
    """A dataclass field that carries its help, unit, bounds and choices."""
    meta = {"help": help, "unit": unit, "low": low, "high": high, "choices": choices, "kind": kind}
    return dataclasses.field(default=default, metadata=meta)


def fields(params: type) -> tuple[Field, ...]:
    """The declared parameters of a dataclass, in order."""
    hints = typing.get_type_hints(params)
    found = []
    for item in dataclasses.fields(params):
        base, many = hints[item.name], False
        if typing.get_origin(base) is tuple:
            base, many = typing.get_args(base)[0], True
        found.append(Field(item.name, base, many, item.default, **item.metadata))
    return tuple(found)


def parse(params: type[T], values: Mapping[str, Any]) -> T:
    """Build `params` from JSON-like values or strings.

    Raises:
        BadParameter: an unknown name (with the nearest known one), a wrong type, or a value out of bounds.
    """
    known = {field.name: field for field in fields(params)}
    given = {name.replace("-", "_"): value for name, value in values.items()}
    for name in given:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            hint = f"did you mean '{near[0]}'?" if near else "it takes: " + (", ".join(known) or "nothing")
            raise BadParameter(f"unknown parameter '{name}'; {hint}")
    return params(**{name: _value(known[name], value) for name, value in given.items()})


def json_schema(params: type) -> dict[str, Any]:
    """The JSON schema of the parameters; unknown names are refused."""
    return {
        "type": "object",
        "properties": {field.name: _schema(field) for field in fields(params)},
        "additionalProperties": False,
    }


def options(params: type) -> list[click.Option]:
    """Command-line options. Values stay text here: `parse` is the one place that validates."""
    made = []
    for field in fields(params):
        if field.base is bool:
            made.append(click.Option([f"{field.option}/--no-{field.option[2:]}"], default=None, help=field.text))
        else:
            shown = _shown(field)
            extra = " Repeatable." if field.many else ""
            choices = f" One of: {', '.join(field.choices)}." if field.choices else ""
            help = f"{field.text}.{choices}{extra} Default: {shown}."
            metavar = "BYTES" if field.kind == "bytes" else field.base.__name__.upper()
            made.append(click.Option([field.option], multiple=field.many, default=None, help=help, metavar=metavar))
    return made


def arguments(params: object) -> list[str]:
    """The argument vector that gives these parameters back (only what differs from the defaults)."""
    argv: list[str] = []
    for field in fields(type(params)):
        value = getattr(params, field.name)
        if value == field.default:
            continue
        if field.base is bool:
            argv.append(field.option if value else f"--no-{field.option[2:]}")
        else:
            for one in value if field.many else (value,):
                argv += [field.option, str(one)]
    return argv


def from_argv(params: type, argv: Sequence[str]) -> dict[str, Any]:
    """The values that a command line names, as `parse` takes them.

    Raises:
        BadParameter: an option that does not exist, or one without its value.
    """
    # Without an option for help: it would print, and this serves programs.
    command = click.Command("", params=list(options(params)), add_help_option=False)
    try:
        given = command.make_context("", list(argv)).params
    except click.ClickException as error:
        raise BadParameter(error.format_message()) from error
    named = {name: value for name, value in given.items() if value not in (None, ())}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in named.items()}


def parse_bytes(text: str | int) -> int:
    """`1GiB`, `64k` (binary), `1GB` (decimal) or a plain number, as a number of bytes.

    Raises:
        ValueError: not a size.
    """
    if isinstance(text, int):
        return text
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-zA-Z]*)\s*", text)
    if not match or match[2].lower() not in _SUFFIX:
        raise ValueError("not a size: use a number of bytes or e.g. 64KiB, 1GiB, 1GB")
    return int(float(match[1]) * _SUFFIX[match[2].lower()])


def _value(field: Field, value: Any) -> Any:
    if not field.many:
        return _scalar(field, value)
    listed = value if isinstance(value, Sequence) and not isinstance(value, str) else (value,)
    return tuple(_scalar(field, one) for one in listed)


def _scalar(field: Field, value: Any) -> Scalar:
    try:
        made = _convert(field, value)
    except (TypeError, ValueError) as error:
        wanted = "a size such as 64KiB or 1GiB" if field.kind == "bytes" else f"{_JSON_TYPE[field.base]}"
        raise BadParameter(f"{field.name}: {value!r} is not {wanted}") from error
    if field.choices and made not in field.choices:
        raise BadParameter(f"{field.name}: {value!r} is not one of: {', '.join(field.choices)}")
    if isinstance(made, (int, float)) and not isinstance(made, bool):
        below = field.low is not None and made < field.low
        above = field.high is not None and made > field.high
        if below or above or not math.isfinite(made):
            span = f"{_bound(field, field.low)} to {_bound(field, field.high)}"
            raise BadParameter(f"{field.name}: {value} is out of range; give {span} {field.unit}".rstrip())
    return made


def _convert(field: Field, value: Any) -> Scalar:
    if field.base is bool:
        if isinstance(value, bool):
            return value
        raise TypeError
    if isinstance(value, bool) or value is None or isinstance(value, (dict, list, tuple)):
        raise TypeError
    if field.kind == "bytes":
        return parse_bytes(value)
    if field.base is int:
        if isinstance(value, float) and not value.is_integer():
            raise ValueError
        return int(value)
    if field.base is float:
        return float(value)
    if not isinstance(value, str):
        raise TypeError
    return value


def _schema(field: Field) -> dict[str, Any]:
    one: dict[str, Any] = {"type": _JSON_TYPE[field.base]}
    if field.kind == "bytes":
        one = {"anyOf": [{"type": "integer"}, {"type": "string"}]}
    if field.choices:
        one["enum"] = list(field.choices)
    if field.kind != "bytes":
        one |= {} if field.low is None else {"minimum": field.low}
        one |= {} if field.high is None else {"maximum": field.high}
    if field.many:
        one = {"type": "array", "items": one}
    default = list(field.default) if field.many else field.default
    return {**one, "description": field.text, "default": default}


def _bound(field: Field, value: float | None) -> str:
    if value is None:
        return "any"
    return human_bytes(int(value)) if field.kind == "bytes" else f"{value:g}"


def _shown(field: Field) -> str:
    values = field.default if field.many else (field.default,)
    shown = [human_bytes(one) if field.kind == "bytes" else str(one) for one in values]
    return ", ".join(one for one in shown if one) or "none"


def human_bytes(count: int) -> str:
    """`1073741824` as `1GiB`; a count that is no whole binary multiple keeps two decimals."""
    size, unit = float(count), "B"
    for larger in ("KiB", "MiB", "GiB", "TiB"):
        if size < 1024:
            break
        size, unit = size / 1024, larger
    return f"{size:.2f}".rstrip("0").rstrip(".") + unit
