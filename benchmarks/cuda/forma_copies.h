// Read before a program of Forma's in CUDA: its copies between host and device are left
// out while forma_bench_copies is 0, so that its kernels are timed, and allocations.
#pragma once
#include <cuda_runtime.h>

extern "C" {
__attribute__((visibility("default"))) int forma_bench_copies = 1;
}

static inline cudaError_t forma_bench_copy(void *to, size_t to_pitch, const void *from,
                                           size_t from_pitch, size_t width, size_t height,
                                           cudaMemcpyKind kind, cudaStream_t stream) {
  if (!forma_bench_copies) return cudaSuccess;
  return cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, width, height, kind, stream);
}

#define cudaMemcpy2DAsync forma_bench_copy
