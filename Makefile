# make demo   run two pipelines on a photograph; PNGs and times (the first thing to try)
# make test   every test                make check  format, lint, types
# make docs   the site, in out/site     make clean  remove what these made
# make bench  side by side with Halide
# make bench-auto  automatic schedules beside Halide's and the experts', of the papers'
#                  applications and (half an hour) of everyday pipelines
# make bench-dynamic    how often stages on demand are computed, and how fast
# make bench-recursive  recursive filters beside SciPy, OpenCV and Halide
# make bench-forma      programs in Forma beside NumPy, OpenCV and Halide
# make bench-gpu        kernels beside Halide's CUDA, CUDA C++ and libraries, in slices of
#                       eight minutes: again until nothing is left
#
# Needs make, python3 >= 3.11 and python3-venv. Everything goes into .venv; a stamp
# per extra says what is installed, and changes of pyproject.toml install again.

PYTHON ?= python3
VENV   ?= .venv
JOBS   ?= 2
CASES  ?= 2000
SEED   ?= 1
ARGS   ?=
PY     := $(VENV)/bin/python

.PHONY: demo test check format docs bench bench-auto bench-dynamic bench-recursive bench-forma bench-gpu \
        fuzz fuzz-auto fuzz-recursive clean
.DELETE_ON_ERROR:

$(PY):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "parhelion needs Python 3.11 or later; set PYTHON=..."; exit 1; }
	$(PYTHON) -m venv $(VENV)

# The package is installed in place (editable), so that only its dependencies age.
$(VENV)/.stamp-%: pyproject.toml | $(PY)
	$(PY) -m pip install --disable-pip-version-check --quiet -e ".[$*]"
	@touch $@

demo: $(VENV)/.stamp-image
	$(PY) -m apps.demo --out out $(ARGS)

# Many tests start programs: none is to compile the package's modules anew.
test: export PYTHONDONTWRITEBYTECODE =
test: $(VENV)/.stamp-test
	$(PY) -m pytest -n $(JOBS) $(ARGS)

check: $(VENV)/.stamp-check
	$(PY) -m ruff format --check .
	$(PY) -m ruff check .
	$(PY) -m mypy --strict

format: $(VENV)/.stamp-check
	$(PY) -m ruff format .
	$(PY) -m ruff check --fix .

# Strict: links that lead nowhere are errors. The theme warns of MkDocs 2 at each build.
docs: export NO_MKDOCS_2_WARNING = 1
docs: $(VENV)/.stamp-site
	$(PY) -m mkdocs build $(ARGS)
	@echo "wrote out/site/index.html"

bench: $(VENV)/.stamp-bench
	$(PY) -m benchmarks --page docs/benchmarks.md $(ARGS)

bench-auto: $(VENV)/.stamp-bench
	$(PY) -m benchmarks.auto --keep --page docs/autoschedule-benchmarks.md $(ARGS)
	$(PY) -m benchmarks.everyday --page docs/everyday-benchmarks.md

bench-forma: $(VENV)/.stamp-bench
	$(PY) -m benchmarks.forma --page docs/forma-benchmarks.md $(ARGS)

bench-recursive: $(VENV)/.stamp-bench
	$(PY) -m benchmarks.recursive --page docs/recursive-filters-benchmarks.md $(ARGS)

bench-gpu: $(VENV)/.stamp-bench
	$(PY) -m benchmarks.gpu --page docs/gpu-benchmarks.md $(ARGS)

bench-dynamic: $(VENV)/.stamp-bench
	$(PY) -m benchmarks.flip --page docs/dynamic-counts.md
	$(PY) -m benchmarks.dynamic --page docs/dynamic-benchmarks.md $(ARGS)

# CASES random pipelines with random legal schedules against the interpreter, and 5,000
# mutated programs of Forma, 100 gradients beside finite differences, 500 pipelines chunk
# by chunk, and on the simulator of a GPU 2 x 2,000 schedules and 2,000 reads of textures.
fuzz: $(VENV)/.stamp-test
	$(PY) -m tests.fuzz.run --cases $(CASES) --seed $(SEED) --jobs $(JOBS) $(ARGS)
	$(PY) -m tests.forma.fuzz --cases 5000 --seed $(SEED)
	$(PY) -m tests.adjoint.fuzz --cases 100 --seed $(SEED)
	$(PY) -m tests.dask.fuzz --cases 500 --seed $(SEED)
	$(PY) -m tests.fuzz.kernels --cases 2000 --seed $(SEED) --jobs $(JOBS)
	$(PY) -m tests.fuzz.staged --cases 2000 --seed $(SEED) --jobs $(JOBS)
	$(PY) -m tests.fuzz.textures --cases 2000 --seed $(SEED) --jobs $(JOBS)

# 1,000 random recursive filters against filters that are run point by point, and as many
# scans in ordinary updates, and scans whose windows slide, against the interpreter.
fuzz-recursive: CASES = 1000
fuzz-recursive: $(VENV)/.stamp-test
	$(PY) -m tests.fuzz.recursive --cases $(CASES) --seed $(SEED) --jobs $(JOBS)
	$(PY) -m tests.fuzz.scans --cases $(CASES) --seed $(SEED) --jobs $(JOBS)
	$(PY) -m tests.fuzz.scan_windows --cases $(CASES) --seed $(SEED) --jobs $(JOBS)

# CASES random pipelines under the schedule of each automatic scheduler.
fuzz-auto: CASES = 500
fuzz-auto: $(VENV)/.stamp-test
	for name in Mullapudi2016 Parhelion; do \
	  $(PY) -m tests.fuzz.auto --cases $(CASES) --seed $(SEED) --jobs $(JOBS) \
	    --scheduler $$name $(ARGS) || exit 1; \
	done

clean:
	rm -rf $(VENV) out build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache
