/* As much of CUDA as generated files use, on the processor: threads run one after the
   other. Compiled as C++ in the place of CUDA's own header. */
#ifndef CUDA_ON_CPU_H
#define CUDA_ON_CPU_H

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline

struct dim3 {
  unsigned x, y, z;
  dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};
static dim3 threadIdx, blockIdx, blockDim, gridDim;

/* How many kernels ran, by whether they ask. */
extern "C" {
int forma_launches = 0;
long long forma_threads = 0;
}

template <class Kernel, class... Arguments>
static void cuda_launch(Kernel kernel, dim3 grid, dim3 block, const Arguments &...given) {
  ++forma_launches;
  gridDim = grid;
  blockDim = block;
  for (blockIdx.z = 0; blockIdx.z < grid.z; ++blockIdx.z)
    for (blockIdx.y = 0; blockIdx.y < grid.y; ++blockIdx.y)
      for (blockIdx.x = 0; blockIdx.x < grid.x; ++blockIdx.x)
        for (threadIdx.y = 0; threadIdx.y < block.y; ++threadIdx.y)
          for (threadIdx.x = 0; threadIdx.x < block.x; ++threadIdx.x) {
            ++forma_threads;
            kernel(given...);
          }
}
#define FORMA_LAUNCH(kernel, grid, block, ...) \
  cuda_launch(kernel, grid, block, __VA_ARGS__)

enum cudaError_t { cudaSuccess = 0, cudaErrorMemoryAllocation = 2, cudaErrorInvalidValue = 1 };
enum cudaMemcpyKind { cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToHost = 2 };

static cudaError_t cudaMallocAsync(void **p, size_t bytes, int) {
  *p = malloc(bytes);
  if (*p) memset(*p, 0xA5, bytes); /* nothing may rely on zeros */
  return *p ? cudaSuccess : cudaErrorMemoryAllocation;
}
static cudaError_t cudaFreeAsync(void *p, int) {
  free(p);
  return cudaSuccess;
}
static cudaError_t cudaMemsetAsync(void *p, int value, size_t bytes, int) {
  memset(p, value, bytes);
  return cudaSuccess;
}
static cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from,
                                     size_t from_pitch, size_t width, size_t height,
                                     cudaMemcpyKind, int) {
  if (width > to_pitch || width > from_pitch) return cudaErrorInvalidValue;
  for (size_t y = 0; y < height; ++y)
    memcpy((char *)to + y * to_pitch, (const char *)from + y * from_pitch, width);
  return cudaSuccess;
}
static cudaError_t cudaStreamSynchronize(int) { return cudaSuccess; }
static cudaError_t cudaGetLastError() { return cudaSuccess; }

/* Textures */
enum cudaTextureAddressMode {
  cudaAddressModeWrap,
  cudaAddressModeClamp,
  cudaAddressModeMirror,
  cudaAddressModeBorder
};
enum cudaResourceType { cudaResourceTypePitch2D = 3 };
enum cudaTextureFilterMode { cudaFilterModePoint };
enum cudaTextureReadMode { cudaReadModeElementType };
struct cudaChannelFormatDesc {
  size_t bytes;
};
template <class T> static cudaChannelFormatDesc cudaCreateChannelDesc() {
  return cudaChannelFormatDesc{sizeof(T)};
}
struct cudaResourceDesc {
  cudaResourceType resType;
  struct {
    struct {
      void *devPtr;
      cudaChannelFormatDesc desc;
      size_t width, height, pitchInBytes;
    } pitch2D;
  } res;
};
struct cudaTextureDesc {
  cudaTextureAddressMode addressMode[3];
  cudaTextureFilterMode filterMode;
  cudaTextureReadMode readMode;
  float borderColor[4];
  int normalizedCoords;
};
typedef unsigned long long cudaTextureObject_t;

struct cuda_texture {
  cudaResourceDesc resource;
  cudaTextureDesc how;
};
static cudaError_t cudaCreateTextureObject(cudaTextureObject_t *made,
                                           const cudaResourceDesc *resource,
                                           const cudaTextureDesc *how, void *) {
  const size_t pitch = resource->res.pitch2D.pitchInBytes;
  const bool repeats = how->addressMode[0] == cudaAddressModeWrap ||
                       how->addressMode[0] == cudaAddressModeMirror;
  if (pitch % 512 || (repeats && !how->normalizedCoords)) return cudaErrorInvalidValue;
  *made = (cudaTextureObject_t)(uintptr_t) new cuda_texture{*resource, *how};
  return cudaSuccess;
}
static cudaError_t cudaDestroyTextureObject(cudaTextureObject_t texture) {
  delete (cuda_texture *)(uintptr_t)texture;
  return cudaSuccess;
}

/* The point that is read along one dimension, -1 for the border. */
static long long cuda_place(float at, long long n, const cudaTextureDesc &how) {
  if (how.normalizedCoords) {
    const float whole = floorf(at);
    float part = at - whole;
    if (how.addressMode[0] == cudaAddressModeMirror && (long long)whole % 2)
      part = 1.0f - part;
    long long i = (long long)floorf(part * (float)n);
    return i < n ? i : n - 1;
  }
  const long long i = (long long)floorf(at);
  if (i >= 0 && i < n) return i;
  if (how.addressMode[0] == cudaAddressModeBorder) return -1;
  return i < 0 ? 0 : n - 1;
}
template <class T> static T tex2D(cudaTextureObject_t texture, float x, float y) {
  const cuda_texture &t = *(const cuda_texture *)(uintptr_t)texture;
  const auto &data = t.resource.res.pitch2D;
  const long long i = cuda_place(x, (long long)data.width, t.how);
  const long long j = cuda_place(y, (long long)data.height, t.how);
  if (i < 0 || j < 0) return (T)t.how.borderColor[0];
  return ((const T *)((const char *)data.devPtr + j * data.pitchInBytes))[i];
}

#endif
