"""Memory for compiled code, as LLVM IR: blocks that are kept from run to run.

A pipeline asks for the same blocks each time it runs. The C library gives large ones
back to the kernel when they are freed, which maps and clears the same pages anew each
time; from which size on depends on what the process freed before, so the same code
took 10 ms in a process that had run LLVM, and 50 ms in one that had not. Here every
block is kept when it is freed, in lists by size class, whatever else the process does.

- There are four classes to each doubling, from 1 KiB up. Blocks of less than
  MAP_BYTES are the C library's, larger ones are mapped, each on its own.
- The lists are in SHARDS shards with a lock each. A thread has a shard of its own
  (until there are more threads than shards) where it frees, and looks first; then it
  looks in the others, and then for blocks of the next larger classes there, up to
  twice the size.
- Locks are held for a few instructions and waited for briefly: who does not get one
  goes to the next shard. So a child that was forked while another thread held a lock
  loses that shard's blocks, and nothing else.
- A block that is still looked at (`pins`) is not given back when it is freed:
  the pin has it then.
- Storage of which little may be used (`ph_reserve`) is promised by the system but not
  set aside: its pages are small and come when they are touched. Its blocks are kept in
  lists of their own, as a block that was in use as a whole is no such storage.
- What is kept is bounded: a share of the memory that there is, of the machine or of the
  control group, unless its user says otherwise (`kept_ir`). A block that would be too
  much goes back at once, after those that nobody used for a second. What nobody used
  for KEEP_MS goes back, at the next free after it, or by whoever calls
  `ph_trim_memory`. All of it goes before an allocation is said to fail.

Before a block's data stands its head, in the 64 bytes before them.
"""

from __future__ import annotations

from parhelion.runtime import blocks_ir, kept_ir

#: Size classes: the first is of 1 << LEAST_SHIFT bytes, there are four to a doubling,
#: and blocks beyond the last one are not kept.
LEAST_SHIFT = 10
MOST_SHIFT = 40
CLASSES = 4 * (MOST_SHIFT - LEAST_SHIFT) + 1

#: A shard's lists: one for each class, and again for each of reserved storage.
LISTS = 2 * CLASSES

#: What a block's class says of one that is too large to be kept; reserved ones too.
UNKEPT, UNKEPT_RESERVED = -1, -2

#: A request is served by a block of up to so many classes above its own.
BORROW = 4

#: Shards, and how often a held lock is looked at before the next shard is tried.
SHARDS = 32
LOCK_SPINS = 64

#: After how many milliseconds without use a block is given back; when there is too
#: much; and how often the ages are looked at.
KEEP_MS = 10_000
CROWDED_MS = 1_000
LOOK_MS = 1_000

#: A shard tells the common sum when it has changed by this many bytes.
DRIFT = 1 << 20

