// The bilateral grid's reduction (2012 paper, section 6.3): for each cell of 8 x 8 pixels
// and each depth, the sum of the pixels' values and their number.
#include "common.h"

static const int CELL = 8;

// A pixel of the image with its edges repeated, and its depth.
static __device__ float pixel(const float *in, int width, int height, int x, int y) {
  x = min(max(x, 0), width - 1);
  y = min(max(y, 0), height - 1);
  return fminf(fmaxf(in[(long long)y * width + x], 0.0f), 1.0f);
}

// A thread for each cell goes through its pixels.
static __global__ void by_cells(float *grid, const float *in, int width, int height, int cols,
                                int rows, int planes, float scale) {
  const int cx = blockIdx.x * blockDim.x + threadIdx.x;
  const int cy = blockIdx.y * blockDim.y + threadIdx.y;
  if (cx >= cols || cy >= rows) return;
  const long long plane = (long long)cols * rows, volume = plane * planes;
  float *cell = grid + (long long)cy * cols + cx;
  for (int z = 0; z < planes; ++z) cell[z * plane] = cell[z * plane + volume] = 0;
  for (int j = 0; j < CELL; ++j)
    for (int i = 0; i < CELL; ++i) {
      const float value =
          pixel(in, width, height, cx * CELL + i - CELL / 2, cy * CELL + j - CELL / 2);
      float *at = cell + (int)(value * scale + 0.5f) * plane;
      at[0] += value;
      at[volume] += 1;
    }
}

// A block for each cell, a thread for each of its pixels, which add up atomically.
static __global__ void by_atomics(float *grid, const float *in, int width, int height,
                                  int cols, int rows, int planes, float scale) {
  const long long plane = (long long)cols * rows, volume = plane * planes;
  const float value = pixel(in, width, height, blockIdx.x * CELL + threadIdx.x - CELL / 2,
                            blockIdx.y * CELL + threadIdx.y - CELL / 2);
  float *at = grid + (int)(value * scale + 0.5f) * plane + (long long)blockIdx.y * cols +
              blockIdx.x;
  atomicAdd(at, value);
  atomicAdd(at + volume, 1.0f);
}

// grid: 2 x planes x rows x cols floats. scale: planes in one unit of the values.
EXPORT int grid_by_cells(float *grid, const float *in, int width, int height, int cols,
                         int rows, int planes, float scale) {
  by_cells<<<dim3(divided(cols, 8), divided(rows, 8)), dim3(8, 8)>>>(
      grid, in, width, height, cols, rows, planes, scale);
  return cudaGetLastError();
}

EXPORT int grid_by_atomics(float *grid, const float *in, int width, int height, int cols,
                           int rows, int planes, float scale) {
  const size_t bytes = 2 * sizeof(float) * (size_t)cols * rows * planes;
  const cudaError_t cleared = cudaMemsetAsync(grid, 0, bytes, 0);
  if (cleared) return cleared;
  by_atomics<<<dim3(cols, rows), dim3(CELL, CELL)>>>(grid, in, width, height, cols, rows,
                                                     planes, scale);
  return cudaGetLastError();
}
