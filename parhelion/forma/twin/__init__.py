"""Forma written in Python: functions that are read to the tree of a program."""
