# The two commands of the README are `make demo` and `make test`; each makes .venv by itself.
PYTHON ?= python3
BIN := .venv/$(if $(filter Windows_NT,$(OS)),Scripts,bin)

# The public data sets, where a copy lies beside the checkout; otherwise tests fetch them (docs/testing.md).
QUORATE_DATA ?= $(wildcard $(CURDIR)/../shared/datasets/source)
ifneq ($(QUORATE_DATA),)
export QUORATE_DATA
endif

# Installing compiles nothing; what is imported is compiled once and kept, whatever the shell says, or each of the many
# processes that the tests start would compile it again.
unexport PYTHONDONTWRITEBYTECODE
# The matrices here are too small to share: threads of BLAS that wait for each other made some tests five times as long.
OPENBLAS_NUM_THREADS ?= 1
export OPENBLAS_NUM_THREADS

# What CI may skip: any of browser,compiler,crowdkit,postgres,spark (docs/testing.md).
QUORATE_SKIP ?=
export QUORATE_SKIP

# crowd-kit's Python, if `make bench` or CI has made it. In CI one test runs a script with both libraries.
CROWDKIT := .venv-crowdkit/.installed
CI_CROWDKIT := $(if $(CI),$(if $(findstring crowdkit,$(QUORATE_SKIP)),,$(CROWDKIT)))
QUORATE_CROWDKIT ?= $(if $(CI_CROWDKIT)$(wildcard $(CROWDKIT)),$(CURDIR)/.venv-crowdkit/bin/python)
ifneq ($(QUORATE_CROWDKIT),)
export QUORATE_CROWDKIT
endif


# Folders and files may have the names of targets: docs/ has.
.PHONY: help demo test check format hooks coverage sanitize oldest bare dist docs pages accuracy parity labelstudio mutate fuzz faults reproduce bench bench-rank clean

help:  ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/'

# --- environments: a stamp says that one is complete, so that a second run starts at once ---

# $(call install,ENVIRONMENT,WHAT): by uv where it is there, by pip otherwise. Neither compiles what may never be imported.
define install
if command -v uv >/dev/null 2>&1; then \
  uv venv --quiet --allow-existing --python $(PYTHON) $(1) && uv pip install --quiet --python $(1) $(2); \
else \
  $(PYTHON) -m venv $(1) && $(1)/$(notdir $(BIN))/python -m pip install --quiet --no-compile --disable-pip-version-check $(2); \
fi
endef

# What is built into the program: where a compiler is, the kernels are in C.
BUILT := pyproject.toml setup.py src/quorate/blocks/native.c $(wildcard src/quorate/blocks/*.h)

# The program and what it cannot do without: all that the demonstration needs.
.venv/.core: $(BUILT)
	@$(call install,.venv,-e .)
	@touch $@

# Everything that developing needs: extras, linters, test tools. It holds the program too, hence two stamps.
.venv/.dev: $(BUILT) | compiler
	@$(call install,.venv,-e '.[dev]')
	@touch .venv/.core $@

# $(call need,WHAT,PROGRAMS,PACKAGE): any of the programs will do. Where none can be installed, the tests say so.
define need
@case ",$(QUORATE_SKIP)," in *,$(1),*) exit 0;; esac; \
for program in $(2); do command -v $$program >/dev/null 2>&1 && exit 0; done; \
if command -v apt-get >/dev/null 2>&1 && [ "$$(id -u)" = 0 ]; then \
  echo "installing $(3)"; \
  apt-get update -qq >/dev/null && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y $(3) >/dev/null; \
else echo "$(firstword $(2)) is not here, which the tests of $(1) need. On Debian: apt-get install $(3)"; fi
endef

# For the kernels in C; without, those in numpy serve.
.PHONY: compiler
compiler:
	$(call need,compiler,cc gcc clang,gcc libc6-dev python3-dev)

# What the tests drive besides Python.
.venv/.tools: .venv/.dev
	$(call need,browser,chromium chromium-browser google-chrome,chromium)
	$(call need,postgres,initdb /usr/lib/postgresql/*/bin/initdb,postgresql)
	$(call need,spark,java,openjdk-17-jre-headless)
	@touch $@

# crowd-kit in an environment where all of its classes work: newer pandas and scikit-learn break some.
$(CROWDKIT):
	@$(call install,.venv-crowdkit,'crowd-kit==1.4.*' 'pandas==2.2.*' 'scikit-learn==1.5.*')
	@touch $@

