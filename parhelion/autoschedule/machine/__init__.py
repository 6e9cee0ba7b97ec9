"""The machine that a schedule is made for: its costs, by family, and measured here."""
