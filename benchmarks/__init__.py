"""Benchmarks: what is measured beside Halide and others, apart from the tests."""

import os

# What is measured is compiled each time, but where the cache itself is measured.
os.environ["PARHELION_CACHE"] = os.environ.get("PARHELION_BENCH_CACHE", "off")
