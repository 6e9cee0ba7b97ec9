"""Random pipelines and schedules against the interpreter."""
