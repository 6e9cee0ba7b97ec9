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
#: The same, of systems with more than ISO C of 2011 asks for.
_MORE_MATH = """canonicalize drem exp10 finite fmaxmag fminmag fromfp fromfpx gamma
getpayload isinf isnan j0 j1 jn llogb nextdown nextup pow10 roundeven scalb setpayload
significand sincos totalorder totalordermag ufromfp ufromfpx y0 y1 yn"""

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
    clock_gettime clone close ctime difftime div_t dprintf drand48 dup dup2 ecvt environ
    errno execv execve explicit_bzero fcntl fcvt fdopen ffs fileno fork fpclassify
    fpos_t ftruncate gcvt getdelim getline getopt getpagesize getpid getsubopt getw
    gmtime index initstate ioctl isalnum isalpha isblank iscntrl isdigit isfinite
    isgraph isgreater isless islower isnormal isprint ispunct isspace isunordered
    isupper isxdigit kill l64a linux localtime longjmp lseek madvise main
    malloc_usable_size memccpy mkdtemp mkstemp mktemp mktime mmap mprotect munmap
    nanosleep open optarg optind pause pclose pipe poll popen posix_memalign ptrdiff_t
    putenv putw raise random read readlink realpath reallocarray rindex
    sched_getaffinity sched_yield select setenv setjmp setstate sigfillset signal
    signbit signgam sleep size_t srandom stat stderr stdin stdout stpcpy strcasecmp
    strdup strftime strncasecmp strndup strnlen strsep strsignal syscall sysconf sysinfo
    time time_t tolower toupper truncate unix unlink unsetenv usleep valloc va_list wait
    wchar_t write blkcnt_t blksize_t caddr_t clock_t clockid_t daddr_t dev_t double_t
    fd_mask fd_set float_t fsid_t gid_t id_t ino_t key_t ldiv_t lldiv_t loff_t
    max_align_t mode_t nlink_t off_t pid_t quad_t register_t sigset_t ssize_t
    suseconds_t timer_t u_char u_int u_long u_quad_t u_short uid_t uint ulong ushort"""
)
#: Macros of the headers of our C text, which no variable can be called either.
_MACROS = re.compile(
    r"""BUFSIZ|EOF|FILENAME_MAX|FOPEN_MAX|HUGE_VAL[FL]?|INFINITY|L_(ctermid|tmpnam)|
    MATH_ERR(NO|EXCEPT)|MB_CUR_MAX|NAN|NFDBITS|NULL|P_tmpdir|RAND_MAX|SIZE_MAX|TMP_MAX|
    (BIG|LITTLE|PDP)_ENDIAN|BYTE_ORDER|EXIT_(FAILURE|SUCCESS)|FD_(CLR|ISSET|SET|SETSIZE|
    ZERO)|FP_(ILOGB0|ILOGBNAN|INFINITE|NAN|NORMAL|SUBNORMAL|ZERO)|FP_FAST_FMA[FL]?|
    M_(E|LOG2E|LOG10E|LN2|LN10|PI|PI_2|PI_4|1_PI|2_PI|2_SQRTPI|SQRT2|SQRT1_2)|
    (PTRDIFF|SIG_ATOMIC|WCHAR|WINT)_(MAX|MIN)|SEEK_(CUR|END|SET|DATA|HOLE)|
    U?INT(8|16|32|64|MAX)_C|U?INT(_LEAST|_FAST)?(8|16|32|64)_(MAX|MIN)|
    U?INT(MAX|PTR)_(MAX|MIN)|W(CONTINUED|EXITED|EXITSTATUS|IFCONTINUED|IFEXITED|
    IFSIGNALED|IFSTOPPED|NOHANG|NOWAIT|STOPPED|STOPSIG|TERMSIG|UNTRACED)|
    ATOMIC_\w+|PARHELION_\w+|atomic_\w+|kill_dependency|memory_order\w*|
    alloca|[bl]e(16|32|64)toh|htobe(16|32|64)|htole(16|32|64)|bool|errno|false|
    fpclassify|is(finite|greater|greaterequal|inf|less|lessequal|lessgreater|nan|
    normal|unordered)|linux|math_errhandling|offsetof|signbit|stderr|stdin|stdout|true|
    unix""",
    re.VERBOSE,
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
    families = _FAMILIES.fullmatch(name) is not None or is_macro(name)
    return name in DECLARED or name in _LIBRARY or families


def is_macro(name: str) -> bool:
    """Whether the headers of our C text have a macro of this name."""
    return _MACROS.fullmatch(name) is not None


def is_reserved(name: str) -> bool:
    """Whether C keeps names like this one for itself: keywords such as ``_Bool``,
    macros of compilers."""
    return re.match("_[A-Z_]", name) is not None


__all__ = ["DECLARED", "WORDS", "is_macro", "is_of_the_library", "is_reserved"]
