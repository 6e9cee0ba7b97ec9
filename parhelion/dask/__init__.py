"""Images that are larger than memory, or computed on several machines, through dask.

``import parhelion.dask as hd`` gives `apply`, which makes a lazy dask array of a
pipeline and dask arrays, `reduce`, which does so where images are folded as a whole,
`scan` and `iir`, which filter recursively, and `plan`, which says what `apply` would
read. Distribution is dask's own. It needs the extra ``dask``.
"""

from __future__ import annotations

from parhelion import tracebacks as _tracebacks
from parhelion.dask.applying import apply as apply
from parhelion.dask.named import apply_named as apply_named
from parhelion.dask.planning import Plan as Plan
from parhelion.dask.planning import plan as plan
from parhelion.dask.reducing import reduce as reduce
from parhelion.dask.scanning import iir as iir
from parhelion.dask.scanning import scan as scan
from parhelion.dask.sources import open_image as open_image
from parhelion.dask.storing import Stored as Stored
from parhelion.dask.storing import to_zarr as to_zarr

_tracebacks.shorten(globals())
