"""Memory and printing for compiled code, as LLVM IR.

Large blocks are kept when they are freed, and given out again: a pipeline that runs
once per frame would otherwise have the kernel map and clear the same pages each time.
(Harris corners with full-size intermediates, 1.5 megapixels: 3.6 ms instead of 12.)
What is kept is bounded, in blocks and in bytes, the oldest leaving first; and all of
it is given back before an allocation is said to fail.

The cache's lock is only ever tried. Whoever does not get it goes to malloc, so a child
that was forked while the lock was held loses the cache and nothing else.
"""

from __future__ import annotations

#: Blocks from this size on are kept; glibc itself keeps smaller ones.
KEEP_BYTES = 1 << 20

#: How many blocks, and how many bytes in all, may be kept.
KEEP_BLOCKS = 16
KEEP_TOTAL = 512 << 20

#: Blocks from this size on are aligned to huge pages and ask for them.
HUGE_BYTES = 4 << 20
HUGE_PAGE = 2 << 20

MEMORY = """
@ph.kept.block = internal global [KEEP_BLOCKS x ptr] zeroinitializer
@ph.kept.bytes = internal global [KEEP_BLOCKS x i64] zeroinitializer
@ph.kept.total = internal global i64 0
@ph.kept.hand = internal global i64 0
@ph.kept.lock = internal global i32 0

declare i32 @posix_memalign(ptr, WORD, WORD)
declare WORD @malloc_usable_size(ptr)
declare i32 @madvise(ptr, WORD, i32)
declare void @free(ptr)

define internal i1 @ph.kept.try() {
  %r = cmpxchg ptr @ph.kept.lock, i32 0, i32 1 acquire monotonic
  %ok = extractvalue { i32, i1 } %r, 1
  ret i1 %ok
}

; Gives back the block that was kept longest in slot order, if there is one; the
; number of its slot. The lock is held.
define internal i64 @ph.kept.evict() {
  %i = load i64, ptr @ph.kept.hand
  %n = add i64 %i, 1
  %next = urem i64 %n, KEEP_BLOCKS
  store i64 %next, ptr @ph.kept.hand
  %pb = getelementptr [KEEP_BLOCKS x ptr], ptr @ph.kept.block, i64 0, i64 %i
  %b = load ptr, ptr %pb
  %none = icmp eq ptr %b, null
  br i1 %none, label %out, label %drop
drop:
  %ps = getelementptr [KEEP_BLOCKS x i64], ptr @ph.kept.bytes, i64 0, i64 %i
  %s = load i64, ptr %ps
  %t = load i64, ptr @ph.kept.total
  %t1 = sub i64 %t, %s
  store i64 %t1, ptr @ph.kept.total
  store ptr null, ptr %pb
  call void @free(ptr %b)
  br label %out
out:
  ret i64 %i
}

; Gives all kept blocks back to malloc; how many bytes that were.
define i64 @ph_release_memory() {
  %ok = call i1 @ph.kept.try()
  br i1 %ok, label %begin, label %busy
busy:
  ret i64 0
begin:
  %total = load i64, ptr @ph.kept.total
  br label %loop
loop:
  %k = phi i64 [ 0, %begin ], [ %k1, %loop ]
  %i = call i64 @ph.kept.evict()
  %k1 = add i64 %k, 1
  %more = icmp ult i64 %k1, KEEP_BLOCKS
  br i1 %more, label %loop, label %done
done:
  store atomic i32 0, ptr @ph.kept.lock release, align 4
  ret i64 %total
}

; The smallest kept block of at least %bytes and at most twice that, or null.
define internal ptr @ph.kept.take(i64 %bytes) {
  %ok = call i1 @ph.kept.try()
  br i1 %ok, label %begin, label %busy
busy:
  ret ptr null
begin:
  %most = shl i64 %bytes, 1
  br label %loop
loop:
  %i = phi i64 [ 0, %begin ], [ %i1, %next ]
  %best = phi i64 [ -1, %begin ], [ %best1, %next ]
  %least = phi i64 [ %most, %begin ], [ %least1, %next ]
  %pb = getelementptr [KEEP_BLOCKS x ptr], ptr @ph.kept.block, i64 0, i64 %i
  %b = load ptr, ptr %pb
  %there = icmp ne ptr %b, null
  %ps = getelementptr [KEEP_BLOCKS x i64], ptr @ph.kept.bytes, i64 0, i64 %i
  %s = load i64, ptr %ps
  %enough = icmp uge i64 %s, %bytes
  %less = icmp ule i64 %s, %least
  %a0 = and i1 %there, %enough
  %fits = and i1 %a0, %less
  br label %next
next:
  %best1 = select i1 %fits, i64 %i, i64 %best
  %least1 = select i1 %fits, i64 %s, i64 %least
  %i1 = add i64 %i, 1
  %more = icmp ult i64 %i1, KEEP_BLOCKS
  br i1 %more, label %loop, label %chosen
chosen:
  %none = icmp eq i64 %best1, -1
  br i1 %none, label %nothing, label %take
nothing:
  store atomic i32 0, ptr @ph.kept.lock release, align 4
  ret ptr null
take:
  %qb = getelementptr [KEEP_BLOCKS x ptr], ptr @ph.kept.block, i64 0, i64 %best1
  %found = load ptr, ptr %qb
  store ptr null, ptr %qb
  %t = load i64, ptr @ph.kept.total
  %t1 = sub i64 %t, %least1
  store i64 %t1, ptr @ph.kept.total
  store atomic i32 0, ptr @ph.kept.lock release, align 4
  ret ptr %found
}

; Sizes as the C library takes them, and back.
define internal WORD @ph.word(i64 %n) {
  %w = NARROW
  ret WORD %w
}

define internal i64 @ph.wide(WORD %n) {
  %w = WIDEN
  ret i64 %w
}

define internal ptr @ph.fresh(i64 %bytes) {
  %slot = alloca ptr
  %huge = icmp uge i64 %bytes, HUGE_BYTES
  %alignment = select i1 %huge, i64 HUGE_PAGE, i64 64
  %size = call WORD @ph.word(i64 %bytes)
  %least = call WORD @ph.word(i64 %alignment)
  %r = call i32 @posix_memalign(ptr %slot, WORD %least, WORD %size)
  %ok = icmp eq i32 %r, 0
  br i1 %ok, label %got, label %failed
failed:
  ret ptr null
got:
  %p = load ptr, ptr %slot
  br i1 %huge, label %advise, label %out
advise:
  %a = call i32 @madvise(ptr %p, WORD %size, i32 14)
  br label %out
out:
  ret ptr %p
}

; Memory aligned to 64 bytes at least, or null; for any context.
define noalias ptr @ph_malloc(ptr %ctx, i64 %bytes) {
  %impossible = icmp slt i64 %bytes, 0
  br i1 %impossible, label %fail, label %possible
fail:
  ret ptr null
possible:
  %large = icmp uge i64 %bytes, KEEP_BYTES
  br i1 %large, label %kept, label %new
kept:
  %k = call ptr @ph.kept.take(i64 %bytes)
  %found = icmp ne ptr %k, null
  br i1 %found, label %again, label %new
again:
  ret ptr %k
new:
  %p = call ptr @ph.fresh(i64 %bytes)
  %ok = icmp ne ptr %p, null
  br i1 %ok, label %out, label %retry
retry:
  %freed = call i64 @ph_release_memory()
  %q = call ptr @ph.fresh(i64 %bytes)
  ret ptr %q
out:
  ret ptr %p
}

define void @ph_free(ptr %ctx, ptr %p) {
  %size = call WORD @malloc_usable_size(ptr %p)
  %bytes = call i64 @ph.wide(WORD %size)
  %small = icmp ult i64 %bytes, KEEP_BYTES
  %vast = icmp ugt i64 %bytes, KEEP_TOTAL
  %never = or i1 %small, %vast
  br i1 %never, label %plain, label %try
plain:
  call void @free(ptr %p)
  ret void
try:
  %ok = call i1 @ph.kept.try()
  br i1 %ok, label %space, label %plain
space:
  %t = load i64, ptr @ph.kept.total
  %with = add i64 %t, %bytes
  %over = icmp ugt i64 %with, KEEP_TOTAL
  br i1 %over, label %evict, label %search
evict:
  %gone = call i64 @ph.kept.evict()
  br label %space
search:
  %i = phi i64 [ 0, %space ], [ %i1, %taken ]
  %pb = getelementptr [KEEP_BLOCKS x ptr], ptr @ph.kept.block, i64 0, i64 %i
  %b = load ptr, ptr %pb
  %empty = icmp eq ptr %b, null
  br i1 %empty, label %put, label %taken
taken:
  %i1 = add i64 %i, 1
  %more = icmp ult i64 %i1, KEEP_BLOCKS
  br i1 %more, label %search, label %full
full:
  %slot = call i64 @ph.kept.evict()
  br label %put
put:
  %at = phi i64 [ %i, %search ], [ %slot, %full ]
  %qb = getelementptr [KEEP_BLOCKS x ptr], ptr @ph.kept.block, i64 0, i64 %at
  store ptr %p, ptr %qb
  %qs = getelementptr [KEEP_BLOCKS x i64], ptr @ph.kept.bytes, i64 0, i64 %at
  store i64 %bytes, ptr %qs
  %now = load i64, ptr @ph.kept.total
  %sum = add i64 %now, %bytes
  store i64 %sum, ptr @ph.kept.total
  store atomic i32 0, ptr @ph.kept.lock release, align 4
  ret void
}
"""

PRINT = """
declare WORD @write(i32, ptr, WORD)
declare WORD @strlen(ptr)

; Prints through the context's function, or to the standard output without one.
define void @ph_print(ptr %ctx, ptr %text) {
  %slot = getelementptr i8, ptr %ctx, i64 PRINT_OFFSET
  %fn = load ptr, ptr %slot
  %none = icmp eq ptr %fn, null
  br i1 %none, label %plain, label %call
call:
  %pu = getelementptr i8, ptr %ctx, i64 USER_OFFSET
  %user = load ptr, ptr %pu
  call void %fn(ptr %user, ptr %text)
  ret void
plain:
  %n = call WORD @strlen(ptr %text)
  %w = call WORD @write(i32 1, ptr %text, WORD %n)
  ret void
}
"""
