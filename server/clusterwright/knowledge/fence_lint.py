"""Checks of fences: shell that parses, Python that compiles, measurements that the tools know."""

import os
import re
import subprocess
import warnings
from collections.abc import Iterator, Sequence

from markdown_it.token import Token

from clusterwright.errors import UserError
from clusterwright.knowledge import chapters, markdown
from clusterwright_tools.errors import CannotRun

_SHELL = ("bash", "sh", "shell")


def lint(tokens: Sequence[Token], lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Line (from 1) and message of each problem in the fences of a body's tokens.

    Raises:
        UserError: bash is missing.
    """
    for fence, first, last in markdown.fences(tokens):
        language = markdown.language(fence)
        if last - first < 2 or not lines[last - 1].strip(" \t>").startswith(fence.markup):
            yield first + 1, f"a fence that is not closed; end it with {fence.markup}"
        if not language:
            yield first + 1, "a fence without a language; name it (bash, python, text, …)"
        elif language in _SHELL:
            yield from ((first + 1 + line, message) for line, message in _bash(fence.content))
        elif language == "python":
            yield from ((first + 1 + line, message) for line, message in _python(fence.content))
        elif language == "measure":
            yield from ((first + 1 + line, message) for line, message in _measure(fence.content))


def _bash(content: str) -> Iterator[tuple[int, str]]:
    try:
        checked = subprocess.run(
            ["bash", "-n"],
            input=content,
            capture_output=True,
            text=True,
            timeout=20,
            check=False,
            env={**os.environ, "LC_ALL": "C", "BASH_ENV": ""},
        )
    except FileNotFoundError as error:
        raise UserError("bash is not installed; shell fences are checked with it") from error
    # A here-document without an end is a warning of bash, with exit code 0.
    for told in checked.stderr.splitlines()[:1]:
        match = re.search(r"line (\d+): (.*)", told)
        # An end that is missing is told of the line after the last.
        yield (min(int(match[1]), content.count("\n")), f"bash: {match[2]}") if match else (0, told)


def _python(content: str) -> Iterator[tuple[int, str]]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            compile(content, "fence", "exec", dont_inherit=True)
        except SyntaxError as error:
            yield error.lineno or 0, f"python: {error.msg}"


def _measure(content: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(content.splitlines(), 1):
        if line.strip():
            try:
                chapters.measurement(line)
            except (CannotRun, ValueError) as error:
                yield number, f"measure: {error}"
