"""The language: what a user's script writes, turned into the algorithm of `ir`."""
