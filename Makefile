# Two commands do everything, set-up included: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test readme wheel conformance bench clean

demo: $(VENV)/.installed
	@$(BIN)/clusterwright demo

test: $(VENV)/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/clusterwright knowledge lint
	$(BIN)/python -m pytest

# PyTorch is pinned by constraints.txt: a range would let pip take a build of several gigabytes.
$(VENV)/.installed: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "Python 3.11 or newer is needed, $(PYTHON) is older; name another: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { \
	  echo "No venv here. Debian, Ubuntu: apt install python3-venv. Elsewhere: see 'Without make or venv' in README.md"; exit 1; }
	@echo "Installing Clusterwright and its dependencies into $(VENV) (once, 2 to 5 minutes, about 2 GB on disk)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt torch
	@echo "PyTorch is there; now the rest"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	@touch $@

# The table of measurements in README.md is drawn from their declarations.
readme: $(VENV)/.installed
	UPDATE_README=1 $(BIN)/python -m pytest -q tests/test_readme.py

# Vectors of the shipped chapters travel in the wheel, so that an installed package embeds none of them.
wheel: $(VENV)/.installed
	@$(BIN)/clusterwright index export server/clusterwright/_data/corpus
	@$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir dist .
	@rm -rf server/clusterwright/_data && ls dist/*.whl

# The MCP conformance suite and the inspector: needs npm (Node 22 is taken from npm).
conformance: $(VENV)/.installed
	@$(BIN)/python tests/conformance/run.py

bench: $(VENV)/.installed
	@$(BIN)/python benchmarks/search.py
	@$(BIN)/python benchmarks/server.py

clean:
	rm -rf $(VENV) .node dist build
