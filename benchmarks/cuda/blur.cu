// The 3 x 3 blur of the 2012 paper's Figure 1, of 16-bit pixels: each thread goes down
// eight pixels of one column, with the last three rows of sums in registers.
#include "common.h"

static const int ROWS = 8;

static __global__ void blur(uint16_t *out, const uint16_t *in, int width, int height) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = (blockIdx.y * blockDim.y + threadIdx.y) * ROWS;
  if (x >= width || y >= height) return;
  const int row = width + 2;
  const uint16_t *at = in + (long long)y * row + x;
  uint16_t sums[3];
#pragma unroll
  for (int k = 0; k < ROWS + 2; ++k) {
    if (y + k < height + 2)
      sums[k % 3] = (uint16_t)(at[0] + at[1] + at[2]) / 3;
    at += row;
    if (k >= 2 && y + k - 2 < height)
      out[(long long)(y + k - 2) * width + x] = (uint16_t)(sums[0] + sums[1] + sums[2]) / 3;
  }
}

// in: (height + 2) x (width + 2) pixels.
EXPORT int blur_3x3(uint16_t *out, const uint16_t *in, int width, int height) {
  const dim3 block(64, 4);
  const dim3 grid(divided(width, 64), divided(height, 4 * ROWS));
  blur<<<grid, block>>>(out, in, width, height);
  return cudaGetLastError();
}
