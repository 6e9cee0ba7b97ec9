// Recursive filters with one thread for each line (2015 paper, section 8: scanline
// parallel): along x lines go through shared memory in tiles, so that loads are dense.
#include "common.h"

static const int TILE = 32;

// b times the input minus a times up to three values before: y = b x - a0 y' - a1 y'' ...
template <class T> struct Filter {
  T b, a[3];
};

template <class T, int ORDER> struct State {
  T before[ORDER];
  __device__ State() {
#pragma unroll
    for (int k = 0; k < ORDER; ++k) before[k] = 0;
  }
  __device__ T next(T value, const Filter<T> &f) {
    T sum = f.b * value;
#pragma unroll
    for (int k = 0; k < ORDER; ++k) sum -= f.a[k] * before[k];
#pragma unroll
    for (int k = ORDER - 1; k > 0; --k) before[k] = before[k - 1];
    before[0] = sum;
    return sum;
  }
};

template <class T, int ORDER>
static __global__ void down(T *data, int width, int height, Filter<T> f, bool backwards) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  if (x >= width) return;
  State<T, ORDER> state;
  const long long step = backwards ? -width : width;
  T *at = data + x + (backwards ? (long long)(height - 1) * width : 0);
  for (int y = 0; y < height; ++y, at += step) *at = state.next(*at, f);
}

template <class T, int ORDER>
static __global__ void across(T *data, int width, int height, Filter<T> f, bool backwards) {
  __shared__ T tile[TILE][TILE + 1];
  const int top = blockIdx.x * TILE, lane = threadIdx.x;
  const int count = divided(width, TILE);
  State<T, ORDER> state;
  for (int t = 0; t < count; ++t) {
    const int left = (backwards ? count - 1 - t : t) * TILE, x = left + lane;
    for (int r = 0; r < TILE && top + r < height; ++r)
      if (x < width) tile[r][lane] = data[(long long)(top + r) * width + x];
    __syncwarp();
    const int n = min(TILE, width - left);
    for (int i = 0; i < n; ++i) {
      T &value = tile[lane][backwards ? n - 1 - i : i];
      value = state.next(value, f);
    }
    __syncwarp();
    for (int r = 0; r < TILE && top + r < height; ++r)
      if (x < width) data[(long long)(top + r) * width + x] = tile[r][lane];
    __syncwarp();
  }
}

template <class T, int ORDER>
static int filtered(T *data, int width, int height, Filter<T> f, int passes) {
  for (int p = 0; p < 4; ++p) {
    if (!(passes >> p & 1)) continue;
    if (p < 2)
      across<T, ORDER><<<divided(height, TILE), TILE>>>(data, width, height, f, p == 1);
    else
      down<T, ORDER><<<divided(width, 128), 128>>>(data, width, height, f, p == 3);
  }
  return cudaGetLastError();
}

// In place. given: b and a of the host's, 1 + order numbers. passes: bits, 1 from the
// left, 2 from the right, 4 downwards, 8 upwards.
EXPORT int filter_float(float *data, int width, int height, const float *given, int order,
                        int passes) {
  Filter<float> f = {given[0], {0, 0, 0}};
  for (int k = 0; k < order; ++k) f.a[k] = given[1 + k];
  if (order == 1) return filtered<float, 1>(data, width, height, f, passes);
  if (order == 2) return filtered<float, 2>(data, width, height, f, passes);
  if (order == 3) return filtered<float, 3>(data, width, height, f, passes);
  return cudaErrorInvalidValue;
}

// The same of integers of 32 bits, of order 1, with b 1 and a -1: a summed-area table.
EXPORT int summed_area(int *data, int width, int height) {
  const Filter<int> f = {1, {-1, 0, 0}};
  return filtered<int, 1>(data, width, height, f, 1 | 4);
}

static __global__ void widen(int *out, const uint8_t *in, long long count) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] = in[i];
}

// Bytes as integers of 32 bits.
EXPORT int widened(int *out, const uint8_t *in, long long count) {
  widen<<<divided(count, 256), 256>>>(out, in, count);
  return cudaGetLastError();
}
