/* As much of CUDA as the benchmarks' own files use, on the processor: the blocks of a
   kernel run one after the other, the threads of each at once. Launches in angle brackets
   are written as calls of `cuda_launch` before (`tests.support.cuda_threads`). */
#pragma once
#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <math.h>
#include <mutex>
#include <thread>
#include <vector>

#define __global__
#define __device__
#define __host__
#define __shared__ static

using std::max;
using std::min;

struct dim3 {
  unsigned x, y, z;
  dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};
struct float4 {
  float x, y, z, w;
};
static thread_local dim3 threadIdx;
static dim3 blockIdx, blockDim, gridDim;

static std::mutex cuda_mutex;
static std::condition_variable cuda_changed;
static unsigned cuda_count, cuda_here, cuda_round;

static void cuda_look() {
  if (cuda_here && cuda_here == cuda_count) {
    cuda_here = 0;
    ++cuda_round;
    cuda_changed.notify_all();
  }
}

/* Of the threads that have not ended. */
static void __syncthreads() {
  std::unique_lock<std::mutex> lock(cuda_mutex);
  const unsigned mine = cuda_round;
  ++cuda_here;
  cuda_look();
  cuda_changed.wait(lock, [&] { return cuda_round != mine; });
}
/* Blocks that use it are one warp. */
static void __syncwarp() { __syncthreads(); }

static void atomicAdd(float *at, float value) {
  std::lock_guard<std::mutex> lock(cuda_mutex);
  *at += value;
}

template <class Kernel, class... Given>
static void cuda_launch(dim3 grid, dim3 block, Kernel kernel, Given... given) {
  gridDim = grid;
  blockDim = block;
  for (unsigned by = 0; by < grid.y; ++by)
    for (unsigned bx = 0; bx < grid.x; ++bx) {
      blockIdx = dim3(bx, by);
      cuda_count = block.x * block.y;
      std::vector<std::thread> threads;
      for (unsigned ty = 0; ty < block.y; ++ty)
        for (unsigned tx = 0; tx < block.x; ++tx)
          threads.emplace_back([=] {
            threadIdx = dim3(tx, ty);
            kernel(given...);
            std::lock_guard<std::mutex> lock(cuda_mutex);
            --cuda_count;
            cuda_look();
          });
      for (std::thread &t : threads) t.join();
    }
}

enum cudaError_t { cudaSuccess = 0, cudaErrorInvalidValue = 1 };
static cudaError_t cudaGetLastError() { return cudaSuccess; }
static cudaError_t cudaMemsetAsync(void *p, int value, size_t bytes, int) {
  memset(p, value, bytes);
  return cudaSuccess;
}
