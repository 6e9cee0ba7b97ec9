"""Images that are larger than memory, or computed on several machines, through dask.

``import parhelion.dask as hd`` gives `apply`, which makes a lazy dask array of a
pipeline and dask arrays, and `plan`, which says what that would read. Distribution is
dask's own. It needs the extra ``dask``.
"""

from __future__ import annotations

from parhelion import tracebacks as _tracebacks
from parhelion.dask.applying import apply as apply
from parhelion.dask.planning import Plan as Plan
from parhelion.dask.planning import plan as plan

_tracebacks.shorten(globals())
