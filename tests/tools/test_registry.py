import pytest

from clusterwright_tools import params, registry
from clusterwright_tools.errors import BadParameter


def test_the_tools_are_found() -> None:
    assert list(registry.tools()) == sorted(registry.tools())
    assert {"matmul-flops", "collective-bandwidth", "preflight"} <= set(registry.tools())


def test_an_unknown_tool_lists_those_that_exist() -> None:
    with pytest.raises(BadParameter, match=r"unknown tool 'x'; there are: .*matmul-flops"):
        registry.find("x")


@pytest.mark.parametrize("tool", registry.tools().values(), ids=lambda tool: tool.name)
def test_every_tool_is_declared_in_full(tool: registry.Tool) -> None:
    assert tool.summary.endswith(".") and tool.chapters and tool.seconds > 0
    assert all(field.help for field in params.fields(tool.params))
    assert params.parse(tool.params, {}) == tool.params()
