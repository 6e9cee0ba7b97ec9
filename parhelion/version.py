"""The version of the library, which distributions and compiled code are marked by."""

VERSION = "0.1.0"
