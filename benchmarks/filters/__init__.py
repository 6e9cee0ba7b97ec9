"""The filters of `hl.filters`, timed beside OpenCV's."""
