// What all files of this folder have: every function takes pointers to memory of the
// device, launches on the default stream, waits for nothing, and returns a cudaError_t.
#pragma once
#include <cstdint>
#include <cuda_runtime.h>

#define EXPORT extern "C" __attribute__((visibility("default")))

static inline __host__ __device__ int divided(long long n, long long by) { return (int)((n + by - 1) / by); }
