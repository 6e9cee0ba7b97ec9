"""The run time of C text: functions that a file defines if it calls them."""

from __future__ import annotations

from collections.abc import Mapping

from parhelion.codegen.c.blocks import BLOCKS
from parhelion.codegen.structs import DEVICE_DIRTY

#: What callers may have wrong with their buffers, by the code of Halide's header.
CODES = {
    "type": -3,
    "promised less": -7,
    "no struct": -12,
    "no pixels": -34,
    "dimensions": -43,
    "negative": -28,
    "device dirty": -44,
}

#: Their definitions, by name.
SYMBOLS: Mapping[str, str] = {
    **BLOCKS,
    "asks": """\
// Whether a buffer asks for the region that is needed of it.
static inline bool asks(const struct halide_buffer_t *b) {
  return !b->host && !b->device;
}""",
    "tell": """\
// Tells a buffer what is needed of it in a dimension.
static inline void tell(struct halide_buffer_t *b, int d, int32_t min, int32_t extent,
                        int32_t stride) {
  struct halide_dimension_t *dim = &b->dim[d];
  dim->min = min;
  dim->extent = extent;
  dim->stride = stride;
  dim->flags = 0;
}""",
    "beyond": """\
// The stride of what is dense over a dimension, if that is more than `least`.
static inline int32_t beyond(const struct halide_buffer_t *b, int d, int32_t least) {
  int32_t stride = b->dim[d].stride, size = b->dim[d].extent;
  size *= stride < 0 ? -stride : stride;
  return size > least ? size : least;
}""",
    "check_buffer": f"""\
static inline int check_buffer(const struct halide_buffer_t *b, int code, int bits,
                               int dimensions, bool read) {{
  bool asking = asks(b), kind = b->type.code == code && b->type.bits == bits;
  if (!asking && (!kind || b->type.lanes != 1)) return {CODES["type"]};
  if (!asking && b->dimensions != dimensions) return {CODES["dimensions"]};
  if (dimensions && !b->dim) return {CODES["dimensions"]};
  for (int d = 0; d < dimensions && !asking; d++)
    if (b->dim[d].extent < 0) return {CODES["negative"]};
  // The pixels are on a device.
  if (read && !asking && (b->flags & {DEVICE_DIRTY})) return {CODES["device dirty"]};
  return 0;
}}""",
    "fail": """\
// A failure in a parallel loop.
static inline void fail(int *failed, int code) {
  (void)code;  // gcc 12 does not count what follows as a use
#pragma omp atomic write
  *failed = code;
}""",
    "has_failed": """\
static inline bool has_failed(const int *failed) {
  int code;
#pragma omp atomic read
  code = *failed;
  return code != 0;
}""",
}

__all__ = ["CODES", "SYMBOLS"]
