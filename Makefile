# The two commands of the README are `make demo` and `make test`; each makes .venv by itself.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed

# The public data sets, where a copy lies beside the checkout; otherwise tests fetch them (see CONTRIBUTING.md).
QUORATE_DATA ?= $(wildcard $(CURDIR)/../shared/datasets/source)
ifneq ($(QUORATE_DATA),)
export QUORATE_DATA
endif

# crowd-kit's Python, if `make bench` or CI has made it.
QUORATE_CROWDKIT ?= $(if $(CI)$(wildcard .venv-crowdkit/.installed),$(CURDIR)/.venv-crowdkit/bin/python)
ifneq ($(QUORATE_CROWDKIT),)
export QUORATE_CROWDKIT
endif

.PHONY: accuracy bench demo docs reproduce test check format clean help

help:  ## say what each target does
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/'

# uv where it is there, pip otherwise. The stamp makes a second run start at once.
$(STAMP): pyproject.toml
	@if command -v uv >/dev/null 2>&1; then \
	  uv venv --quiet --allow-existing --python $(PYTHON) .venv && uv pip install --quiet --python $(BIN)/python -e '.[dev]'; \
	else \
	  $(PYTHON) -m venv .venv && $(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'; \
	fi
	@touch $@

demo: $(STAMP)  ## simulate a sparse crowd with known truth and aggregate it
	@$(BIN)/quorate demo

# What the tests drive besides Python: a browser, and Java for Spark. Where they cannot be installed, those tests say so.
.venv/.tools: $(STAMP)
	@for need in chromium:chromium java:openjdk-17-jre-headless; do \
	  command -v $${need%%:*} >/dev/null 2>&1 && continue; \
	  if command -v apt-get >/dev/null 2>&1 && [ "$$(id -u)" = 0 ]; then \
	    echo "installing $${need##*:}"; \
	    apt-get update -qq >/dev/null && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y $${need##*:} >/dev/null; \
	  else echo "$${need%%:*} is not here; its tests are skipped. Install it with: apt-get install $${need##*:}"; fi; \
	done
	@touch $@

# In CI crowd-kit is there too, in an environment of its own: one test runs a script with both libraries.
test: $(STAMP) .venv/.tools $(if $(CI),.venv-crowdkit/.installed)  ## run every test, and every example in the documentation
	$(BIN)/python -m pytest -n 2

check: $(STAMP)  ## lint and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

accuracy: $(STAMP)  ## errors of every method on the public data sets (docs/comparison.md)
	@$(BIN)/python benchmarks/accuracy.py

reproduce: $(STAMP)  ## run the paper's experiments again: tables, figures and a page (half an hour)
	@$(BIN)/quorate reproduce all -o reproduction

docs: $(STAMP)  ## build the documentation site into site/, strictly
	@$(BIN)/zensical build --clean --strict

# crowd-kit in an environment where all of its classes work: newer pandas and scikit-learn break some.
.venv-crowdkit/.installed:
	$(PYTHON) -m venv .venv-crowdkit
	.venv-crowdkit/bin/python -m pip install --quiet 'crowd-kit==1.4.*' 'pandas==2.2.*' 'scikit-learn==1.5.*'
	@touch $@

SETS ?= s10k,m1,m1x2,dense1
REPEATS ?= 3
bench: $(STAMP) .venv-crowdkit/.installed  ## time quorate beside crowd-kit and the cost of reading the file
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[bench]'
	@$(BIN)/python benchmarks/speed.py --sets $(SETS) --repeats $(REPEATS) --only "$(ONLY)"

format: $(STAMP)  ## let ruff rewrite the layout
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:  ## remove what the other targets made
	rm -rf .venv .venv-crowdkit site .mypy_cache .pytest_cache .ruff_cache .hypothesis build dist
