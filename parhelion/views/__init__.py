"""What notebooks and browsers show: stage graphs, loop nests, schedules in motion."""
