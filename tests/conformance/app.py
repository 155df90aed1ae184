"""The product's server over HTTP for the conformance suite: bare, or with the suite's fixtures mounted.

python tests/conformance/app.py PORT [--fixtures]
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from fixtures import mount

from clusterwright.mcp.app import App
from clusterwright.mcp.server import build


def main() -> None:
    """Serve until stopped. The suite cannot send a token, so there is none here; Host and Origin are checked."""
    server = build(App(toolsets=("jobs", "measure")))
    if "--fixtures" in sys.argv:
        mount(server)
    server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[1]))


if __name__ == "__main__":
    main()
