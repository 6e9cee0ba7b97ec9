"""``make bench``: everything, side by side with Halide; a table and a JSON file."""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.cases import CASES

#: Largest acceptable ratio of our cold compile to Halide's compile_jit.
COMPILE_LIMIT = 2.0
#: Largest acceptable seconds of `import parhelion` beyond `import numpy`.
IMPORT_LIMIT = 0.1


def child(*args: str, threads: int | None = None) -> str:
    """Standard output of ``python args…`` in a fresh process."""
    env = dict(os.environ)
    if threads is not None:
        env["HL_NUM_THREADS"] = str(threads)
    done = subprocess.run(
        [sys.executable, *args], env=env, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        sys.exit(f"{' '.join(args)} failed:\n{done.stderr}")
    return done.stdout


def run_times() -> list[dict[str, Any]]:
    rows = []
    for case in CASES:
        for threads in (1, 2):
            text = child("-m", "benchmarks.runtime", case.name, threads=threads)
            row: dict[str, Any] = {"case": case.name, "threads": threads}
            row |= json.loads(text)
            row["ratio"] = row["parhelion"]["min"] / row["halide"]["min"]
            row["median_ratio"] = row["parhelion"]["median"] / row["halide"]["median"]
            row["numpy_gain"] = row["numpy"]["min"] / row["parhelion"]["min"]
            row["limit"] = case.limit
            row["ok"] = row["same"] and row["ratio"] <= case.limit
            if case.numpy_gain is not None:
                row["ok"] = row["ok"] and row["numpy_gain"] >= case.numpy_gain
            rows.append(row)
            print(
                f"{case.name:22} {threads} thread{'s' if threads > 1 else ' '}  "
                f"parhelion {row['parhelion']['min'] * 1e3:8.2f} ms  "
                f"halide {row['halide']['min'] * 1e3:8.2f} ms  "
                f"ratio {row['ratio']:.3f} (median {row['median_ratio']:.3f}, "
                f"limit {case.limit})  {row['numpy_gain']:.1f}x NumPy  "
                f"difference {row['difference']:.1e}  {verdict(row['ok'])}",
                flush=True,
            )
    return rows


def compile_times(repeats: int) -> list[dict[str, Any]]:
    rows = []
    for case in CASES:
        seconds: dict[str, list[float]] = {"parhelion": [], "halide": []}
        for _ in range(repeats):
            for module, taken in seconds.items():
                text = child("-m", "benchmarks.compiletime", module, case.name)
                taken.append(json.loads(text)["compile"])
        best = {module: min(taken) for module, taken in seconds.items()}
        ratio, median = best["parhelion"] / best["halide"], _median_ratio(seconds)
        ok = ratio <= COMPILE_LIMIT
        row: dict[str, Any] = {"case": case.name, "seconds": seconds, "ok": ok}
        rows.append(row | {"ratio": ratio, "median_ratio": median})
        print(
            f"{case.name:22} cold compile  parhelion {best['parhelion']:.3f} s  "
            f"halide {best['halide']:.3f} s  ratio {ratio:.2f} "
            f"(median {median:.2f}, limit {COMPILE_LIMIT})  "
            f"{verdict(ok)}",
            flush=True,
        )
    return rows


def _median_ratio(seconds: dict[str, list[float]]) -> float:
    ours, theirs = (statistics.median(seconds[m]) for m in ("parhelion", "halide"))
    return ours / theirs


def import_time(repeats: int) -> dict[str, Any]:
    code = (
        "import time, numpy; t = time.perf_counter(); import parhelion; "
        "print(time.perf_counter() - t)"
    )
    taken = [float(child("-c", code)) for _ in range(repeats)]
    ok = min(taken) <= IMPORT_LIMIT
    print(
        f"import parhelion beyond NumPy: {min(taken):.3f} s "
        f"(median {statistics.median(taken):.3f}, limit {IMPORT_LIMIT})  {verdict(ok)}"
    )
    return {"seconds": taken, "ok": ok}


def verdict(ok: bool) -> str:
    return "ok" if ok else "MISSED"


def machine() -> dict[str, str]:
    model = platform.processor()
    flags: list[str] = []
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            key, _, value = line.partition(":")
            if key.strip() == "model name":
                model = value.strip()
            elif key.strip() == "flags" and not flags:
                flags = [f for f in value.split() if f.startswith(("avx", "fma"))]
    return {
        "cpu": model,
        "cores": str(os.cpu_count()),
        "features": " ".join(flags),
        "python": platform.python_version(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks", description=__doc__)
    parser.add_argument("--json", type=Path, default=Path("out/bench.json"))
    parser.add_argument("--repeats", type=int, default=5, help="of cold starts")
    options = parser.parse_args()
    results = {
        "machine": machine(),
        "run": run_times(),
        "compile": compile_times(options.repeats),
        "import": import_time(options.repeats),
    }
    ratios = [row["ratio"] for row in results["run"]]  # type: ignore[index]
    mean = math.exp(statistics.fmean(map(math.log, ratios)))
    print(f"geometric mean of run-time ratios: {mean:.3f}")
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(results, indent=1) + "\n")
    print(f"wrote {options.json}")


if __name__ == "__main__":
    main()
