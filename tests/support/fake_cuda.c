// A driver for GPUs that are not there, for tests: its devices are memory of malloc's
// and kernels that it knows by name. It checks what it is given as the real one does,
// writes down what is called, and fails on demand.
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef LACKS
#define LACKS 0
#endif

typedef int CUresult;
typedef struct block { struct block *next; char *low; size_t bytes; int device; } block;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char told[1 << 20];
static size_t length;
static char failing[64];
static int failure, failures;
static block *blocks;
static size_t in_use, memory = (size_t)1 << 32;
static int device_count = 2, initialised;
// The devices whose contexts are current, the last one on top.
static __thread int depth, current[64];
static int contexts[8]; // the address of one is its handle
#define HERE current[depth - 1]

void fake_reset(void) { length = 0; told[0] = 0; }
const char *fake_told(void) { return told; }
void fake_fail(const char *name, int code, int times) {
    snprintf(failing, sizeof failing, "%s", name);
    failure = code;
    failures = times;
}
void fake_memory(size_t bytes) { memory = bytes; }
void fake_devices(int count) { device_count = count; }
size_t fake_in_use(void) { return in_use; }
int fake_depth(void) { return depth; }
// A function of a module: its name first, by which it is printed.
typedef struct { char name[256]; const char *module; int device; } kernel;
// The device of a module stands before its text.
#define DEVICE_OF(module) ((const int *)(module))[-1]
// Runs kernels in the driver's place: sizes are those of the grid, of a block, and the
// bytes of shared memory.
typedef int (*launcher)(const char *name, const char *module, const unsigned *sizes,
                        void **arguments);
static launcher launching;
void fake_launcher(launcher l) { launching = l; }

// Notes a call; what it is to return.
static CUresult call(const char *name, const char *format, ...) {
    va_list args;
    pthread_mutex_lock(&lock);
    length += snprintf(told + length, sizeof told - length, "%s ", name);
    va_start(args, format);
    length += vsnprintf(told + length, sizeof told - length, format, args);
    va_end(args);
    length += snprintf(told + length, sizeof told - length, "\n");
    int fails = failures > 0 && strcmp(name, failing) == 0;
    if (fails) failures--;
    int code = fails ? failure : 0;
    pthread_mutex_unlock(&lock);
    return code;
}
#define CALL(...) do { int r_ = call(__VA_ARGS__); if (r_) return r_; } while (0)
#define IN_CONTEXT if (depth < 1) return 201

// The device in whose block a range of bytes is; -1 if it is in none.
static int device_of(uint64_t at, size_t bytes) {
    pthread_mutex_lock(&lock);
    int found = -1;
    for (block *b = blocks; b; b = b->next)
        if (at >= (uint64_t)b->low && at + bytes <= (uint64_t)b->low + b->bytes)
            found = b->device;
    pthread_mutex_unlock(&lock);
    return found;
}

// Whether a range of bytes is within a block of the current device's.
static int inside(uint64_t at, size_t bytes) { return device_of(at, bytes) == HERE; }

