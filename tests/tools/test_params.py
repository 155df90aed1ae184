from dataclasses import dataclass

import click
import pytest
from click.testing import CliRunner

from clusterwright_tools import params
from clusterwright_tools.errors import BadParameter
from clusterwright_tools.params import param


@dataclass(frozen=True)
class Example:
    seconds: float = param(60.0, "time budget", unit="s", low=5, high=3600)
    count: int = param(3, "repeats", low=1)
    size: int = param(1 << 20, "largest message", kind="bytes", low=8, high=1 << 40)
    ops: tuple[str, ...] = param(("sum",), "operations", choices=("sum", "max"))
    name: str = param("", "a label")
    fast: bool = param(True, "take the short way")


def test_defaults_and_conversion_from_text() -> None:
    assert params.parse(Example, {}) == Example()
    made = params.parse(
        Example, {"seconds": "7.5", "count": "4", "size": "64KiB", "ops": ["max", "sum"], "fast": False}
    )
    assert made == Example(seconds=7.5, count=4, size=65536, ops=("max", "sum"), fast=False)


def test_one_value_of_a_list_needs_no_list() -> None:
    assert params.parse(Example, {"ops": "max"}).ops == ("max",)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"secconds": 9}, "unknown parameter 'secconds'; did you mean 'seconds'?"),
        ({"zzz": 9}, "unknown parameter 'zzz'; it takes: seconds, count, size, ops, name, fast"),
        ({"seconds": 4}, "seconds: 4 is out of range; give 5 to 3600 s"),
        ({"seconds": float("nan")}, "seconds: nan is out of range; give 5 to 3600 s"),
        ({"seconds": "soon"}, "seconds: 'soon' is not number"),
        ({"count": 2.5}, "count: 2.5 is not integer"),
        ({"count": True}, "count: True is not integer"),
        ({"count": 0}, "count: 0 is out of range; give 1 to any"),
        ({"size": "1 furlong"}, "size: '1 furlong' is not a size such as 64KiB or 1GiB"),
        ({"size": "4"}, "size: 4 is out of range; give 8B to 1TiB"),
        ({"ops": ["sum", "min"]}, "ops: 'min' is not one of: sum, max"),
        ({"name": 5}, "name: 5 is not string"),
        ({"fast": "yes"}, "fast: 'yes' is not boolean"),
        ({"seconds": None}, "seconds: None is not number"),
    ],
)
def test_bad_values_give_one_line_that_says_how(values: dict[str, object], message: str) -> None:
    with pytest.raises(BadParameter) as caught:
        params.parse(Example, values)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("text", "count"),
    [("1GiB", 1 << 30), ("1GB", 10**9), ("64k", 65536), ("1.5MiB", 3 << 19), ("512", 512), ("8 B", 8)],
)
def test_sizes(text: str, count: int) -> None:
    assert params.parse_bytes(text) == count


@pytest.mark.parametrize(("count", "text"), [(8, "8B"), (1 << 30, "1GiB"), (1536, "1.5KiB"), (10**9, "953.67MiB")])
def test_sizes_for_people(count: int, text: str) -> None:
    assert params.human_bytes(count) == text


def test_schema_refuses_unknown_names_and_carries_bounds() -> None:
    schema = params.json_schema(Example)
    assert schema["additionalProperties"] is False
    seconds = schema["properties"]["seconds"]
    assert (seconds["type"], seconds["minimum"], seconds["maximum"], seconds["default"]) == ("number", 5, 3600, 60.0)
    assert schema["properties"]["ops"] == {
        "type": "array",
        "items": {"type": "string", "enum": ["sum", "max"]},
        "description": "operations",
        "default": ["sum"],
    }


def test_options_and_arguments_give_the_same_parameters_back() -> None:
    made = Example(seconds=9.0, size=8, ops=("max", "sum"), fast=False)
    seen = {}

    def callback(**values: object) -> None:
        seen.update({key: value for key, value in values.items() if value not in (None, ())})

    command = click.Command("x", callback=callback, params=list(params.options(Example)))
    result = CliRunner().invoke(command, params.arguments(made))
    assert result.exit_code == 0, result.output
    assert params.parse(Example, seen) == made
    assert params.arguments(Example()) == []
