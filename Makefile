# make demo       install and compare losses on noisy digits
# make test       install and run the tests, in five minutes on two cores
# make test-all   the slow tests too
# make docs       build the site into build/site
# make dist       build sdist and wheel, and try the wheel in an empty environment
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
BROWSER := $(VENV)/.browser
BROWSERS := chromium chromium-browser google-chrome google-chrome-stable

.PHONY: demo test test-all test-part test-integrations lint docs notebook dist bench figures clean

demo: $(STAMP)
	$(BIN)/noiseproof demo

# Tests start Python a hundred times: let it cache bytecode.
unexport PYTHONDONTWRITEBYTECODE
# Two processes; tests of one file run in one process, so that its fixtures are set up once.
PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist loadfile
PART ?= 1/1

test: $(STAMP) $(BROWSER)
	$(PYTEST)

test-all: $(STAMP) $(BROWSER)
	$(PYTEST) -m "" --hypothesis-profile searching

# Only the slow tests, and of these one part: make test-part PART=2/4.
test-part: $(STAMP) $(BROWSER)
	$(PYTEST) -m slow --part $(PART)

# Tests with the real Lightning, Trainer, cleanlab, ... need an environment of 3 GB.
INTEGRATIONS := $(VENV)-integrations
test-integrations: $(INTEGRATIONS)/.installed
	OMP_NUM_THREADS=1 $(INTEGRATIONS)/bin/python -m pytest tests/integrations tests/losses/test_causal_lm.py \
	  src/noiseproof/integrations -m ""

$(INTEGRATIONS)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(INTEGRATIONS)
	$(INTEGRATIONS)/bin/python -m pip install --quiet --constraint constraints.txt --editable '.[dev,integrations]'
	touch $@

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python tools/import_circles.py

# Fails on broken links and on anything that pages would load from other hosts.
docs: $(VENV)/.docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

$(VENV)/.docs: $(STAMP)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[docs]'
	touch $@

# Run the notebook from top to bottom and store its outputs.
notebook: $(VENV)/.notebook
	OMP_NUM_THREADS=1 $(BIN)/jupyter nbconvert --to notebook --execute --inplace \
	  --ExecutePreprocessor.record_timing=False docs/start.ipynb

$(VENV)/.notebook: $(STAMP)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt nbconvert ipykernel
	touch $@

dist: $(STAMP)
	rm -rf dist
	$(BIN)/python tools/smoke.py

bench: $(STAMP)
	$(BIN)/noiseproof kernels build
	$(BIN)/python benchmarks/cpu.py
	$(BIN)/python benchmarks/methods.py

figures: $(STAMP)
	$(BIN)/python docs/make_figures.py
	$(BIN)/python docs/make_fused_figure.py
	$(BIN)/python docs/make_gallery.py

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $(STAMP)

# Tests open reports in a browser. If none can be installed, these tests are skipped with a notice.
$(BROWSER): | $(STAMP)
	@for name in $(BROWSERS); do if command -v $$name >/dev/null; then touch $@; exit 0; fi; done; \
	sudo=; [ "$$(id -u)" = 0 ] || sudo="sudo -n"; \
	command -v apt-get >/dev/null && $$sudo true 2>/dev/null && $$sudo apt-get update -qq && \
	$$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends chromium && touch $@ || \
	echo "chromium cannot be installed here: browser tests will be skipped"

clean:
	rm -rf $(VENV) $(INTEGRATIONS) build dist .pytest_cache .mypy_cache .ruff_cache
