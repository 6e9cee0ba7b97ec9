"""What every generated CUDA file begins with: functions that its text calls."""

from __future__ import annotations

SUPPORT = r"""
#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifndef FORMA_LAUNCH
#define FORMA_LAUNCH(kernel, grid, block, ...) kernel<<<grid, block>>>(__VA_ARGS__)
#endif
#define FORMA_BOTH __host__ __device__ __forceinline__

/* Integers as C has them; a division by zero gives zero. */
FORMA_BOTH int forma_quotient(int a, int b) {
  return b == 0 ? 0 : b == -1 ? (int)(0u - (unsigned)a) : a / b;
}
FORMA_BOTH int forma_remainder(int a, int b) {
  return b == 0 || b == -1 ? 0 : a % b;
}
template <class T> FORMA_BOTH T forma_min(T a, T b) { return b < a ? b : a; }
template <class T> FORMA_BOTH T forma_max(T a, T b) { return a < b ? b : a; }

FORMA_BOTH int forma_modulo(int a, int b) { return (a % b + b) % b; }

/* What is read in place of a point outside of n points. */
FORMA_BOTH int forma_clamped(int i, int n) { return i < 0 ? 0 : i < n ? i : n - 1; }
FORMA_BOTH int forma_wrapped(int i, int n) { return forma_modulo(i, n); }
FORMA_BOTH int forma_mirrored(int i, int n) {
  const int k = forma_modulo(i, 2 * n);
  return k < n ? k : 2 * n - 1 - k;
}
FORMA_BOTH bool forma_inside(int i, int n) { return i >= 0 && i < n; }

/* Points of D dimensions, from `first` on. */
template <int D> struct forma_box {
  int first[D], count[D];
  bool empty() const {
    for (int d = 0; d < D; ++d)
      if (count[d] <= 0) return true;
    return false;
  }
};

template <int D> static dim3 forma_grid(const forma_box<D> &box, dim3 block) {
  long long x = box.count[0], y = D > 1 ? box.count[1] : 1, z = 1;
  for (int d = 2; d < D; ++d) z *= box.count[d];
  const long long most = 65535;
  x = (x + block.x - 1) / block.x;
  y = (y + block.y - 1) / block.y;
  return dim3((unsigned)x, (unsigned)(y < most ? y : most),
              (unsigned)(z < most ? z : most));
}

/* What is left of a box around `inner`, as up to 2 D boxes; how many they are. */
template <int D>
static int forma_slabs(forma_box<D> whole, forma_box<D> inner, forma_box<D> *slabs) {
  if (inner.empty()) {
    slabs[0] = whole;
    return 1;
  }
  int n = 0;
  for (int d = D - 1; d >= 0; --d) {
    const int begin = whole.first[d], end = begin + whole.count[d];
    const int from = inner.first[d], to = from + inner.count[d];
    forma_box<D> slab = whole;
    slab.count[d] = from - begin;
    if (!slab.empty()) slabs[n++] = slab;
    slab.first[d] = to;
    slab.count[d] = end - to;
    if (!slab.empty()) slabs[n++] = slab;
    whole.first[d] = from;
    whole.count[d] = inner.count[d];
  }
  return n;
}

/* The points that are in `whole`, as its box. */
template <int D> static forma_box<D> forma_cut(const int *first, const int *stop,
                                               const int *sizes) {
  forma_box<D> box;
  for (int d = 0; d < D; ++d) {
    const int from = first[d] < 0 ? 0 : first[d];
    const int to = stop[d] < sizes[d] ? stop[d] : sizes[d];
    box.first[d] = from;
    box.count[d] = to - from;
  }
  return box;
}

#define FORMA_TRY(call)                  \
  do {                                   \
    forma_status = (int)(call);          \
    if (forma_status != 0) goto forma_end; \
  } while (0)
"""

#: What files with textures have besides.
TEXTURES = r"""
/* A texture of rows that lie `pitch` bytes apart. */
template <class T>
static cudaError_t forma_texture(cudaTextureObject_t *made, const T *data, int width,
                                 int height, size_t pitch, cudaTextureAddressMode mode,
                                 float border) {
  cudaResourceDesc resource;
  cudaTextureDesc how;
  memset(&resource, 0, sizeof resource);
  memset(&how, 0, sizeof how);
  resource.resType = cudaResourceTypePitch2D;
  resource.res.pitch2D.devPtr = const_cast<T *>(data);
  resource.res.pitch2D.desc = cudaCreateChannelDesc<T>();
  resource.res.pitch2D.width = (size_t)width;
  resource.res.pitch2D.height = (size_t)height;
  resource.res.pitch2D.pitchInBytes = pitch;
  how.addressMode[0] = how.addressMode[1] = mode;
  how.filterMode = cudaFilterModePoint;
  how.readMode = cudaReadModeElementType;
  how.borderColor[0] = border;
  /* The hardware wraps and mirrors coordinates from 0 to 1 only. */
  how.normalizedCoords = mode == cudaAddressModeWrap || mode == cudaAddressModeMirror;
  return cudaCreateTextureObject(made, &resource, &how, NULL);
}
"""

__all__ = ["SUPPORT", "TEXTURES"]
