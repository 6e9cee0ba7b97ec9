"""Programs of Forma as CUDA C (section 3.2.2 of the paper)."""

from parhelion.forma.cuda.host import CudaText as CudaText
from parhelion.forma.cuda.host import emit_cuda as emit_cuda
