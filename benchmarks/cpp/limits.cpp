// What the machine can do at most: copying memory, past the caches and through them, and
// fused multiply-adds on registers.

#include <immintrin.h>

#include <cstring>

#if defined(__AVX512F__)
using Floats = __m512;
constexpr int kLanes = 16;
inline Floats fill(float v) { return _mm512_set1_ps(v); }
inline Floats fma(Floats a, Floats b, Floats c) { return _mm512_fmadd_ps(a, b, c); }
inline float first(Floats a) { return _mm512_cvtss_f32(a); }
#else
using Floats = __m256;
constexpr int kLanes = 8;
inline Floats fill(float v) { return _mm256_set1_ps(v); }
inline Floats fma(Floats a, Floats b, Floats c) { return _mm256_fmadd_ps(a, b, c); }
inline float first(Floats a) { return _mm256_cvtss_f32(a); }
#endif

// Copies `bytes` (a multiple of 64) from `in` to `out`, which is aligned to 64 bytes,
// with stores that go past the caches.
extern "C" void copy_past(const char *in, char *out, long bytes) {
#pragma omp parallel for schedule(static)
    for (long at = 0; at < bytes; at += 64) {
        const __m256i *p = reinterpret_cast<const __m256i *>(in + at);
        __m256i *q = reinterpret_cast<__m256i *>(out + at);
        _mm256_stream_si256(q, _mm256_loadu_si256(p));
        _mm256_stream_si256(q + 1, _mm256_loadu_si256(p + 1));
    }
    _mm_sfence();
}

// The same with plain stores.
extern "C" void copy_through(const char *in, char *out, long bytes) {
#pragma omp parallel for schedule(static)
    for (long at = 0; at < bytes; at += 64) {
        const __m256i *p = reinterpret_cast<const __m256i *>(in + at);
        __m256i *q = reinterpret_cast<__m256i *>(out + at);
        _mm256_store_si256(q, _mm256_loadu_si256(p));
        _mm256_store_si256(q + 1, _mm256_loadu_si256(p + 1));
    }
}

// `rounds` times 16 independent multiply-adds of vectors on each of `threads` threads;
// the floating-point operations that were.
extern "C" double multiply_add(long rounds, int threads, float *sink) {
    constexpr int kChains = 16;
#pragma omp parallel num_threads(threads)
    {
        Floats sums[kChains];
        const Floats a = fill(0.5f), b = fill(1.0f);
        for (int i = 0; i < kChains; i++) sums[i] = fill(static_cast<float>(i));
        for (long r = 0; r < rounds; r++) {
#pragma GCC unroll 16
            for (int i = 0; i < kChains; i++) sums[i] = fma(sums[i], a, b);
        }
        float total = 0;
        for (int i = 0; i < kChains; i++) total += first(sums[i]);
#pragma omp critical
        *sink += total;
    }
    return 2.0 * kLanes * kChains * static_cast<double>(rounds) * threads;
}
