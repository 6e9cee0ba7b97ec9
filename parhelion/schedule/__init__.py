"""Schedules: directives, what is legal, and where each Func is computed."""
