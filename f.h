#ifndef PARHELION_F1484_H
#define PARHELION_F1484_H
// Made by Parhelion for x86-64-linux-avx-avx2-avx512-avx512_cannonlake-avx512_sapphirerapids-avx512_skylake-avxvnni-f16c-fma-sse41.
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifndef HALIDE_HALIDERUNTIME_H
#ifndef PARHELION_STRUCTS
#define PARHELION_STRUCTS
struct halide_type_t {
    uint8_t code;   // 0: signed, 1: unsigned, 2: float, 3: pointer, 4: bfloat
    uint8_t bits;
    uint16_t lanes; // 1
};
struct halide_dimension_t {
    int32_t min, extent, stride; // in pixels
    uint32_t flags;              // 0
};
struct halide_device_interface_t;
struct halide_buffer_t {
    uint64_t device;                                          // 0
    const struct halide_device_interface_t *device_interface; // NULL
    uint8_t *host; // the pixel at the mins; NULL asks for the region that is needed
    uint64_t flags;
    struct halide_type_t type;
    int32_t dimensions;
    struct halide_dimension_t *dim;
    void *padding;
};
#endif
struct halide_filter_metadata_t;
#ifdef __cplusplus
extern "C" {
#endif
// Errors, memory, printing and parallel loops may be replaced: by functions given to
// these, or by functions of one's own called halide_error, halide_malloc, halide_free,
// halide_print and halide_do_par_for. Memory must be aligned to 64 bytes.
typedef void (*halide_error_handler_t)(void *, const char *);
halide_error_handler_t halide_set_error_handler(halide_error_handler_t handler);
typedef void *(*halide_malloc_t)(void *, size_t);
typedef void (*halide_free_t)(void *, void *);
halide_malloc_t halide_set_custom_malloc(halide_malloc_t user_malloc);
halide_free_t halide_set_custom_free(halide_free_t user_free);
typedef void (*halide_print_t)(void *, const char *);
halide_print_t halide_set_custom_print(halide_print_t print);
typedef int (*halide_task_t)(void *user_context, int index, uint8_t *closure);
typedef int (*halide_do_par_for_t)(void *, halide_task_t, int, int, uint8_t *);
halide_do_par_for_t halide_set_custom_do_par_for(halide_do_par_for_t do_par_for);
int halide_set_num_threads(int n);
int halide_get_num_threads(void);
void halide_shutdown_thread_pool(void);
#ifdef __cplusplus
}
#endif
#endif

#ifdef __cplusplus
extern "C" {
#endif

// Returns 0, or the code of an error, of which halide_error was told.
//   _f1484_buffer: output of int32, 1 dimension
int f1484(struct halide_buffer_t *_f1484_buffer);

// The same, given an array of the addresses of its arguments (for buffers, the
// addresses of the structs themselves).
int f1484_argv(void **args);

// Its arguments: names, types and dimensions.
const struct halide_filter_metadata_t *f1484_metadata(void);

#ifdef __cplusplus
}
#endif
#endif
