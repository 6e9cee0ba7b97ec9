// Unsharp mask of three planes of floats: luminance and its blur along y of a block's
// tile are in shared memory, the rest is in registers.
#include "common.h"

static const int W = 32, H = 8, R = 3;

struct Taps {
  float k[R + 1];
};

static __global__ void unsharp(float *out, const float *in, int width, int height, Taps taps) {
  __shared__ float gray[H + 2 * R][W + 2 * R];
  __shared__ float down[H][W + 2 * R];
  const long long plane = (long long)width * height;
  const int left = blockIdx.x * W - R, top = blockIdx.y * H - R;
  const int thread = threadIdx.y * W + threadIdx.x;
  for (int i = thread; i < (H + 2 * R) * (W + 2 * R); i += W * H) {
    const int x = min(max(left + i % (W + 2 * R), 0), width - 1);
    const int y = min(max(top + i / (W + 2 * R), 0), height - 1);
    const float *at = in + (long long)y * width + x;
    gray[i / (W + 2 * R)][i % (W + 2 * R)] =
        0.299f * at[0] + 0.587f * at[plane] + 0.114f * at[2 * plane];
  }
  __syncthreads();
  for (int i = thread; i < H * (W + 2 * R); i += W * H) {
    const int x = i % (W + 2 * R), y = i / (W + 2 * R) + R;
    float sum = taps.k[0] * gray[y][x];
#pragma unroll
    for (int k = 1; k <= R; ++k) sum += taps.k[k] * (gray[y - k][x] + gray[y + k][x]);
    down[y - R][x] = sum;
  }
  __syncthreads();
  const int x = blockIdx.x * W + threadIdx.x, y = blockIdx.y * H + threadIdx.y;
  if (x >= width || y >= height) return;
  const float *line = down[threadIdx.y] + threadIdx.x + R;
  float blurred = taps.k[0] * line[0];
#pragma unroll
  for (int k = 1; k <= R; ++k) blurred += taps.k[k] * (line[-k] + line[k]);
  const float here = gray[threadIdx.y + R][threadIdx.x + R];
  const float ratio = (2 * here - blurred) / here;
  const long long at = (long long)y * width + x;
#pragma unroll
  for (int c = 0; c < 3; ++c) out[at + c * plane] = ratio * in[at + c * plane];
}

// taps: four floats of the host's.
EXPORT int unsharp_mask(float *out, const float *in, int width, int height, const float *taps) {
  Taps given;
  for (int k = 0; k <= R; ++k) given.k[k] = taps[k];
  const dim3 grid(divided(width, W), divided(height, H));
  unsharp<<<grid, dim3(W, H)>>>(out, in, width, height, given);
  return cudaGetLastError();
}
