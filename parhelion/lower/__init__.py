"""From the algorithm and its schedule to an imperative program (see `passes`)."""
