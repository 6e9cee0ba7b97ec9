"""`hl.filters`: the filters that users of OpenCV and SciPy expect.

Each takes an Array in a function under `hl.jit`, so that it is compiled and scheduled
together with the rest, or a NumPy array, for which it is compiled by itself and run.
docs/filters.md has a table of them.
"""

from parhelion import tracebacks as _tracebacks
from parhelion.filters.adaptive import adaptive_threshold as adaptive_threshold
from parhelion.filters.adaptive_histograms import clahe as clahe
from parhelion.filters.bilateral import bilateral as bilateral
from parhelion.filters.colours import convert_color as convert_color
from parhelion.filters.corners import harris as harris
from parhelion.filters.corners import min_eigenvalue as min_eigenvalue
from parhelion.filters.demosaicing import demosaic as demosaic
from parhelion.filters.distances import distance_transform as distance_transform
from parhelion.filters.edges import canny as canny
from parhelion.filters.guided import guided as guided
from parhelion.filters.histograms import equalize_hist as equalize_hist
from parhelion.filters.histograms import histogram as histogram
from parhelion.filters.integrals import integral as integral
from parhelion.filters.kernels import convolve as convolve
from parhelion.filters.kernels import correlate as correlate
from parhelion.filters.kernels import laplacian as laplacian
from parhelion.filters.kernels import scharr as scharr
from parhelion.filters.kernels import separable as separable
from parhelion.filters.kernels import sobel as sobel
from parhelion.filters.matching import match_template as match_template
from parhelion.filters.morphology import blackhat as blackhat
from parhelion.filters.morphology import closing as closing
from parhelion.filters.morphology import dilate as dilate
from parhelion.filters.morphology import erode as erode
from parhelion.filters.morphology import (
    morphological_gradient as morphological_gradient,
)
from parhelion.filters.morphology import opening as opening
from parhelion.filters.morphology import tophat as tophat
from parhelion.filters.orders import percentile as percentile
from parhelion.filters.orders import rank as rank
from parhelion.filters.otsu import threshold_otsu as threshold_otsu
from parhelion.filters.patches import nlmeans as nlmeans
from parhelion.filters.pyramids import gaussian_pyramid as gaussian_pyramid
from parhelion.filters.pyramids import laplacian_pyramid as laplacian_pyramid
from parhelion.filters.pyramids import pyr_down as pyr_down
from parhelion.filters.pyramids import pyr_up as pyr_up
from parhelion.filters.ranks import median as median
from parhelion.filters.resizing import resize as resize
from parhelion.filters.smoothing import box as box
from parhelion.filters.smoothing import gaussian as gaussian
from parhelion.filters.smoothing import unsharp as unsharp
from parhelion.filters.thresholds import threshold as threshold
from parhelion.filters.turning import turn as turn
from parhelion.filters.warping import remap as remap
from parhelion.filters.warping import rotate as rotate
from parhelion.filters.warping import warp_affine as warp_affine
from parhelion.filters.warping import warp_perspective as warp_perspective
from parhelion.filters.windows import mean as mean
from parhelion.filters.windows import std as std
from parhelion.filters.windows import variance as variance

_tracebacks.shorten(globals())
