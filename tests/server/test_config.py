from pathlib import Path

import pytest

from clusterwright import config
from clusterwright.errors import UserError


def test_every_key_has_a_default(tmp_path: Path) -> None:
    assert config.load(tmp_path / "none.toml") == config.Config()


def test_keys_are_read(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text('[embedding]\nidle_minutes = 2\n[measure]\npython = "/opt/python"\nenvironment = ["A"]\n')
    loaded = config.load(file)
    assert (loaded.embedding.idle_minutes, loaded.measure.python, loaded.measure.environment) == (
        2,
        "/opt/python",
        ("A",),
    )


def test_the_example_in_the_documentation_is_valid(tmp_path: Path) -> None:
    assert config.__doc__ is not None
    example = "\n".join(line.strip() for line in config.__doc__.splitlines() if line.startswith("    "))
    (tmp_path / "config.toml").write_text(example)
    assert config.load(tmp_path / "config.toml") == config.Config()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[embedding", "is not valid TOML"),
        ("[embeding]\n", "embeding: extra inputs are not permitted"),
        ("[embedding]\nmodle = 'x'\n", "embedding.modle: extra inputs are not permitted"),
        ("[embedding]\nidle_minutes = 'long'\n", "embedding.idle_minutes: input should be a valid number"),
        ("[measure]\nlimit_seconds = 0\n", "measure.limit_seconds: input should be greater than 0"),
    ],
)
def test_bad_files_give_one_line(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "config.toml"
    file.write_text(text)
    with pytest.raises(UserError) as caught:
        config.load(file)
    assert str(file) in str(caught.value) and message in str(caught.value) and "\n" not in str(caught.value)
