import sys

import pytest

from clusterwright_tools import environment
from clusterwright_tools.errors import CannotRun


def test_hello_on_a_cpu() -> None:
    told = environment.hello()
    assert told["device"] == "cpu" and told["uuid"] == "" and told["pid"] > 0
    assert told["torch"] == environment.torch().__version__


def test_describe_lists_ranks_where_there_are_several() -> None:
    assert "ranks" not in environment.describe()
    told = environment.describe([environment.hello(), environment.hello()])
    assert [one["rank"] for one in told["ranks"]] == [0, 1]


def test_the_cpu_can_be_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment.torch().cuda, "is_available", lambda: True)
    monkeypatch.delenv("CLUSTERWRIGHT_DEVICE", raising=False)
    assert not environment.use_cpu()
    monkeypatch.setenv("CLUSTERWRIGHT_DEVICE", "cpu")
    assert environment.use_cpu()


def test_missing_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(CannotRun, match="PyTorch does not import here"):
        environment.torch()