MEMORY = """
; next in its list, where it begins as malloc or mmap gave it, bytes to unmap (0: it
; is malloc's), when it was freed, bytes of data, its list (negative: not to be kept).
%ph.block = type { ptr, ptr, i64, i64, i64, i32 }
; lock, bytes kept that the common sum does not know of, a list for each class.
%ph.shard = type { i32, i64, [LISTS x ptr], [32 x i8] }
; next, an address that must stay, the data of the block freed meanwhile that it is in.
%ph.pin = type { ptr, ptr, ptr }

@ph.memory.shards = internal global [SHARDS x %ph.shard] zeroinitializer, align 64
@ph.memory.sum = internal global i64 0, align 64
@ph.memory.made = internal global i64 0
@ph.memory.key = internal global i32 0, align 64
@ph.memory.threads = internal global i32 0
@ph.memory.next = internal global i64 0
@ph.memory.pins = internal global ptr null

declare i32 @pthread_key_delete(i32)
declare i64 @llvm.ctlz.i64(i64, i1)
declare i64 @llvm.umin.i64(i64, i64)
declare i64 @llvm.umax.i64(i64, i64)

; Sizes as the C library takes them.
define internal WORD @ph.word(i64 %n) {
  %w = NARROW
  ret WORD %w
}

define internal i64 @ph.wide(WORD %n) {
  %w = WIDEN
  ret i64 %w
}

; The class of a request, and the bytes of that class's blocks.
define internal i32 @ph.memory.class(i64 %bytes) {
  %least = call i64 @llvm.umax.i64(i64 %bytes, i64 LEAST)
  %m = sub i64 %least, 1
  %zeros = call i64 @llvm.ctlz.i64(i64 %m, i1 true)
  %e = sub i64 63, %zeros
  %down = sub i64 %e, 2
  %top = lshr i64 %m, %down
  %quarter = and i64 %top, 3
  %from = sub i64 %e, LEAST_SHIFT
  %four = shl i64 %from, 2
  %sum = add i64 %four, %quarter
  %class = add i64 %sum, 1
  %c = trunc i64 %class to i32
  %vast = icmp sge i32 %c, CLASSES
  %r = select i1 %vast, i32 UNKEPT, i32 %c
  ret i32 %r
}

define internal i64 @ph.memory.bytes(i32 %class) {
  %c = zext i32 %class to i64
  %d = add i64 %c, 3
  %e = lshr i64 %d, 2
  %quarter = and i64 %d, 3
  %head = add i64 %quarter, 5
  %up = add i64 %e, LEAST_DOWN
  %bytes = shl i64 %head, %up
  ret i64 %bytes
}

; The thread's shard.
define internal i64 @ph.memory.shard() {
  %key1 = load atomic i32, ptr @ph.memory.key acquire, align 4
  %nokey = icmp eq i32 %key1, 0
  br i1 %nokey, label %slow, label %known
known:
  %key = sub i32 %key1, 1
  %v = call ptr @pthread_getspecific(i32 %key)
  %n = ptrtoint ptr %v to i64
  %new = icmp eq i64 %n, 0
  br i1 %new, label %slow, label %out
out:
  %i = sub i64 %n, 1
  ret i64 %i
slow:
  %j = call i64 @ph.memory.move()
  ret i64 %j
}

; Gives the thread a shard, or another one than it has.
define internal i64 @ph.memory.move() {
  %made = alloca i32
  %key1 = load atomic i32, ptr @ph.memory.key acquire, align 4
  %nokey = icmp eq i32 %key1, 0
  br i1 %nokey, label %make, label %have
make:
  %r = call i32 @pthread_key_create(ptr %made, ptr null)
  %failed = icmp ne i32 %r, 0
  br i1 %failed, label %none, label %tell
none:
  ret i64 0
tell:
  %k = load i32, ptr %made
  %k1 = add i32 %k, 1
  %x = cmpxchg ptr @ph.memory.key, i32 0, i32 %k1 acq_rel acquire
  %mine = extractvalue { i32, i1 } %x, 1
  %theirs = extractvalue { i32, i1 } %x, 0
  br i1 %mine, label %have, label %drop
drop:
  %d = call i32 @pthread_key_delete(i32 %k)
  br label %have
have:
  %kk = phi i32 [ %key1, %0 ], [ %k1, %tell ], [ %theirs, %drop ]
  %key = sub i32 %kk, 1
  %number = atomicrmw add ptr @ph.memory.threads, i32 1 monotonic
  %shard = urem i32 %number, SHARDS
  %i = zext i32 %shard to i64
  %i1 = add i64 %i, 1
  %v = inttoptr i64 %i1 to ptr
  %s = call i32 @pthread_setspecific(i32 %key, ptr %v)
  ret i64 %i
}

; Takes a shard's lock, unless it stays held.
define internal i1 @ph.memory.lock(ptr %shard) {
  br label %try
try:
  %k = phi i32 [ 0, %0 ], [ %k1, %wait ]
  %r = cmpxchg ptr %shard, i32 0, i32 1 acquire monotonic
  %ok = extractvalue { i32, i1 } %r, 1
  br i1 %ok, label %yes, label %wait
wait:
  PAUSE
  %k1 = add i32 %k, 1
  %on = icmp ult i32 %k1, LOCK_SPINS
  br i1 %on, label %try, label %no
yes:
  ret i1 true
no:
  ret i1 false
}

define internal void @ph.memory.unlock(ptr %shard) {
  store atomic i32 0, ptr %shard release, align 4
  ret void
}

; Notes that a shard keeps so many bytes more. Its lock is held.
define internal void @ph.memory.count(ptr %shard, i64 %bytes) {
  %p = getelementptr %ph.shard, ptr %shard, i64 0, i32 1
  %d = load i64, ptr %p
  %d1 = add i64 %d, %bytes
  %shifted = add i64 %d1, DRIFT
  %near = icmp ult i64 %shifted, DRIFT_TWICE
  br i1 %near, label %keep, label %tell
keep:
  store atomic i64 %d1, ptr %p monotonic, align 8
  ret void
tell:
  store atomic i64 0, ptr %p monotonic, align 8
  %x = atomicrmw add ptr @ph.memory.sum, i64 %d1 monotonic
  ret void
}

; A block of a shard's list, or null.
define internal ptr @ph.memory.pop(ptr %shard, i32 %class) {
  %c = zext i32 %class to i64
  %list = getelementptr %ph.shard, ptr %shard, i64 0, i32 2, i64 %c
  %seen = load atomic ptr, ptr %list monotonic, align POINTER
  %empty = icmp eq ptr %seen, null
  br i1 %empty, label %none, label %try
try:
  %ok = call i1 @ph.memory.lock(ptr %shard)
  br i1 %ok, label %locked, label %none
locked:
  %b = load ptr, ptr %list
  %gone = icmp eq ptr %b, null
  br i1 %gone, label %unlock, label %take
unlock:
  call void @ph.memory.unlock(ptr %shard)
  br label %none
take:
  %next = load ptr, ptr %b
  store atomic ptr %next, ptr %list monotonic, align POINTER
  %pb = getelementptr %ph.block, ptr %b, i64 0, i32 4
  %bytes = load i64, ptr %pb
  %minus = sub i64 0, %bytes
  call void @ph.memory.count(ptr %shard, i64 %minus)
  call void @ph.memory.unlock(ptr %shard)
  ret ptr %b
none:
  ret ptr null
}

; A kept block of that class or a little more, or null: the thread's shard first.
define internal ptr @ph.memory.take(i32 %class) {
  %mine = call i64 @ph.memory.shard()
  %own = getelementptr [SHARDS x %ph.shard], ptr @ph.memory.shards, i64 0, i64 %mine
  %b0 = call ptr @ph.memory.pop(ptr %own, i32 %class)
  %found0 = icmp ne ptr %b0, null
  br i1 %found0, label %first, label %classes
first:
  ret ptr %b0
classes:
  %up = phi i32 [ 0, %0 ], [ %up1, %larger ]
  %c = add i32 %class, %up
  br label %shards
shards:
  %k = phi i64 [ 0, %classes ], [ %k1, %other ]
  %at = add i64 %mine, %k
  %i = urem i64 %at, SHARDS
  %shard = getelementptr [SHARDS x %ph.shard], ptr @ph.memory.shards, i64 0, i64 %i
  %b = call ptr @ph.memory.pop(ptr %shard, i32 %c)
  %found = icmp ne ptr %b, null
  br i1 %found, label %out, label %other
other:
  %k1 = add i64 %k, 1
  %more = icmp ult i64 %k1, SHARDS
  br i1 %more, label %shards, label %larger
larger:
  %up1 = add i32 %up, 1
  %next = add i32 %c, 1
  %reserved = icmp sge i32 %class, CLASSES
  %beyond = select i1 %reserved, i32 LISTS, i32 CLASSES
  %inside = icmp slt i32 %next, %beyond
  %near = icmp sle i32 %up1, BORROW
  %on = and i1 %inside, %near
  br i1 %on, label %classes, label %out
out:
  %r = phi ptr [ %b, %shards ], [ null, %larger ]
  ret ptr %r
}

; Memory aligned to 64 bytes at least, or null; for any context.
define noalias ptr @ph_malloc(ptr %ctx, i64 %bytes) {
  %class = call i32 @ph.memory.class(i64 %bytes)
  %p = call ptr @ph.memory.give(i64 %bytes, i32 %class)
  ret ptr %p
}

; The same, of which little may be used.
define noalias ptr @ph_reserve(ptr %ctx, i64 %bytes) {
  %class = call i32 @ph.memory.class(i64 %bytes)
  %large = icmp uge i64 %bytes, HUGE_BYTES
  %vast = icmp slt i32 %class, 0
  %listed = add i32 %class, CLASSES
  %other = select i1 %vast, i32 UNKEPT_RESERVED, i32 %listed
  %chosen = select i1 %large, i32 %other, i32 %class
  %p = call ptr @ph.memory.give(i64 %bytes, i32 %chosen)
  ret ptr %p
}

; A block for a list, kept or new.
define internal ptr @ph.memory.give(i64 %bytes, i32 %class) {
  %impossible = icmp slt i64 %bytes, 0
  br i1 %impossible, label %fail, label %possible
fail:
  ret ptr null
possible:
  %vast = icmp slt i32 %class, 0
  br i1 %vast, label %new, label %kept
kept:
  %b = call ptr @ph.memory.take(i32 %class)
  %found = icmp ne ptr %b, null
  br i1 %found, label %again, label %new
again:
  %data = getelementptr i8, ptr %b, i64 64
  ret ptr %data
new:
  %p = call ptr @ph.memory.fresh(i64 %bytes, i32 %class)
  %ok = icmp ne ptr %p, null
  br i1 %ok, label %out, label %retry
retry:
  %freed = call i64 @ph_release_memory()
  %q = call ptr @ph.memory.fresh(i64 %bytes, i32 %class)
  ret ptr %q
out:
  ret ptr %p
}

; Whether so many bytes more would be too much to keep.
define internal i1 @ph.memory.crowded(i64 %bytes) {
  %limit = call i64 @ph_get_kept_memory()
  %sum = load atomic i64, ptr @ph.memory.sum monotonic, align 8
  %with = add i64 %sum, %bytes
  %most = add i64 %with, DRIFT_ALL
  %sure = icmp sle i64 %most, %limit
  br i1 %sure, label %no, label %exactly
no:
  ret i1 false
exactly:
  %kept = call i64 @ph_kept_memory()
  %then = add i64 %kept, %bytes
  %over = icmp sgt i64 %then, %limit
  ret i1 %over
}

; Adds a pin, for ever: one whose address is null holds nothing.
define void @ph_pin_memory(ptr %pin) {
  br label %try
try:
  %first = load atomic ptr, ptr @ph.memory.pins monotonic, align POINTER
  store ptr %first, ptr %pin
  %x = cmpxchg ptr @ph.memory.pins, ptr %first, ptr %pin release monotonic
  %ok = extractvalue { ptr, i1 } %x, 1
  br i1 %ok, label %out, label %try
out:
  ret void
}

; Gives a block to all pins in it; whether there are any.
define internal i1 @ph.memory.pinned(ptr %first, ptr %p) {
  %pbytes = getelementptr i8, ptr %p, i64 -64
  %psize = getelementptr %ph.block, ptr %pbytes, i64 0, i32 4
  %bytes = load i64, ptr %psize
  %begin = ptrtoint ptr %p to i64
  br label %look
look:
  %pin = phi ptr [ %first, %0 ], [ %next, %on ]
  %any = phi i1 [ false, %0 ], [ %any1, %on ]
  %plow = getelementptr %ph.pin, ptr %pin, i64 0, i32 1
  %low = load atomic ptr, ptr %plow monotonic, align POINTER
  %at = ptrtoint ptr %low to i64
  %offset = sub i64 %at, %begin
  %inside = icmp ult i64 %offset, %bytes
  br i1 %inside, label %give, label %on
give:
  %pblock = getelementptr %ph.pin, ptr %pin, i64 0, i32 2
  store atomic ptr %p, ptr %pblock release, align POINTER
  br label %on
on:
  %any1 = phi i1 [ %any, %look ], [ true, %give ]
  %next = load ptr, ptr %pin
  %end = icmp eq ptr %next, null
  br i1 %end, label %out, label %look
out:
  ret i1 %any1
}

define void @ph_free(ptr %ctx, ptr %p) {
  %nothing = icmp eq ptr %p, null
  br i1 %nothing, label %out, label %some
some:
  %pins = load atomic ptr, ptr @ph.memory.pins acquire, align POINTER
  %unpinned = icmp eq ptr %pins, null
  br i1 %unpinned, label %free, label %ask
ask:
  %held = call i1 @ph.memory.pinned(ptr %pins, ptr %p)
  br i1 %held, label %out, label %free
free:
  %b = getelementptr i8, ptr %p, i64 -64
  %pclass = getelementptr %ph.block, ptr %b, i64 0, i32 5
  %class = load i32, ptr %pclass
  %vast = icmp slt i32 %class, 0
  br i1 %vast, label %drop, label %measure
measure:
  %pbytes = getelementptr %ph.block, ptr %b, i64 0, i32 4
  %bytes = load i64, ptr %pbytes
  %now = call i64 @ph.memory.now()
  %pwhen = getelementptr %ph.block, ptr %b, i64 0, i32 3
  store i64 %now, ptr %pwhen
  %over = call i1 @ph.memory.crowded(i64 %bytes)
  br i1 %over, label %crowd, label %keep
crowd:
  %aged = sub i64 %now, CROWDED_MS
  %t0 = call i64 @ph.memory.trim(i64 %aged)
  %still = call i1 @ph.memory.crowded(i64 %bytes)
  br i1 %still, label %drop, label %keep
drop:
  call void @ph.memory.drop(ptr %b)
  ret void
keep:
  %mine = call i64 @ph.memory.shard()
  br label %try
try:
  %i = phi i64 [ %mine, %keep ], [ %moved, %busy ]
  %k = phi i32 [ 0, %keep ], [ %k1, %busy ]
  %shard = getelementptr [SHARDS x %ph.shard], ptr @ph.memory.shards, i64 0, i64 %i
  %ok = call i1 @ph.memory.lock(ptr %shard)
  br i1 %ok, label %push, label %busy
busy:
  ; Its holder sleeps, or is of the process that this one was forked from.
  %moved = call i64 @ph.memory.move()
  %k1 = add i32 %k, 1
  %on = icmp ult i32 %k1, SHARDS
  br i1 %on, label %try, label %drop
push:
  %c = zext i32 %class to i64
  %list = getelementptr %ph.shard, ptr %shard, i64 0, i32 2, i64 %c
  %head = load ptr, ptr %list
  store ptr %head, ptr %b
  store atomic ptr %b, ptr %list monotonic, align POINTER
  call void @ph.memory.count(ptr %shard, i64 %bytes)
  call void @ph.memory.unlock(ptr %shard)
  %next = load atomic i64, ptr @ph.memory.next monotonic, align 8
  %due = icmp sge i64 %now, %next
  br i1 %due, label %turn, label %out
turn:
  %later = add i64 %now, LOOK_MS
  %x = cmpxchg ptr @ph.memory.next, i64 %next, i64 %later monotonic monotonic
  %chosen = extractvalue { i64, i1 } %x, 1
  br i1 %chosen, label %age, label %out
age:
  call void @ph.watch.kept()
  %old = sub i64 %now, KEEP_MS
  %t1 = call i64 @ph.memory.trim(i64 %old)
  br label %out
out:
  ret void
}
"""


