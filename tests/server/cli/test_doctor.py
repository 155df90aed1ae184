import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from clusterwright.cli import doctor
from clusterwright.errors import UserError


@pytest.fixture(autouse=True)
def light(monkeypatch: pytest.MonkeyPatch) -> None:
    """The checks that load a model or start a server have tests of their own."""
    monkeypatch.setattr(doctor, "_model", lambda: "answers")
    monkeypatch.setattr(doctor, "_server", lambda: "14 tools")


def test_everything_in_place() -> None:
    done = CliRunner().invoke(doctor.doctor)
    assert done.exit_code == 0, done.output
    assert re.search(r"ok   chapters: \d{2,} chapters", done.output) and "ok   torch: " in done.output
    assert "ok   index: none yet" in done.output


def test_what_is_wrong_is_named_and_the_rest_still_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> str:
        raise UserError("the model is missing: pip install it")

    monkeypatch.setattr(doctor, "_model", broken)
    done = CliRunner().invoke(doctor.doctor, ["--json"])
    checks = {one["check"]: one for one in json.loads(done.output)["checks"]}
    assert done.exit_code == 1
    assert checks["embedding model"] == {
        "check": "embedding model",
        "ok": False,
        "detail": "the model is missing: pip install it",
    }
    assert checks["server"]["ok"]


def test_a_broken_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "config.toml").write_text("[embeding]\n")
    done = CliRunner().invoke(doctor.doctor)
    assert done.exit_code == 1 and "FAIL configuration: " in done.output and "embeding" in done.output