# The peers of `quorate rank`, beside crowd-kit's versions that work.
RANK_PEERS := .venv-rank-peers/.installed
$(RANK_PEERS):
	@$(call install,.venv-rank-peers,'crowd-kit==1.4.*' 'pandas==2.2.*' 'scikit-learn==1.5.*' 'choix==0.4.*' 'evalica==0.4.*')
	@touch $@

# --- what people run ---

demo: .venv/.core  ## simulate a sparse crowd with known truth and aggregate it
	@$(BIN)/quorate demo

test: .venv/.tools $(CI_CROWDKIT)  ## run every test, and every example in the documentation
	$(BIN)/python -m pytest -n 2

check: .venv/.dev  ## lint, types and import layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: .venv/.dev  ## let ruff rewrite the layout
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

hooks: .venv/.dev  ## let git run the checks before each commit
	$(BIN)/pre-commit install

coverage: .venv/.tools $(CI_CROWDKIT)  ## the tests again, counting the lines they reach; fails below what is held
	$(BIN)/python -m pytest -n 2 --cov --cov-report=term:skip-covered

# The kernels in C with AddressSanitizer and UBSan, in a copy of the package; EXAMPLES random blocks for each kernel.
EXAMPLES ?= 3000
SANITIZED := build/sanitized
sanitize: .venv/.dev  ## let the kernels in C run over random blocks under sanitizers
	@mkdir -p $(SANITIZED) && rm -rf $(SANITIZED)/quorate && cp -r src/quorate $(SANITIZED)/
	@cc -g -O1 -fPIC -shared -fsanitize=address,undefined -fno-sanitize-recover=all \
	  -I$$($(BIN)/python -c "import sysconfig; print(sysconfig.get_path('include'))") \
	  src/quorate/blocks/native.c -lm -o $(SANITIZED)/quorate/blocks/_native.abi3.so
	LD_PRELOAD="$$(cc -print-file-name=libasan.so) $$(cc -print-file-name=libubsan.so)" ASAN_OPTIONS=detect_leaks=0 \
	  QUORATE_EXAMPLES=$(EXAMPLES) PYTHONPATH=$(SANITIZED):. \
	  $(BIN)/python -m pytest -q -p no:cacheprovider tests/blocks

# The oldest versions that pyproject.toml allows, with the oldest Python. Only uv can resolve downwards; pip brings it.
.venv-oldest/.installed: pyproject.toml
	$(PYTHON) -m venv .venv-oldest/uv
	.venv-oldest/uv/bin/python -m pip install --quiet --disable-pip-version-check uv
	.venv-oldest/uv/bin/uv venv --quiet --allow-existing --python 3.11 .venv-oldest
	.venv-oldest/uv/bin/uv pip install --quiet --python .venv-oldest --upgrade --resolution lowest-direct -e '.[dev]'
	@touch $@

oldest: .venv-oldest/.installed .venv/.tools  ## run every test with the oldest versions that are allowed
	.venv-oldest/bin/python -m pytest -n 2

# Without any extra, and without pytest: what a user has who typed `pip install quorate`; the newest versions, then the oldest.
.venv-bare/.installed: pyproject.toml
	@$(call install,.venv-bare,-e .)
	@touch $@

.venv-bare-oldest/.installed: pyproject.toml
	$(PYTHON) -m venv .venv-bare-oldest/uv
	.venv-bare-oldest/uv/bin/python -m pip install --quiet --disable-pip-version-check uv
	.venv-bare-oldest/uv/bin/uv venv --quiet --allow-existing --python 3.11 .venv-bare-oldest
	.venv-bare-oldest/uv/bin/uv pip install --quiet --python .venv-bare-oldest --upgrade --resolution lowest-direct -e .
	@touch $@

bare: .venv-bare/.installed .venv-bare-oldest/.installed  ## run every command without any extra: newest and oldest versions
	.venv-bare/bin/python tools/bare.py
	.venv-bare-oldest/bin/python tools/bare.py

# What goes to the package index, installed as a user installs it: each file alone, in a fresh environment and folder.
.venv-dist/.installed:
	@$(call install,.venv-dist,build twine)
	@touch $@

