// What a device can do at most: copying, multiplying and adding, launching.
#include "common.h"

static __global__ void copy(float4 *to, const float4 *from, long long count) {
  const long long step = (long long)gridDim.x * blockDim.x;
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step)
    to[i] = from[i];
}

// Copies a multiple of 16 bytes.
EXPORT int copy_bytes(void *to, const void *from, long long bytes) {
  const long long count = bytes / 16;
  const int blocks = min(divided(count, 256), 1 << 16);
  copy<<<blocks, 256>>>((float4 *)to, (const float4 *)from, count);
  return cudaGetLastError();
}

// Sixteen chains that do not wait for each other in each thread.
static __global__ void chains(float *out, int rounds, float a, float b) {
  float sums[16];
#pragma unroll
  for (int k = 0; k < 16; ++k) sums[k] = threadIdx.x + k;
  for (int r = 0; r < rounds; ++r) {
#pragma unroll
    for (int k = 0; k < 16; ++k) sums[k] = fmaf(sums[k], a, b);
  }
  float total = 0;
#pragma unroll
  for (int k = 0; k < 16; ++k) total += sums[k];
  out[(long long)blockIdx.x * blockDim.x + threadIdx.x] = total;
}

// blocks x 256 threads do 32 x rounds operations each; out has a float for each thread.
EXPORT int fma_peak(float *out, int blocks, int rounds) {
  chains<<<blocks, 256>>>(out, rounds, 0.999f, 0.001f);
  return cudaGetLastError();
}

static __global__ void nothing() {}

EXPORT int launch_nothing(int times) {
  for (int k = 0; k < times; ++k) nothing<<<1, 32>>>();
  return cudaGetLastError();
}
