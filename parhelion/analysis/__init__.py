"""Pure facts about IR nodes: intervals, linear forms, alignment, bounds, boxes."""
