// Denoising of images and volumes with Rician noise as loops in C++: what Table 2 of the
// Forma paper compares with, where OpenCV has no such operation. The formulas are those of
// apps/forma/rician_2d.forma; an image is a volume one point deep.

#include <algorithm>
#include <cmath>
#include <vector>

namespace {

inline float squared(float v) { return v * v; }

// I1(s) / I0(s), by a rational function.
inline float bessel_ratio(float s) {
    return s * (2.38944f + s * (0.950037f + s)) /
           (4.65314f + s * (2.57541f + s * (1.48937f + s)));
}

// The neighbours of the rows of one line: itself, and the ones above, below, in front and
// behind, where the edges are mirrors.
struct Lines {
    const float *here, *up, *down, *front, *back;

    Lines(const float *volume, int y, int z, int width, int height, int depth) {
        auto line = [=](int j, int k) {
            j = std::min(std::max(j, 0), height - 1);
            k = std::min(std::max(k, 0), depth - 1);
            return volume + (static_cast<long>(k) * height + j) * width;
        };
        here = line(y, z);
        up = line(y - 1, z);
        down = line(y + 1, z);
        front = line(y, z - 1);
        back = line(y, z + 1);
    }
};

}  // namespace

// out and f have width x height x depth points. Images have four neighbours, not six.
extern "C" void rician(const float *f, float *out, int width, int height, int depth,
                       float sigma, float lambda, int steps) {
    const long count = static_cast<long>(width) * height * depth;
    const float variance = sigma * sigma, gamma = lambda / variance;
    const bool deep = depth > 1;
    std::vector<float> last(f, f + count), g(count);
    for (int step = 0; step < steps; step++) {
        for (int z = 0; z < depth; z++) {
            for (int y = 0; y < height; y++) {
                const Lines u(last.data(), y, z, width, height, depth);
                float *to = g.data() + (static_cast<long>(z) * height + y) * width;
                for (int x = 0; x < width; x++) {
                    const int left = std::max(x - 1, 0), right = std::min(x + 1, width - 1);
                    const float at = u.here[x];
                    float sum = 1e-20f + squared(at - u.here[right]) +
                                squared(at - u.here[left]) + squared(at - u.down[x]) +
                                squared(at - u.up[x]);
                    if (deep) sum += squared(at - u.back[x]) + squared(at - u.front[x]);
                    to[x] = 1 / std::sqrt(sum);
                }
            }
        }
        for (int z = 0; z < depth; z++) {
            for (int y = 0; y < height; y++) {
                const Lines u(last.data(), y, z, width, height, depth);
                const Lines w(g.data(), y, z, width, height, depth);
                const long row = (static_cast<long>(z) * height + y) * width;
                for (int x = 0; x < width; x++) {
                    const int left = std::max(x - 1, 0), right = std::min(x + 1, width - 1);
                    const float r = bessel_ratio(u.here[x] * f[row + x] / variance);
                    float pull = u.here[right] * w.here[right] + u.here[left] * w.here[left] +
                                 u.down[x] * w.down[x] + u.up[x] * w.up[x];
                    float weight = w.here[right] + w.here[left] + w.down[x] + w.up[x];
                    if (deep) {
                        pull += u.back[x] * w.back[x] + u.front[x] * w.front[x];
                        weight += w.back[x] + w.front[x];
                    }
                    out[row + x] = (u.here[x] + 5 * (pull + gamma * f[row + x] * r)) /
                                   (1 + 5 * (weight + gamma));
                }
            }
        }
        std::copy(out, out + count, last.begin());
    }
}
