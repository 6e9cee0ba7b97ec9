"""Programs in the language Forma, and what they compute in NumPy."""
