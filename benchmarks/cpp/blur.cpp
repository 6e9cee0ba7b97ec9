// Two 3x3 blurs of 16-bit images in C++, as Figure 1 of the 2012 paper has them: one as
// one would first write it, and one with tiles, threads and vector intrinsics.
//
// The output is width x height, the input two pixels larger in both directions; strides
// are in pixels. The window of an output pixel begins at the same pixel of the input.

#include <immintrin.h>

#include <cstdint>
#include <vector>

namespace {

// floor(v / 3) of 16-bit lanes: the high half of v * 43691, shifted by one.
inline __m256i third(__m256i v) {
    const __m256i factor = _mm256_set1_epi16(static_cast<short>(43691));
    return _mm256_srli_epi16(_mm256_mulhi_epu16(v, factor), 1);
}

inline __m256i load(const uint16_t *p) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i *>(p));
}

inline __m256i sum(__m256i a, __m256i b, __m256i c) {
    return _mm256_add_epi16(_mm256_add_epi16(a, b), c);
}

constexpr int kTileWidth = 256;
constexpr int kTileHeight = 32;
constexpr int kLanes = 16;

}  // namespace

// Pass by pass: rows into an image of their own, then columns.
extern "C" void blur_clean(const uint16_t *in, long in_stride, uint16_t *out,
                           long out_stride, int width, int height) {
    std::vector<uint16_t> rows(static_cast<size_t>(width) * (height + 2));
    for (int y = 0; y < height + 2; y++) {
        for (int x = 0; x < width; x++) {
            const uint16_t *p = in + y * in_stride + x;
            rows[static_cast<size_t>(y) * width + x] =
                static_cast<uint16_t>(static_cast<uint16_t>(p[0] + p[1] + p[2]) / 3);
        }
    }
    for (int y = 0; y < height; y++) {
        for (int x = 0; x < width; x++) {
            const uint16_t *p = rows.data() + static_cast<size_t>(y) * width + x;
            out[y * out_stride + x] = static_cast<uint16_t>(
                static_cast<uint16_t>(p[0] + p[width] + p[2 * width]) / 3);
        }
    }
}

// Tiles over the threads; in each, the rows that it needs on the stack. The width must be
// a multiple of 16 pixels: what is left of a tile at the right and lower edges is
// smaller.
extern "C" void blur_fast(const uint16_t *in, long in_stride, uint16_t *out,
                          long out_stride, int width, int height) {
#pragma omp parallel for schedule(dynamic)
    for (int y0 = 0; y0 < height; y0 += kTileHeight) {
        alignas(64) uint16_t rows[kTileHeight + 2][kTileWidth];
        const int tile_height = height - y0 < kTileHeight ? height - y0 : kTileHeight;
        for (int x0 = 0; x0 < width; x0 += kTileWidth) {
            const int tile_width = width - x0 < kTileWidth ? width - x0 : kTileWidth;
            for (int y = 0; y < tile_height + 2; y++) {
                const uint16_t *p = in + (y0 + y) * in_stride + x0;
                for (int x = 0; x < tile_width; x += kLanes, p += kLanes) {
                    const __m256i mean = third(sum(load(p), load(p + 1), load(p + 2)));
                    _mm256_store_si256(reinterpret_cast<__m256i *>(&rows[y][x]), mean);
                }
            }
            for (int y = 0; y < tile_height; y++) {
                uint16_t *q = out + (y0 + y) * out_stride + x0;
                for (int x = 0; x < tile_width; x += kLanes, q += kLanes) {
                    const __m256i mean = third(sum(load(&rows[y][x]),
                                                   load(&rows[y + 1][x]),
                                                   load(&rows[y + 2][x])));
                    _mm256_storeu_si256(reinterpret_cast<__m256i *>(q), mean);
                }
            }
        }
    }
}
