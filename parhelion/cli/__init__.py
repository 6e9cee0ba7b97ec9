"""The command line, ``parhelion``: pipelines run, compiled and looked at."""
