"""Random pipelines and schedules against the interpreter."""

import os

# The harness changes the compiler; what it makes then must not be kept.
os.environ["PARHELION_CACHE"] = "off"
