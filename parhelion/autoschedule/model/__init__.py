"""What schedules cost: the default scheduler's model, in nanoseconds."""
