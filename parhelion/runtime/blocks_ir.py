"""Where blocks of memory come from, as LLVM IR: the C library, or the kernel.

Large blocks are mapped, each on its own, and ask for huge pages. Those of storage of
which little may be used do not: the system promises them without setting memory aside,
and each page of theirs comes when it is touched. A part of `memory_ir`.
"""

from __future__ import annotations

#: Blocks from this size on are mapped, and not the C library's.
MAP_BYTES = 64 << 10

#: Blocks from this size on are aligned to huge pages and ask for them.
HUGE_BYTES = 4 << 20
HUGE_PAGE = 2 << 20

_MAP_PRIVATE, _MAP_ANONYMOUS, _MAP_NORESERVE = 0x2, 0x20, 0x4000

BLOCKS = """
declare i32 @posix_memalign(ptr, WORD, WORD)
declare void @free(ptr)
declare ptr @mmap(ptr, WORD, i32, i32, i32, WORD)
declare i32 @munmap(ptr, WORD)
declare i32 @madvise(ptr, WORD, i32)
declare i32 @getpagesize()

; Gives a block back to whom it came from.
define internal void @ph.memory.drop(ptr %b) {
  %pbase = getelementptr %ph.block, ptr %b, i64 0, i32 1
  %base = load ptr, ptr %pbase
  %pspan = getelementptr %ph.block, ptr %b, i64 0, i32 2
  %span = load i64, ptr %pspan
  %pbytes = getelementptr %ph.block, ptr %b, i64 0, i32 4
  %bytes = load i64, ptr %pbytes
  %made = atomicrmw sub ptr @ph.memory.made, i64 %bytes monotonic
  %plain = icmp eq i64 %span, 0
  br i1 %plain, label %heap, label %mapped
heap:
  call void @free(ptr %base)
  ret void
mapped:
  %w = call WORD @ph.word(i64 %span)
  %r = call i32 @munmap(ptr %base, WORD %w)
  ret void
}

; Sets the head of a block; its data.
define internal ptr @ph.memory.head(ptr %b, ptr %base, i64 %span, i64 %bytes, \
i32 %class) {
  %p1 = getelementptr %ph.block, ptr %b, i64 0, i32 1
  store ptr %base, ptr %p1
  %p2 = getelementptr %ph.block, ptr %b, i64 0, i32 2
  store i64 %span, ptr %p2
  %p4 = getelementptr %ph.block, ptr %b, i64 0, i32 4
  store i64 %bytes, ptr %p4
  %p5 = getelementptr %ph.block, ptr %b, i64 0, i32 5
  store i32 %class, ptr %p5
  %made = atomicrmw add ptr @ph.memory.made, i64 %bytes monotonic
  %data = getelementptr i8, ptr %b, i64 64
  ret ptr %data
}

; A new block, or null.
define internal ptr @ph.memory.fresh(i64 %wanted, i32 %class) {
  %slot = alloca ptr
  %page32 = call i32 @getpagesize()
  %page = zext i32 %page32 to i64
  %listed = icmp sge i32 %class, CLASSES
  %unlisted = icmp eq i32 %class, UNKEPT_RESERVED
  %reserved = or i1 %listed, %unlisted
  %less = sub i32 %class, CLASSES
  %size = select i1 %listed, i32 %less, i32 %class
  %vast = icmp slt i32 %class, 0
  br i1 %vast, label %exact, label %rounded
exact:
  %below = sub i64 %page, 1
  %beyond = add i64 %wanted, %below
  %mask = sub i64 0, %page
  %whole = and i64 %beyond, %mask
  br label %sized
rounded:
  %ofclass = call i64 @ph.memory.bytes(i32 %size)
  br label %sized
sized:
  %bytes = phi i64 [ %whole, %exact ], [ %ofclass, %rounded ]
  %small = icmp ult i64 %bytes, MAP_BYTES
  br i1 %small, label %heap, label %map
heap:
  %withhead = add i64 %bytes, 64
  %hw = call WORD @ph.word(i64 %withhead)
  %r = call i32 @posix_memalign(ptr %slot, WORD 64, WORD %hw)
  %good = icmp eq i32 %r, 0
  br i1 %good, label %fromheap, label %failed
fromheap:
  %hb = load ptr, ptr %slot
  %hd = call ptr @ph.memory.head(ptr %hb, ptr %hb, i64 0, i64 %bytes, i32 %class)
  ret ptr %hd
failed:
  ret ptr null
map:
  ; A page for the head, so that the data begin on one.
  %large = icmp uge i64 %bytes, HUGE_BYTES
  %used = xor i1 %reserved, true
  %huge = and i1 %large, %used
  %flags = select i1 %reserved, i32 MAP_RESERVED, i32 MAP_USED
  %extra = select i1 %huge, i64 HUGE_PAGE, i64 0
  %span = add i64 %bytes, %page
  %room = add i64 %span, %extra
  %rw = call WORD @ph.word(i64 %room)
  %m = call ptr @mmap(ptr null, WORD %rw, i32 3, i32 %flags, i32 -1, WORD 0)
  %mi = ptrtoint ptr %m to WORD
  %refused = icmp eq WORD %mi, -1
  br i1 %refused, label %failed, label %mapped
mapped:
  br i1 %huge, label %align, label %unaligned
unaligned:
  br i1 %reserved, label %small.pages, label %ready
small.pages:
  %rdata = getelementptr i8, ptr %m, i64 %page
  %rb = call WORD @ph.word(i64 %bytes)
  %asked = call i32 @madvise(ptr %rdata, WORD %rb, i32 15)
  br label %ready
align:
  %start = call i64 @ph.wide(WORD %mi)
  %d0 = add i64 %start, %page
  %d1 = add i64 %d0, HUGE_LESS
  %d2 = and i64 %d1, HUGE_MASK
  %before = sub i64 %d2, %d0
  %after = sub i64 %extra, %before
  %begin = getelementptr i8, ptr %m, i64 %before
  %end = getelementptr i8, ptr %begin, i64 %span
  call void @ph.memory.cut(ptr %m, i64 %before)
  call void @ph.memory.cut(ptr %end, i64 %after)
  %adata = getelementptr i8, ptr %begin, i64 %page
  %bw = call WORD @ph.word(i64 %bytes)
  %advised = call i32 @madvise(ptr %adata, WORD %bw, i32 14)
  br label %ready
ready:
  %base = phi ptr [ %m, %unaligned ], [ %m, %small.pages ], [ %begin, %align ]
  %data = getelementptr i8, ptr %base, i64 %page
  %b = getelementptr i8, ptr %data, i64 -64
  %md = call ptr @ph.memory.head(ptr %b, ptr %base, i64 %span, i64 %bytes, i32 %class)
  ret ptr %md
}

; Unmaps what alignment leaves over.
define internal void @ph.memory.cut(ptr %at, i64 %bytes) {
  %none = icmp eq i64 %bytes, 0
  br i1 %none, label %out, label %some
some:
  %w = call WORD @ph.word(i64 %bytes)
  %r = call i32 @munmap(ptr %at, WORD %w)
  br label %out
out:
  ret void
}
"""


def names() -> dict[str, str]:
    """What BLOCKS' words in capitals stand for, beside those of `memory_ir`."""
    return {
        "MAP_USED": str(_MAP_PRIVATE | _MAP_ANONYMOUS),
        "MAP_RESERVED": str(_MAP_PRIVATE | _MAP_ANONYMOUS | _MAP_NORESERVE),
        "MAP_BYTES": str(MAP_BYTES),
        "HUGE_BYTES": str(HUGE_BYTES),
        "HUGE_PAGE": str(HUGE_PAGE),
        "HUGE_LESS": str(HUGE_PAGE - 1),
        "HUGE_MASK": str(-HUGE_PAGE),
    }


__all__ = ["BLOCKS", "names"]
