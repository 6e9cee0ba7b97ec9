"""Names that C, its library and our run time have, which no compiled function can."""

from __future__ import annotations

import re


def _words(text: str, *ends: str) -> frozenset[str]:
    return frozenset([f"{name}{end}" for name in text.split() for end in ends or ("",)])


#: What <math.h> has for each of its three types: ``sin``, ``sinf`` and ``sinl``.
_MATH = """acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc
exp exp2 expm1 fabs fdim floor fma fmax fmin fmod frexp hypot ilogb ldexp lgamma llrint
llround log log10 log1p log2 logb lrint lround modf nan nearbyint nextafter nexttoward
pow remainder remquo rint round scalbln scalbn sin sinh sqrt tan tanh tgamma trunc"""
#: The same, of systems with more than ISO C asks for.
_MORE_MATH = "drem finite gamma isinf isnan j0 j1 jn scalb significand y0 y1 yn"

#: Functions of ISO C that the headers of our C text declare, whatever the options.
DECLARED = _words(_MATH, "", "f", "l") | _words(
    """abort abs aligned_alloc at_quick_exit atexit atof atoi atol atoll bsearch calloc
    clearerr div exit fclose feof ferror fflush fgetc fgetpos fgets fopen fprintf fputc
    fputs fread free freopen fscanf fseek fsetpos ftell fwrite getc getchar getenv labs
    ldiv llabs lldiv malloc mblen mbstowcs mbtowc memchr memcmp memcpy memmove memset
    perror printf putc putchar puts qsort quick_exit rand realloc remove rename rewind
    scanf setbuf setvbuf snprintf sprintf srand sscanf strcat strchr strcmp strcoll
    strcpy strcspn strerror strlen strncat strncmp strncpy strpbrk strrchr strspn strstr
    strtod strtof strtok strtol strtold strtoll strtoul strtoull strxfrm system tmpfile
    tmpnam ungetc vfprintf vfscanf vprintf vscanf vsnprintf vsprintf vsscanf wcstombs
    wctomb"""
)

#: Other functions, variables, macros and types of the C library: of ISO C's other
#: headers, and of the systems that object files are for.
_LIBRARY = _words(_MORE_MATH, "", "f", "l") | _words(
    """EOF FILE INFINITY NAN NULL a64l alloca asctime assert bcmp bcopy bzero clock
    clone close ctime difftime div_t dprintf drand48 dup dup2 ecvt environ errno
    execv execve
    explicit_bzero fcntl fcvt fdopen ffs fileno fork fpclassify fpos_t ftruncate gcvt
    getdelim getline getopt getpid getsubopt getw gmtime index initstate ioctl isalnum
    isalpha isblank iscntrl isdigit isfinite isgraph isgreater isless islower isnormal
    isprint ispunct isspace isunordered isupper isxdigit kill l64a linux localtime
    longjmp lseek madvise main malloc_usable_size memccpy mkdtemp mkstemp mktemp mktime
    mmap mprotect munmap nanosleep open optarg optind pause pclose pipe poll popen
    posix_memalign ptrdiff_t putenv putw raise random read readlink realpath
    reallocarray rindex sched_getaffinity sched_yield select setenv setjmp setstate
    sigfillset signal signbit signgam sleep size_t srandom stat stderr stdin stdout
    stpcpy strcasecmp strdup strftime strncasecmp strndup strnlen strsep strsignal
    syscall sysconf time time_t tolower toupper truncate unix unlink unsetenv usleep
    valloc va_list wait wchar_t write"""
)
_FAMILIES = re.compile(r"pthread_\w+|u?int(_least|_fast)?\d+_t|u?int(ptr|max)_t")

#: The words of C and C++ that are written in small letters.
WORDS = _words(
    """alignas alignof and asm auto bool break case catch char class const constexpr
    continue decltype default delete do double else enum explicit export extern false
    float for friend goto if inline int long mutable namespace new not nullptr operator
    or private protected public register restrict return short signed sizeof static
    struct switch template this throw true try typedef typename typeof union unsigned
    using virtual void volatile while xor and_eq bitand bitor char8_t char16_t char32_t
    compl const_cast dynamic_cast noexcept not_eq or_eq reinterpret_cast static_assert
    static_cast thread_local typeid wchar_t xor_eq"""
)


def is_of_the_library(name: str) -> bool:
    """Whether the C library has something of this name."""
    return name in DECLARED or name in _LIBRARY or bool(_FAMILIES.fullmatch(name))


def is_reserved(name: str) -> bool:
    """Whether C keeps names like this one for itself: keywords such as ``_Bool``,
    macros of compilers."""
    return re.match("_[A-Z_]", name) is not None


__all__ = ["DECLARED", "WORDS", "is_of_the_library", "is_reserved"]
