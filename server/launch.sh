#!/bin/sh
# Starts the clusterwright command from wherever it is installed; plug-ins and MCP configurations call this.
# Order: the interpreter named by CLUSTERWRIGHT_PYTHON, the checkout's own environment, PATH, the system's Python.
root=$(cd "$(dirname "$0")/.." && pwd)
if [ -n "$CLUSTERWRIGHT_PYTHON" ]; then
  exec "$CLUSTERWRIGHT_PYTHON" -m clusterwright "$@"
elif [ -x "$root/.venv/bin/clusterwright" ]; then
  exec "$root/.venv/bin/clusterwright" "$@"
elif command -v clusterwright >/dev/null 2>&1; then
  exec clusterwright "$@"
elif python3 -c 'import clusterwright' >/dev/null 2>&1; then
  exec python3 -m clusterwright "$@"
fi
echo "clusterwright is not installed: run 'pip install clusterwright', or set CLUSTERWRIGHT_PYTHON to the Python that has it" >&2
exit 1