def names(bits: int) -> dict[str, str]:
    """What MEMORY's words in capitals stand for, for pointers of that many bits."""
    return (
        kept_ir.names(bits)
        | blocks_ir.names()
        | {
            "CLASSES": str(CLASSES),
            "LISTS": str(LISTS),
            "UNKEPT_RESERVED": str(UNKEPT_RESERVED),
            "UNKEPT": str(UNKEPT),
            "SHARDS": str(SHARDS),
            "BORROW": str(BORROW),
            "LOCK_SPINS": str(LOCK_SPINS),
            "LEAST": str(1 << LEAST_SHIFT),
            "LEAST_SHIFT": str(LEAST_SHIFT),
            "LEAST_DOWN": str(LEAST_SHIFT - 3),
            "KEEP_MS": str(KEEP_MS),
            "CROWDED_MS": str(CROWDED_MS),
            "LOOK_MS": str(LOOK_MS),
            "DRIFT": str(DRIFT),
            "DRIFT_TWICE": str(2 * DRIFT),
            "DRIFT_ALL": str(SHARDS * DRIFT),
            "POINTER": str(bits // 8),
            "WORD": f"i{bits}",
            "NARROW": "add i64 %n, 0" if bits == 64 else "trunc i64 %n to i32",
            "WIDEN": "add i64 %n, 0" if bits == 64 else "zext i32 %n to i64",
        }
    )


__all__ = ["MEMORY", "names"]