static int owner = -1; // the GPU that all memory is said to be of, if not -1
void fake_owner(int device) { owner = device; }
CUresult cuPointerGetAttribute(void *value, int attribute, uint64_t at) {
    int device = device_of(at, 1);
    if (device < 0) return 1;
    if (attribute == 2) *(unsigned *)value = 2;
    if (attribute == 9) *(int *)value = owner < 0 ? device : owner;
    return attribute == 2 || attribute == 9 ? 0 : 1;
}
CUresult cuInit(unsigned flags) {
    CALL("cuInit", "%u", flags);
    initialised = 1;
    return device_count ? 0 : 100;
}
CUresult cuDriverGetVersion(int *version) { *version = 12080; return 0; }
CUresult cuDeviceGetCount(int *count) {
    if (!initialised) return 3;
    CALL("cuDeviceGetCount", "");
    *count = device_count;
    return 0;
}
CUresult cuDeviceGet(int *device, int ordinal) {
    CALL("cuDeviceGet", "%d", ordinal);
    *device = 10 + ordinal;
    return 0;
}
CUresult cuDeviceGetName(char *name, int room, int device) {
    snprintf(name, room, "Fake GPU %d", device - 10);
    return 0;
}
CUresult cuDeviceGetAttribute(int *value, int attribute, int device) {
    switch (attribute) {
    case 1: *value = 1024; return 0;
    case 8: *value = 49152; return 0;
    case 10: *value = 32; return 0;
    case 16: *value = 132; return 0;
    case 36: *value = 1000000; return 0;
    case 37: *value = 4096; return 0;
    case 39: *value = 2048; return 0;
    case 75: *value = 9; return 0;
    case 76: *value = device - 10; return 0;
    case 81: *value = 233472; return 0;
    case 82: *value = 65536; return 0;
    case 97: *value = 232448; return 0;
    case 106: *value = 32; return 0;
    case 111: *value = 1024; return 0;
    default: return 1;
    }
}
CUresult cuDeviceTotalMem_v2(size_t *bytes, int device) {
    (void)device;
    *bytes = memory;
    return 0;
}
CUresult cuDevicePrimaryCtxRetain(void **made, int device) {
    CALL("cuDevicePrimaryCtxRetain", "%d", device);
    *made = &contexts[device - 10];
    return 0;
}
CUresult cuCtxPushCurrent_v2(void *c) {
    int n = (int)((int *)c - contexts);
    if (n < 0 || n >= device_count || depth == 64) return 201;
    current[depth++] = n;
    return 0;
}
CUresult cuCtxPopCurrent_v2(void **c) {
    IN_CONTEXT;
    *c = &contexts[HERE];
    depth--;
    return 0;
}
#if !LACKS // as an old driver might
CUresult cuCtxSynchronize(void) {
    IN_CONTEXT;
    CALL("cuCtxSynchronize", "");
    return 0;
}
#endif
CUresult cuMemAlloc_v2(uint64_t *address, size_t bytes) {
    IN_CONTEXT;
    CALL("cuMemAlloc", "%zu", bytes);
    if (bytes == 0) return 1;
    pthread_mutex_lock(&lock);
    block *b = malloc(sizeof *b);
    if (in_use + bytes > memory || posix_memalign((void **)&b->low, 256, bytes)) {
        free(b);
        pthread_mutex_unlock(&lock);
        return 2;
    }
    memset(b->low, 0xCC, bytes < 65536 ? bytes : 65536);
    b->bytes = bytes;
    b->device = HERE;
    b->next = blocks;
    blocks = b;
    in_use += bytes;
    *address = (uint64_t)b->low;
    pthread_mutex_unlock(&lock);
    return 0;
}
CUresult cuMemFree_v2(uint64_t address) {
    IN_CONTEXT;
    CALL("cuMemFree", "");
    pthread_mutex_lock(&lock);
    int r = 1;
    for (block **link = &blocks; *link; link = &(*link)->next) {
        block *b = *link;
        if ((uint64_t)b->low != address || b->device != HERE) continue;
        *link = b->next;
        in_use -= b->bytes;
        free(b->low);
        free(b);
        r = 0;
        break;
    }
    pthread_mutex_unlock(&lock);
    return r;
}
CUresult cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t n, void *stream) {
    IN_CONTEXT;
    CALL("cuMemcpyHtoDAsync", "%zu on %p", n, stream);
    if (!inside(to, n)) return 1;
    memcpy((void *)to, from, n);
    return 0;
}
CUresult cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t n, void *stream) {
    IN_CONTEXT;
    CALL("cuMemcpyDtoHAsync", "%zu on %p", n, stream);
    if (!inside(from, n)) return 1;
    memcpy(to, (void *)from, n);
    return 0;
}
typedef struct { size_t x, y; unsigned kind; void *host; uint64_t device; void *array;
                 size_t pitch; } side;
