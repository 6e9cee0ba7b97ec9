// CUB's histogram, and its scans in a summed-area table: a block for each line, then, of
// the transposed table, for each column.
#include "common.h"
#include <cub/cub.cuh>

// Counts of the 256 levels. room, bytes: memory to work in; bytes is set, and nothing
// done, if room is null.
EXPORT int cub_histogram(int *counts, const uint8_t *in, int pixels, void *room,
                         size_t *bytes) {
  return cub::DeviceHistogram::HistogramEven(room, *bytes, in, counts, 257, 0, 256, pixels);
}

EXPORT int cub_running_sums(int *out, const int *in, int count, void *room, size_t *bytes) {
  return cub::DeviceScan::InclusiveSum(room, *bytes, in, out, count);
}

static const int THREADS = 256, EACH = 4, TILE = 32;

template <class In> static __global__ void scan_lines(int *out, const In *in, int width) {
  using Scan = cub::BlockScan<int, THREADS>;
  __shared__ typename Scan::TempStorage room;
  in += (long long)blockIdx.x * width;
  out += (long long)blockIdx.x * width;
  int before = 0;
  for (int left = 0; left < width; left += THREADS * EACH) {
    int items[EACH], total;
#pragma unroll
    for (int k = 0; k < EACH; ++k) {
      const int x = left + threadIdx.x * EACH + k;
      items[k] = x < width ? (int)in[x] : 0;
    }
    Scan(room).InclusiveSum(items, items, total);
#pragma unroll
    for (int k = 0; k < EACH; ++k) {
      const int x = left + threadIdx.x * EACH + k;
      if (x < width) out[x] = before + items[k];
    }
    before += total;
    __syncthreads();
  }
}

static __global__ void transpose(int *out, const int *in, int width, int height) {
  __shared__ int tile[TILE][TILE + 1];
  const int x = blockIdx.x * TILE, y = blockIdx.y * TILE;
  for (int r = threadIdx.y; r < TILE; r += blockDim.y)
    if (x + threadIdx.x < width && y + r < height)
      tile[r][threadIdx.x] = in[(long long)(y + r) * width + x + threadIdx.x];
  __syncthreads();
  for (int r = threadIdx.y; r < TILE; r += blockDim.y)
    if (y + threadIdx.x < height && x + r < width)
      out[(long long)(x + r) * height + y + threadIdx.x] = tile[threadIdx.x][r];
}

// other: as large as out.
EXPORT int cub_summed_area(int *out, const uint8_t *in, int *other, int width, int height) {
  const dim3 block(TILE, 8), wide(divided(width, TILE), divided(height, TILE)),
      tall(divided(height, TILE), divided(width, TILE));
  scan_lines<<<height, THREADS>>>(out, in, width);
  transpose<<<wide, block>>>(other, out, width, height);
  scan_lines<<<width, THREADS>>>(other, (const int *)other, height);
  transpose<<<tall, block>>>(out, other, height, width);
  return cudaGetLastError();
}
