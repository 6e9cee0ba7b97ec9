"""Pipelines over streams of frames: temporal windows, rings of frames, threads."""