typedef struct { side from, to; size_t width, height; } copy2d;
CUresult cuMemcpy2DAsync_v2(const copy2d *c, void *stream) {
    IN_CONTEXT;
    CALL("cuMemcpy2DAsync", "%zu x %zu from %u to %u on %p", c->width, c->height,
         c->from.kind, c->to.kind, stream);
    char *end[2];
    const side *sides[2] = {&c->from, &c->to};
    for (int i = 0; i < 2; i++) {
        const side *s = sides[i];
        if (s->x || s->y || s->array || s->pitch < c->width || s->pitch > 2147483647)
            return 1;
        end[i] = s->kind == 1 ? s->host : (char *)s->device;
        size_t span = s->pitch * (c->height - 1) + c->width;
        if (s->kind == 2 && !inside(s->device, span)) return 1;
        if (s->kind != 1 && s->kind != 2) return 1;
    }
    for (size_t i = 0; i < c->height; i++)
        memcpy(end[1] + i * c->to.pitch, end[0] + i * c->from.pitch, c->width);
    return 0;
}
CUresult cuStreamSynchronize(void *stream) {
    IN_CONTEXT;
    CALL("cuStreamSynchronize", "%p", stream);
    return 0;
}
// Events: the clock, which each launch moves by as many milliseconds as it has blocks.
static float clock_ms;
static int events;
int fake_events(void) { return events; }
CUresult cuEventCreate(float **event, unsigned flags) {
    IN_CONTEXT;
    CALL("cuEventCreate", "%u", flags);
    *event = malloc(sizeof **event);
    **event = -1;
    events++;
    return 0;
}
CUresult cuEventDestroy_v2(float *event) {
    IN_CONTEXT;
    free(event);
    events--;
    return 0;
}
CUresult cuEventRecord(float *event, void *stream) {
    IN_CONTEXT;
    CALL("cuEventRecord", "%p", stream);
    *event = clock_ms;
    return 0;
}
CUresult cuEventSynchronize(float *event) {
    IN_CONTEXT;
    CALL("cuEventSynchronize", "");
    return *event < 0 ? 400 : 0;
}
CUresult cuEventElapsedTime(float *ms, float *from, float *to) {
    IN_CONTEXT;
    if (*from < 0 || *to < 0) return 400;
    *ms = *to - *from;
    return 0;
}
static int first_line(const char *text) {
    size_t n = strcspn(text, "\n");
    return n < 20 ? (int)n : 20;
}
CUresult cuModuleLoadDataEx(void **module, const char *text, unsigned n,
                            const int *options, void **values) {
    IN_CONTEXT;
    int refused = call("cuModuleLoadDataEx", "%.*s", first_line(text), text);
    if (strncmp(text, "broken", 6) == 0) refused = 218;
    for (unsigned i = 0; refused && i < n; i++)
        if (options[i] == 5) snprintf(values[i], (size_t)values[i + 1], "line 1: refused");
    if (refused) return refused;
    int *made = malloc(sizeof(int) + strlen(text) + 1);
    *made = HERE;
    *module = strcpy((char *)(made + 1), text);
    return 0;
}
CUresult cuModuleUnload(char *module) {
    IN_CONTEXT;
    CALL("cuModuleUnload", "%.*s", first_line(module), module);
    if (DEVICE_OF(module) != HERE) return 400;
    free((int *)module - 1);
    return 0;
}
CUresult cuModuleGetFunction(void **function, const char *module, const char *name) {
    IN_CONTEXT;
    CALL("cuModuleGetFunction", "%s", name);
    if (DEVICE_OF(module) != HERE) return 400;
    if (!strstr(module, name)) return 500;
    kernel *made = malloc(sizeof *made);
    snprintf(made->name, sizeof made->name, "%s", name);
    made->module = module;
    made->device = HERE;
    *function = made;
    return 0;
}
CUresult cuFuncSetAttribute(const char *function, int attribute, int value) {
    IN_CONTEXT;
    CALL("cuFuncSetAttribute", "%s %d = %d", function, attribute, value);
    return value > 232448 ? 1 : 0;
}
// All kernels take 40 registers.
CUresult cuFuncGetAttribute(int *value, int attribute, const char *function) {
    IN_CONTEXT;
    CALL("cuFuncGetAttribute", "%s %d", function, attribute);
    if (attribute != 4) return 1;
    *value = 40;
    return 0;
}
// Textures, of linear memory with two dimensions: as kernels read them (`harness.py`).
typedef struct texture { const char *low; size_t width, rows, pitch, bytes, zero;
                         struct texture *next; int device; } texture;
