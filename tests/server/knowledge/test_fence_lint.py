from pathlib import Path

import pytest

from clusterwright.errors import UserError
from clusterwright.knowledge import fence_lint, markdown


def problems(text: str) -> list[tuple[int, str]]:
    return list(fence_lint.lint(markdown.parser().parse(text), text.split("\n")))


@pytest.mark.parametrize(
    "text",
    [
        '```bash\nfor node in $NODES; do ssh "$node" nvidia-smi; done\n```\n',
        "```bash\ncat <<END\nx\nEND\n```\n",
        "```python\nimport torch\nprint(f'{torch.__version__}')\n```\n",
        "```yaml\n: [ no yaml\n```\n",
        "```text\nfor x in\n```\n",
        "> ```text\n> quoted\n> ```\n",
        "- item\n\n  ~~~text\n  listed\n  ~~~\n",
        "````text\n```\n````\n",
        "```measure\npreflight --deadline 10\n\ncollective-bandwidth --max-bytes 1GiB\n```\n",
    ],
)
def test_good_fences(text: str) -> None:
    assert problems(text) == []


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("a\n\n```\nx\n```\n", 3, "a fence without a language"),
        ("```bash\nls\nfor x in\n```\n", 3, "bash: syntax error"),
        ("```sh\nssh <host>\n```\n", 2, "bash: syntax error near unexpected token `newline'"),
        ("```bash\ncat <<END\n```\n", 2, "bash: warning: here-document"),
        ("```python\nx = 1\ndef f(:\n```\n", 3, "python: "),
        ("```python\nreturn 1\n```\n", 2, "python: 'return' outside function"),
        ("```python\nx = '\\d'\n```\n", 2, "python: "),
        ("```measure\npreflight\nno-tool\n```\n", 3, "measure: unknown tool 'no-tool'; there are: "),
        ("```measure\npreflight --deadlin 3\n```\n", 2, "measure: No such option '--deadlin'"),
        ("```measure\npreflight --help\n```\n", 2, "measure: No such option '--help'"),
        ("```measure\npreflight --deadline 0\n```\n", 2, "measure: deadline: 0 is out of range"),
        ("```measure\npreflight 'a\n```\n", 2, "measure: No closing quotation"),
        ("```text\nx\n\n## Swallowed\n", 1, "a fence that is not closed; end it with ```"),
    ],
)
def test_bad_fences(text: str, line: int, message: str) -> None:
    ((found, told),) = problems(text)
    assert found == line and told.startswith(message) and "\n" not in told


def test_shell_is_never_run(tmp_path: Path) -> None:
    assert problems(f"```bash\ntouch {tmp_path}/made\n```\n") == []
    assert list(tmp_path.iterdir()) == []


def test_without_bash(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UserError, match="bash is not installed"):
        problems("```bash\nls\n```\n")