dist: .venv-dist/.installed  ## build the sdist and the wheel into dist/, install each and try it
	rm -rf dist
	.venv-dist/bin/python -m build --outdir dist .
	.venv-dist/bin/twine check --strict dist/*
	@for file in dist/*.whl dist/*.tar.gz; do \
	  echo "trying $$file"; \
	  fresh=$$(mktemp -d) && $(call install,$$fresh/env,$$file) && \
	  (cd $$fresh && env/bin/quorate --version && env/bin/quorate demo >demo.txt) || exit 1; \
	  rm -rf $$fresh; \
	done

docs: .venv/.dev  ## build the documentation site into site/, strictly
	@$(BIN)/python -m zensical build --clean --strict
	@$(BIN)/python tools/site.py

pages: .venv/.dev  ## rewrite what follows from the code: outputs shown, options, API, notebooks, pictures of the report
	@$(BIN)/python tools/reference.py
	@$(BIN)/python tools/console.py
	@$(BIN)/python -m tests.notebooks
	@$(BIN)/python -m tools.report_picture

accuracy: .venv/.dev  ## errors of every method on the public datasets (docs/accuracy.md)
	@$(BIN)/python benchmarks/accuracy.py

parity: .venv/.dev $(CROWDKIT)  ## crowd-kit's classes beside ours on the seven sets (docs/accuracy.md)
	@$(BIN)/python benchmarks/parity.py

# Label Studio, with all that it brings along, in an environment of its own: half a gigabyte.
.venv-labelstudio/.installed:
	@$(call install,.venv-labelstudio,'label-studio>=1.13')
	@touch $@

labelstudio: .venv/.dev .venv-labelstudio/.installed  ## start a live Label Studio on the loopback; pull from it and push to it
	@$(BIN)/python -m tests.live.label_studio .venv-labelstudio/$(notdir $(BIN))/label-studio

# mutmut, with the package and its tests, in an environment of its own; [tool.mutmut] in pyproject.toml has what it mutates.
.venv-mutmut/.installed: pyproject.toml
	@$(call install,.venv-mutmut,-e '.[dev]' 'mutmut>=3.8')
	@touch $@

MUTANTS ?=
mutate: .venv-mutmut/.installed  ## mutation testing with mutmut; MUTANTS='quorate.voting.*' chooses modules; read the survivors
	-@.venv-mutmut/$(notdir $(BIN))/mutmut run $(MUTANTS)
	@.venv-mutmut/$(notdir $(BIN))/mutmut results

MINUTES ?= 3
fuzz: .venv/.dev  ## hostile input at random, for MINUTES=3 or for hours; what ends badly is kept in fuzz-found/
	@$(BIN)/python -m tests.fuzz --minutes $(MINUTES)

faults: .venv/.dev  ## kill, fill the disk, write twice at once, unpack bombs: 200 kills and more, with counts
	@$(BIN)/python -m tests.faults

reproduce: .venv/.dev  ## run the paper's experiments and rewrite docs/reproduction.md (half an hour; QUICK=1: minutes, page untouched)
	@$(BIN)/python -m experiments.runner all $(if $(QUICK),--quick) -o $(if $(QUICK),reproduction-quick,reproduction)
	@$(if $(QUICK),,$(BIN)/python -m experiments.runner.page reproduction)

SETS ?= s10k,m1,m1x2,dense1
REPEATS ?= 3
# TABLES: any of answers,workers,classes,per-task,shapes prints the tables of every command (docs/warehouse.md), too.
TABLES ?=
bench: .venv/.dev $(CROWDKIT)  ## time quorate beside crowd-kit and the cost of reading the file; TABLES=answers,… every command
	@$(BIN)/python benchmarks/speed.py --sets $(SETS) --repeats $(REPEATS) --only "$(ONLY)"
	@$(if $(TABLES),$(BIN)/python benchmarks/sizes.py --tables $(TABLES) --repeats $(REPEATS))

bench-rank: .venv/.dev $(RANK_PEERS)  ## quorate rank beside choix, evalica and crowd-kit: log-loss, tau, coverage, CPU
	@OPENBLAS_NUM_THREADS=1 $(BIN)/python -m benchmarks.ranking --peers .venv-rank-peers/$(notdir $(BIN))/python

clean:  ## remove what the other targets made
	rm -rf .venv .venv-bare .venv-bare-oldest .venv-crowdkit .venv-dist .venv-oldest .venv-mutmut .venv-rank-peers mutants site .mypy_cache .pytest_cache .ruff_cache .hypothesis .coverage build dist