static texture *textures;
int fake_textures(void) {
    int n = 0;
    for (texture *t = textures; t; t = t->next) n++;
    return n;
}
typedef struct { int type, pad; uint64_t low; int format; unsigned channels;
                 size_t width, height, pitch; int reserved[22]; unsigned flags; } resource;
typedef struct { int modes[3], filter; unsigned flags, anisotropy; int mipmaps;
                 float bias, least, most, border[4]; int reserved[12]; } sampling;
_Static_assert(sizeof(resource) == 144 && sizeof(sampling) == 104, "as in cuda.h");
CUresult cuTexObjectCreate(uint64_t *made, const resource *r, const sampling *s,
                           const void *view) {
    IN_CONTEXT;
    CALL("cuTexObjectCreate", "%zu x %zu, %zu apart, format %d, beyond %d", r->width,
         r->height, r->pitch, r->format, s->modes[0]);
    size_t bytes = r->format == 1 ? 1 : r->format == 2 ? 2 : r->format == 3 ? 4 : 0;
    if (r->type != 3 || view || !bytes || r->channels != 1 || r->flags) return 1;
    if (!r->width || r->width > 131072 || !r->height || r->height > 65000) return 1;
    if (r->pitch % 32 || r->pitch > 2097120 || r->pitch < r->width * bytes) return 1;
    if (r->low % 256 || !inside(r->low, r->pitch * r->height)) return 1;
    if (s->modes[0] != s->modes[1] || (s->modes[0] != 1 && s->modes[0] != 3)) return 1;
    if (s->filter || s->flags != 1 || s->anisotropy || s->border[0] != 0) return 1;
    texture *t = malloc(sizeof *t);
    *t = (texture){(const char *)r->low, r->width, r->height, r->pitch, bytes,
                   s->modes[0] == 3, NULL, HERE};
    pthread_mutex_lock(&lock);
    t->next = textures;
    textures = t;
    pthread_mutex_unlock(&lock);
    *made = (uint64_t)t;
    return 0;
}
CUresult cuTexObjectDestroy(uint64_t object) {
    IN_CONTEXT;
    CALL("cuTexObjectDestroy", "");
    int r = 1;
    pthread_mutex_lock(&lock);
    for (texture **link = &textures; *link; link = &(*link)->next) {
        texture *t = *link;
        if ((uint64_t)t != object || t->device != HERE) continue;
        *link = t->next;
        free(t);
        r = 0;
        break;
    }
    pthread_mutex_unlock(&lock);
    return r;
}
static int launched[8]; // on each device
int fake_launches(int device) { return launched[device]; }
// The kernel "add": p[i] += n for all threads of a grid of one dimension.
CUresult cuLaunchKernel(const char *function, unsigned gx, unsigned gy, unsigned gz,
                        unsigned bx, unsigned by, unsigned bz, unsigned shared,
                        void *stream, void **arguments, void **extra) {
    IN_CONTEXT;
    CALL("cuLaunchKernel", "%s (%u, %u, %u) of (%u, %u, %u), %u shared on %p", function,
         gx, gy, gz, bx, by, bz, shared, stream);
    if (extra || !gx || !gy || !gz || !bx || !by || !bz || gy > 65535) return 1;
    if (bx * by * bz > 1024) return 1;
    if (((const kernel *)function)->device != HERE) return 400;
    launched[HERE]++;
    clock_ms += gx * gy * gz;
    if (launching) {
        unsigned sizes[7] = {gx, gy, gz, bx, by, bz, shared};
        const kernel *k = (const kernel *)function;
        return launching(k->name, k->module, sizes, arguments);
    }
    if (strcmp(function, "add") == 0) {
        int32_t *p = *(int32_t **)arguments[0];
        int32_t n = *(int32_t *)arguments[1];
        if (!inside((uint64_t)p, 4 * (size_t)gx * bx)) return 700;
        for (unsigned i = 0; i < gx * bx; i++) p[i] += n;
    }
    return 0;
}
