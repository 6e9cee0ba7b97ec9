// Runs the compiled blur on raw pixels: blur WIDTH HEIGHT INPUT OUTPUT, uint16 in
// planes of colours. What it prints, the test reads.
#ifdef WITH_HALIDE_HEADERS
#include "HalideRuntime.h"
#endif
#include "blur.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int told;

static void remember(void *user, const char *message) {
    (void)user;
    told++;
    printf("told: %s\n", message);
}

static long allocated;

static void *aligned(void *user, size_t size) {
    (void)user;
    void *p = NULL;
    allocated++;
    return posix_memalign(&p, 64, size) ? NULL : p;
}

static void release(void *user, void *p) {
    (void)user;
    allocated -= p != NULL;
    free(p);
}

static int loops;

static int one_by_one(void *user, halide_task_t task, int min, int size, uint8_t *closure) {
    loops++;
    for (int i = min; i < min + size; i++) {
        int code = task(user, i, closure);
        if (code) return code;
    }
    return 0;
}

static struct halide_buffer_t image(uint16_t *pixels, struct halide_dimension_t *dim) {
    struct halide_buffer_t b;
    memset(&b, 0, sizeof b);
    b.host = (uint8_t *)pixels;
    b.type.code = 1;
    b.type.bits = 16;
    b.type.lanes = 1;
    b.dimensions = 2;
    b.dim = dim;
    return b;
}

static void shape(struct halide_dimension_t *dim, int width, int height) {
    memset(dim, 0, 2 * sizeof *dim);
    dim[0].extent = width;
    dim[0].stride = 1;
    dim[1].extent = height;
    dim[1].stride = width;
}

int main(int argc, char **argv) {
    if (argc != 5) return 2;
    int width = atoi(argv[1]), height = atoi(argv[2]);

    // How large must the input be?
    struct halide_dimension_t from[2], to[2];
    memset(from, 0, sizeof from);
    shape(to, width, height);
    struct halide_buffer_t in = image(NULL, from), out = image(NULL, to);
    uint16_t *result = malloc((size_t)width * height * 2);
    out.host = (uint8_t *)result;
    if (blur(&in, &out)) return 3;
    for (int d = 0; d < 2; d++) printf("needs %d + %d\n", from[d].min, from[d].extent);

    size_t count = (size_t)from[0].extent * from[1].extent;
    uint16_t *pixels = malloc(count * 2);
    FILE *file = fopen(argv[3], "rb");
    if (!file || fread(pixels, 2, count, file) != count) return 4;
    fclose(file);
    in.host = (uint8_t *)pixels;
    if (blur(&in, &out)) return 5;

    // The same through the array of addresses, with parts of the run time replaced.
    uint16_t *again = calloc((size_t)width * height, 2);
    out.host = (uint8_t *)again;
    halide_set_error_handler(remember);
    halide_set_custom_malloc(aligned);
    halide_set_custom_free(release);
    halide_set_custom_do_par_for(one_by_one);
    void *args[2];
    args[0] = &in;
    args[1] = &out;
    if (blur_argv(args)) return 6;
    printf("same %d\n", !memcmp(result, again, (size_t)width * height * 2));
    printf("loops %d, left %ld\n", loops, allocated);

    // Errors.
    from[0].extent--;
    printf("small %d\n", blur(&in, &out));
    from[0].extent++;
    in.type.bits = 8;
    printf("type %d\n", blur(&in, &out));
    in.type.bits = 16;
    in.dimensions = 3;
    printf("dimensions %d\n", blur(&in, &out));
    in.dimensions = 2;
    printf("null %d\n", blur(NULL, &out));
    printf("told %d\n", told);
    halide_shutdown_thread_pool();

    file = fopen(argv[4], "wb");
    if (!file || fwrite(result, 2, (size_t)width * height, file) != (size_t)width * height)
        return 7;
    return fclose(file) ? 8 : 0;
}
