// Runs the compiled local Laplacian filter on raw pixels, uint16 in planes of colours:
// local_laplacian WIDTH HEIGHT INPUT OUTPUT LEVELS ALPHA BETA
#ifdef WITH_HALIDE_HEADERS
#include "HalideBuffer.h"
#include "HalideRuntime.h"
#endif
#include "local_laplacian.h"

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

static std::vector<uint16_t> read(const char *name, size_t count) {
    std::vector<uint16_t> pixels(count);
    std::FILE *file = std::fopen(name, "rb");
    if (!file || std::fread(pixels.data(), 2, count, file) != count) std::exit(4);
    std::fclose(file);
    return pixels;
}

static void write(const char *name, const uint16_t *pixels, size_t count) {
    std::FILE *file = std::fopen(name, "wb");
    if (!file || std::fwrite(pixels, 2, count, file) != count) std::exit(5);
    std::fclose(file);
}

int main(int argc, char **argv) {
    if (argc != 8) return 2;
    const int width = std::atoi(argv[1]), height = std::atoi(argv[2]);
    const int levels = std::atoi(argv[5]);
    const float alpha = std::stof(argv[6]), beta = std::stof(argv[7]);
    const size_t count = size_t(width) * height * 3;
    std::vector<uint16_t> pixels = read(argv[3], count), result(count);

#ifdef WITH_HALIDE_HEADERS
    Halide::Runtime::Buffer<uint16_t> in(pixels.data(), width, height, 3);
    Halide::Runtime::Buffer<uint16_t> out(result.data(), width, height, 3);
    int code = local_laplacian(in, levels, alpha, beta, out);
    const halide_filter_metadata_t *told = local_laplacian_metadata();
    std::printf("%s for %s\n", told->name, told->target);
    for (int i = 0; i < told->num_arguments; i++) {
        const halide_filter_argument_t &a = told->arguments[i];
        std::printf("%s %d %d %d %d", a.name, a.kind, a.dimensions, a.type.code,
                    a.type.bits);
        if (a.scalar_def && a.type.code == halide_type_float)
            std::printf(" = %g", a.scalar_def->u.f32);
        if (a.scalar_def && a.type.code == halide_type_int)
            std::printf(" = %d", a.scalar_def->u.i32);
        std::printf("\n");
    }
#else
    halide_dimension_t dim[3] = {
        {0, width, 1, 0}, {0, height, width, 0}, {0, 3, width * height, 0}};
    halide_buffer_t in = {}, out = {};
    in.type = out.type = {1, 16, 1};
    in.dimensions = out.dimensions = 3;
    in.dim = out.dim = dim;
    in.host = reinterpret_cast<uint8_t *>(pixels.data());
    out.host = reinterpret_cast<uint8_t *>(result.data());
    int code = local_laplacian(&in, levels, alpha, beta, &out);
#endif
    write(argv[4], result.data(), count);
    return code;
}
