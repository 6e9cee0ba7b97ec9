"""Tools for who works on the compiler."""
