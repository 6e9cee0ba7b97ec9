"""Programs in Forma beside NumPy, OpenCV, C++ and Halide."""
