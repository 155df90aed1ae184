import pytest

from clusterwright.errors import UserError
from clusterwright.mcp.app import TOOLSETS, parse_toolsets


def test_toolsets() -> None:
    assert parse_toolsets("") == TOOLSETS
    assert parse_toolsets("jobs, knowledge") == ("jobs", "knowledge")
    with pytest.raises(UserError, match="unknown toolset 'job'; there are: knowledge, jobs, measure"):
        parse_toolsets("job")
