"""Applications that compute on demand what they read: what is needed of an image is
known only when they run. Each takes arrays and returns arrays."""
