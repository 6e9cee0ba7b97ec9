"""The fixed part of Python extensions: C that takes arrays and numbers from Python.

It keeps to the stable interface of CPython 3.11 (abi3), and is C++ as well.
"""

from __future__ import annotations

#: Comes after the structs of the header (see `aot.header`) and PH_DIMS.
SUPPORT = r"""
// A tensor as DLPack hands it over.
typedef struct { int32_t type, id; } ph_device;
typedef struct { uint8_t code, bits; uint16_t lanes; } ph_dtype;
typedef struct {
    void *data;
    ph_device device;
    int32_t ndim;
    ph_dtype dtype;
    int64_t *shape, *strides; // in elements; no strides: dense, the last axis innermost
    uint64_t byte_offset;
} ph_tensor;
typedef struct ph_managed {
    ph_tensor tensor;
    void *context;
    void (*deleter)(struct ph_managed *);
} ph_managed;

// What an argument must be.
typedef struct {
    const char *name, *type;
    uint8_t code, bits;
    int dimensions, output;
    int32_t stride; // of dimension 0, where it is promised; else 0
} ph_image;

// What was given for it.
typedef struct {
    struct halide_buffer_t buffer;
    struct halide_dimension_t dim[PH_DIMS];
    Py_buffer view;
    PyObject *capsule;
    ph_managed *managed;
    char *low, *high; // the bytes that it spans
    int has_view;
} ph_array;

static __thread char ph_message[1024];

// Keeps the first message of a call; it is raised when the call returns.
static void ph_remember(void *user_context, const char *message) {
    (void)user_context;
    if (!ph_message[0]) snprintf(ph_message, sizeof ph_message, "%s", message);
}

static void ph_close(ph_array *a) {
    if (a->has_view) PyBuffer_Release(&a->view);
    if (a->managed && a->managed->deleter) a->managed->deleter(a->managed);
    Py_XDECREF(a->capsule);
}

static int ph_fail(PyObject *kind, const ph_image *want, const char *what) {
    PyErr_Format(kind, "the %s '%s' %s", want->output ? "output" : "input", want->name,
                 what);
    return -1;
}

static int ph_wrong_type(const ph_image *want, const char *given) {
    PyErr_Format(PyExc_TypeError, "the %s '%s' is of type %s, but the array is of %s",
                 want->output ? "output" : "input", want->name, want->type, given);
    return -1;
}

static int ph_count(const ph_image *want, int given) {
    if (given == want->dimensions) return 0;
    PyErr_Format(PyExc_ValueError,
                 "the %s '%s' has %d dimensions, but the array has %d",
                 want->output ? "output" : "input", want->name, want->dimensions,
                 given);
    return -1;
}

// The axes of an array as dimensions; strides are in elements. Dimension 0 is the last
// axis; but of an array that is dense with its first axis innermost (Fortran's order),
// that is dimension 0, where a stride of 1 is promised, which the last axis has not.
static int ph_axes(ph_array *a, const ph_image *want, const int64_t *extents,
                   const int64_t *strides) {
    int count = want->dimensions, c_order = 1, f_order = 1, forward;
    int64_t dense = 1;
    for (int i = 0; i < count; i++) {
        if (extents[i] > 1 && strides[i] != dense) f_order = 0;
        dense *= extents[i];
    }
    dense = 1;
    for (int i = count - 1; i >= 0; i--) {
        if (extents[i] > 1 && strides[i] != dense) c_order = 0;
        dense *= extents[i];
    }
    forward = want->stride == 1 && f_order && !c_order;
    for (int i = 0; i < count; i++) {
        int d = forward ? i : count - 1 - i;
        int64_t stride = strides[i];
        // The stride of a single pixel is never used.
        if (extents[i] <= 1 && !d && want->stride) stride = want->stride;
        if (extents[i] > INT32_MAX || stride > INT32_MAX || stride < INT32_MIN)
            return ph_fail(PyExc_ValueError, want,
                           "is larger than 32-bit coordinates allow");
        a->dim[d].min = 0;
        a->dim[d].extent = (int32_t)extents[i];
        a->dim[d].stride = (int32_t)stride;
        a->dim[d].flags = 0;
    }
    return 0;
}

// Whether rows of an array may reach into each other, so that pixels share memory. (No
// part of an array that is taken by indices, or transposed, is so.)
static int ph_overlaps_itself(const ph_array *a, int count) {
    int64_t reach = 0;
    char seen[PH_DIMS] = {0};
    for (int n = 0; n < count; n++) {
        int next = -1;
        for (int i = 0; i < count; i++)
            if (!seen[i] && (next < 0 || llabs(a->dim[i].stride) <
                                             llabs(a->dim[next].stride)))
                next = i;
        seen[next] = 1;
        if (a->dim[next].extent <= 1) continue;
        int64_t stride = llabs(a->dim[next].stride);
        if (stride <= reach) return 1;
        reach += stride * ((int64_t)a->dim[next].extent - 1);
    }
    return 0;
}

// The rest of the struct, once the axes are known.
static int ph_finish(ph_array *a, const ph_image *want, void *host) {
    static char nothing[64];
    int64_t size = want->bits < 8 ? 1 : want->bits / 8, down = 0, up = 0;
    int empty = 0;
    for (int i = 0; i < want->dimensions; i++) {
        int64_t reach = ((int64_t)a->dim[i].extent - 1) * a->dim[i].stride;
        if (!a->dim[i].extent) empty = 1;
        if (reach < 0) down += reach;
        else up += reach;
    }
    if (empty) host = nothing;
    if (want->output && !empty && ph_overlaps_itself(a, want->dimensions))
        return ph_fail(PyExc_ValueError, want,
                       "overlaps itself: several pixels share one place");
    if ((uintptr_t)host % (uintptr_t)size)
        return ph_fail(PyExc_ValueError, want,
                       "is not aligned to the size of its pixels");
    a->low = (char *)host + (empty ? 0 : down * size);
    a->high = (char *)host + (empty ? 0 : (up + 1) * size);
    a->buffer.host = (uint8_t *)host;
    a->buffer.type.code = want->code;
    a->buffer.type.bits = want->bits;
    a->buffer.type.lanes = 1;
    a->buffer.dimensions = want->dimensions;
    a->buffer.dim = a->dim;
    return 0;
}

// Whether a format of the struct module means the wanted type. Short floats that C has
// not (bfloat16) travel as the integers of their bits.
static int ph_format_fits(const ph_image *want, const char *format, Py_ssize_t size) {
    uint8_t code = 255;
    if (!format) format = "B";
    if (*format == '@' || *format == '=' || *format == '<') format++;
    if (!format[0] || format[1]) return 0;
    if (format[0] == '?') return want->code == 1 && want->bits == 1 && size == 1;
    if (strchr("bhilqn", format[0])) code = 0;
    if (strchr("BHILQN", format[0])) code = 1;
    if (strchr("efd", format[0])) code = 2;
    if (size * 8 != want->bits) return 0;
    return code == want->code || (want->code == 4 && code == 1);
}

static int ph_open_view(ph_array *a, const ph_image *want, PyObject *given) {
    Py_buffer *v = &a->view;
    int64_t extents[PH_DIMS], strides[PH_DIMS];
    if (PyObject_GetBuffer(given, v, PyBUF_STRIDES | PyBUF_FORMAT)) return -1;
    a->has_view = 1;
    if (ph_count(want, v->ndim)) return -1;
    if (!ph_format_fits(want, v->format, v->itemsize)) {
        char told[64];
        snprintf(told, sizeof told, "the format '%.20s', %d bytes",
                 v->format ? v->format : "B", (int)v->itemsize);
        return ph_wrong_type(want, told);
    }
    if (want->output && v->readonly)
        return ph_fail(PyExc_ValueError, want, "is read-only");
    for (int i = 0; i < v->ndim; i++) {
        if (v->strides[i] % v->itemsize)
            return ph_fail(PyExc_ValueError, want,
                           "has a stride that is no whole number of pixels");
        extents[i] = v->shape[i];
        strides[i] = v->strides[i] / v->itemsize;
    }
    return ph_axes(a, want, extents, strides) ? -1 : ph_finish(a, want, v->buf);
}

static int ph_open_tensor(ph_array *a, const ph_image *want, PyObject *given) {
    ph_managed *managed;
    ph_tensor *t;
    int64_t strides[PH_DIMS], stride = 1;
    int fits;
    a->capsule = PyObject_CallMethod(given, "__dlpack__", NULL);
    if (!a->capsule) return -1;
    managed = (ph_managed *)PyCapsule_GetPointer(a->capsule, "dltensor");
    if (!managed || PyCapsule_SetName(a->capsule, "used_dltensor")) return -1;
    // From here on it is ours to delete.
    a->managed = managed;
    t = &managed->tensor;
    // 1: the computer's own memory, 3 and 11: such memory that a GPU sees as well.
    if (t->device.type != 1 && t->device.type != 3 && t->device.type != 11)
        return ph_fail(PyExc_ValueError, want, "is in the memory of a device");
    if (ph_count(want, t->ndim)) return -1;
    fits = t->dtype.lanes == 1 && t->dtype.bits == want->bits &&
           (t->dtype.code == want->code || (want->code == 4 && t->dtype.code == 1));
    if (want->bits == 1) fits = t->dtype.code == 6 && t->dtype.bits == 8;
    if (!fits) {
        char told[64];
        snprintf(told, sizeof told, "DLPack's code %d, %d bits", t->dtype.code,
                 t->dtype.bits);
        return ph_wrong_type(want, told);
    }
    for (int i = t->ndim - 1; i >= 0; i--) {
        strides[i] = t->strides ? t->strides[i] : stride;
        stride *= t->shape[i];
    }
    if (ph_axes(a, want, t->shape, strides)) return -1;
    return ph_finish(a, want, (char *)t->data + t->byte_offset);
}

// Whether it is a masked array of NumPy's that hides elements: its buffer has the
// values behind the mask. To look for what is not there takes longer than a small
// image, so that one type without masks, as a rule NumPy's array, is remembered.
static int ph_hides(PyObject *given) {
    static PyObject *plain;
    PyObject *type = (PyObject *)Py_TYPE(given), *mask, *any;
    int hides;
    if (type == plain) return 0;
    if (!PyObject_HasAttrString(type, "mask") ||
        !PyObject_HasAttrString(type, "filled")) {
        if (!plain) plain = Py_NewRef(type);
        return 0;
    }
    mask = PyObject_GetAttrString(given, "mask");
    any = mask ? PyObject_CallMethod(mask, "any", NULL) : NULL;
    hides = any ? PyObject_IsTrue(any) : -1;
    Py_XDECREF(mask);
    Py_XDECREF(any);
    return hides;
}

static int ph_open(ph_array *a, const ph_image *want, PyObject *given) {
    int hides;
    memset(a, 0, sizeof *a);
    hides = ph_hides(given);
    if (hides < 0) return -1;
    if (hides)
        return ph_fail(PyExc_TypeError, want,
                       "has no mask, and the array hides some of its elements by one: "
                       "array.filled(value) is one with a value in their places");
    if (PyObject_CheckBuffer(given)) return ph_open_view(a, want, given);
    if (PyObject_HasAttrString(given, "__dlpack__"))
        return ph_open_tensor(a, want, given);
    PyErr_Format(PyExc_TypeError,
                 "the %s '%s' is an array of %s (one of NumPy, or one that offers a "
                 "buffer or __dlpack__), not %R",
                 want->output ? "output" : "input", want->name, want->type,
                 (PyObject *)Py_TYPE(given));
    return -1;
}

// Outputs may share memory with nothing else.
static int ph_apart(const ph_array *arrays, const ph_image *images, int count) {
    for (int i = 0; i < count; i++)
        for (int j = 0; images[i].output && j < count; j++)
            if (i != j && arrays[i].low < arrays[j].high &&
                arrays[j].low < arrays[i].high) {
                PyErr_Format(PyExc_ValueError, "the output '%s' and '%s' share memory",
                             images[i].name, images[j].name);
                return -1;
            }
    return 0;
}

static inline int ph_too_large(const char *name, const char *type,
                               PyObject *given) {
    PyObject *told;
    PyErr_Clear();
    told = PyObject_Repr(given);
    if (told) {
        const char *end = PyUnicode_GetLength(told) > 60 ? "..." : "";
        PyErr_Format(PyExc_OverflowError,
                     "'%s' is of type %s, which cannot hold %.60S%s", name, type, told,
                     end);
        Py_DECREF(told);
    } else if (PyErr_ExceptionMatches(PyExc_ValueError)) {
        // Python writes no integers of thousands of digits.
        PyErr_Format(PyExc_OverflowError,
                     "'%s' is of type %s, which cannot hold so large a number", name,
                     type);
    }
    return -1;
}

// A number could not be read: what the object's own methods raise is left as it is.
static inline int ph_unread(const char *what, const char *name, const char *type,
                            PyObject *given) {
    if (PyErr_ExceptionMatches(PyExc_OverflowError))
        return ph_too_large(name, type, given);
    if (PyErr_ExceptionMatches(PyExc_TypeError)) {
        PyErr_Clear();
        PyErr_Format(PyExc_TypeError, "'%s' is %s, not %R", name, what, given);
    }
    return -1;
}

static inline int ph_signed(PyObject *given, const char *name, const char *type,
                            int bits, int64_t *out) {
    PyObject *whole = PyNumber_Index(given);
    int64_t most = bits == 64 ? INT64_MAX : ((int64_t)1 << (bits - 1)) - 1;
    if (!whole) return ph_unread("an integer", name, type, given);
    *out = PyLong_AsLongLong(whole);
    Py_DECREF(whole);
    if (PyErr_Occurred() || *out > most || *out < -most - 1)
        return ph_too_large(name, type, given);
    return 0;
}

static inline int ph_unsigned(PyObject *given, const char *name, const char *type,
                              int bits, uint64_t *out) {
    PyObject *whole = PyNumber_Index(given);
    if (!whole) return ph_unread("an integer", name, type, given);
    *out = PyLong_AsUnsignedLongLong(whole);
    Py_DECREF(whole);
    if (PyErr_Occurred() || (bits < 64 && *out >> bits))
        return ph_too_large(name, type, given);
    return 0;
}

static inline int ph_real(PyObject *given, const char *name, const char *type,
                          double *out) {
    *out = PyFloat_AsDouble(given);
    return PyErr_Occurred() ? ph_unread("a number", name, type, given) : 0;
}

// True, False, and the numbers that are equal to them.
static inline int ph_truth(PyObject *given, const char *name, int *out) {
    double value = PyFloat_AsDouble(given);
    if (PyErr_Occurred()) return ph_unread("a bool", name, "bool", given);
    if (value != 0 && value != 1) return ph_too_large(name, "bool", given);
    *out = value == 1;
    return 0;
}

// A float of few bits, rounded to the nearest: digits of precision, the first included,
// and the exponent's bias.
static inline uint16_t ph_short(double value, int digits, int bias) {
    int e;
    double size = fabs(value);
    uint32_t most = (uint32_t)(2 * bias + 1) << (digits - 1), bits = most;
    if (size != size) bits = most + (1u << (digits - 2));
    else if (size == 0) bits = 0;
    else if (size < HUGE_VAL) {
        frexp(size, &e);
        e = e - 1 < 1 - bias ? 1 - bias : e - 1;
        if (e <= bias) {
            bits = (uint32_t)nearbyint(ldexp(size, digits - 1 - e));
            bits += (uint32_t)(e + bias - 1) << (digits - 1);
        }
        if (bits > most) bits = most;
    }
    return (uint16_t)(bits | (signbit(value) ? 0x8000u : 0));
}

// What a compiled function's code and message are in Python.
static PyObject *ph_raise(const char *name, int code) {
    PyObject *kind = PyExc_RuntimeError;
    if (code == -2 || code == -4) kind = PyExc_IndexError;
    if (code == -8 || code == -9 || code == -10) kind = PyExc_ValueError;
    if (code == -11) kind = PyExc_MemoryError;
    if (ph_message[0]) PyErr_Format(kind, "%s: %s", name, ph_message);
    else PyErr_Format(kind, "%s failed with the code %d", name, code);
    return NULL;
}
"""

__all__ = ["SUPPORT"]
