"""Running compiled code: loading it, its threads and memory, and its errors."""
