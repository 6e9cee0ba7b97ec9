"""The pipeline as all schedulers see it: Funcs, sizes, boxes, work of one point."""
