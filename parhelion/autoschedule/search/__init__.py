"""The default scheduler, ``Parhelion``: what it tries, and what it makes of that."""
