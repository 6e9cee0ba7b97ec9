"""How much freed memory is kept, and for how long: a part of `memory_ir`."""

from __future__ import annotations

#: What is kept is at most this part of the memory there is.
SHARE = 4

#: The environment variable with another limit, in MiB.
KEPT_VARIABLE = "PARHELION_KEPT_MB"

LIMIT = """
@ph.memory.limit = internal global i64 -1
@ph.str.kept = private constant [KEPT_LENGTH x i8] c"KEPT_VARIABLE\\00"
@ph.str.group2 = private constant [26 x i8] c"/sys/fs/cgroup/memory.max\\00"
@ph.str.group1 = private constant [44 x i8] \
c"/sys/fs/cgroup/memory/memory.limit_in_bytes\\00"

declare i32 @clock_gettime(i32, ptr)
declare i32 @sysinfo(ptr)
declare i32 @open(ptr, i32, ...)
declare WORD @read(i32, ptr, WORD)
declare i32 @close(i32)
declare i64 @atoll(ptr)

; Milliseconds since some beginning: a look at the kernel's page, no system call.
define internal i64 @ph.memory.now() {
  %time = alloca [2 x WORD], align 8
  %r = call i32 @clock_gettime(i32 6, ptr %time)
  %s = load WORD, ptr %time
  %pn = getelementptr [2 x WORD], ptr %time, i64 0, i64 1
  %n = load WORD, ptr %pn
  %s64 = call i64 @ph.wide(WORD %s)
  %n64 = call i64 @ph.wide(WORD %n)
  %ms = mul i64 %s64, 1000
  %part = udiv i64 %n64, 1000000
  %now = add i64 %ms, %part
  ret i64 %now
}

; The number that a file begins with; 0 where there is none.
define internal i64 @ph.memory.told(ptr %path) {
  %text = alloca [32 x i8], align 8
  %f = call i32 (ptr, i32, ...) @open(ptr %path, i32 0)
  %bad = icmp slt i32 %f, 0
  br i1 %bad, label %none, label %opened
opened:
  %n = call WORD @read(i32 %f, ptr %text, WORD 31)
  %c = call i32 @close(i32 %f)
  %empty = icmp slt WORD %n, 1
  br i1 %empty, label %none, label %number
number:
  %end = getelementptr i8, ptr %text, WORD %n
  store i8 0, ptr %end
  %value = call i64 @atoll(ptr %text)
  ret i64 %value
none:
  ret i64 0
}

; The smaller of %most and a limit, where there is a limit.
define internal i64 @ph.memory.least(i64 %most, i64 %limit) {
  %there = icmp sgt i64 %limit, 0
  %least = call i64 @llvm.umin.i64(i64 %most, i64 %limit)
  %r = select i1 %there, i64 %least, i64 %most
  ret i64 %r
}

; How many bytes are kept when nobody has said: the environment's, or a share of the
; memory of the machine or the control group.
define internal i64 @ph.memory.default() {
  %info = alloca [128 x i8], align 16
  %env = call ptr @getenv(ptr @ph.str.kept)
  %unset = icmp eq ptr %env, null
  br i1 %unset, label %measure, label %parse
parse:
  %first = load i8, ptr %env
  %above = icmp uge i8 %first, 48
  %below = icmp ule i8 %first, 57
  %digit = and i1 %above, %below
  br i1 %digit, label %use, label %measure
use:
  %given = call i64 @atoll(ptr %env)
  %capped = call i64 @llvm.umin.i64(i64 %given, i64 1099511627776)
  %bytes = shl i64 %capped, 20
  ret i64 %bytes
measure:
  %r = call i32 @sysinfo(ptr %info)
  %pt = getelementptr i8, ptr %info, i64 SYSINFO_TOTAL
  %t = load WORD, ptr %pt
  %total = call i64 @ph.wide(WORD %t)
  %pu = getelementptr i8, ptr %info, i64 SYSINFO_UNIT
  %u = load i32, ptr %pu
  %unit = zext i32 %u to i64
  %all = mul i64 %total, %unit
  %failed = icmp ne i32 %r, 0
  %machine = select i1 %failed, i64 1073741824, i64 %all
  %g2 = call i64 @ph.memory.told(ptr @ph.str.group2)
  %m2 = call i64 @ph.memory.least(i64 %machine, i64 %g2)
  %g1 = call i64 @ph.memory.told(ptr @ph.str.group1)
  %m1 = call i64 @ph.memory.least(i64 %m2, i64 %g1)
  %share = udiv i64 %m1, SHARE
  ret i64 %share
}

; How many bytes may be kept.
define i64 @ph_get_kept_memory() {
  %n = load atomic i64, ptr @ph.memory.limit monotonic, align 8
  %unset = icmp eq i64 %n, -1
  br i1 %unset, label %first, label %known
known:
  ret i64 %n
first:
  %d = call i64 @ph.memory.default()
  store atomic i64 %d, ptr @ph.memory.limit monotonic, align 8
  ret i64 %d
}

; Sets that (-1: back to the default); what it was. What is kept is given back if it
; is more.
define i64 @ph_set_kept_memory(i64 %bytes) {
  %old = call i64 @ph_get_kept_memory()
  %negative = icmp slt i64 %bytes, 0
  %new = select i1 %negative, i64 -1, i64 %bytes
  store atomic i64 %new, ptr @ph.memory.limit monotonic, align 8
  %limit = call i64 @ph_get_kept_memory()
  %kept = call i64 @ph_kept_memory()
  %over = icmp ugt i64 %kept, %limit
  br i1 %over, label %trim, label %out
trim:
  %t = call i64 @ph.memory.trim(i64 9223372036854775807)
  br label %out
out:
  ret i64 %old
}

; How many bytes are kept now.
define i64 @ph_kept_memory() {
  %sum = load atomic i64, ptr @ph.memory.sum monotonic, align 8
  br label %loop
loop:
  %i = phi i64 [ 0, %0 ], [ %i1, %loop ]
  %s = phi i64 [ %sum, %0 ], [ %s1, %loop ]
  %p = getelementptr [SHARDS x %ph.shard], ptr @ph.memory.shards, i64 0, i64 %i, i32 1
  %d = load atomic i64, ptr %p monotonic, align 8
  %s1 = add i64 %s, %d
  %i1 = add i64 %i, 1
  %more = icmp ult i64 %i1, SHARDS
  br i1 %more, label %loop, label %out
out:
  ret i64 %s1
}

; How many bytes were given out and not freed.
define i64 @ph_used_memory() {
  %made = load atomic i64, ptr @ph.memory.made monotonic, align 8
  %kept = call i64 @ph_kept_memory()
  %used = sub i64 %made, %kept
  ret i64 %used
}

; Gives back what was freed at %when or before; how many bytes that were.
define internal i64 @ph.memory.trim(i64 %when) {
  %links = alloca ptr
  br label %shards
shards:
  %i = phi i64 [ 0, %0 ], [ %i1, %next ]
  %sum = phi i64 [ 0, %0 ], [ %total, %next ]
  %shard = getelementptr [SHARDS x %ph.shard], ptr @ph.memory.shards, i64 0, i64 %i
  store ptr null, ptr %links
  %ok = call i1 @ph.memory.lock(ptr %shard)
  br i1 %ok, label %classes, label %next
classes:
  %c = phi i64 [ 0, %shards ], [ %c1, %counted ]
  %list = getelementptr %ph.shard, ptr %shard, i64 0, i32 2, i64 %c
  br label %walk
walk:
  ; The newest come first: from the first old one on, all are.
  %link = phi ptr [ %list, %classes ], [ %b, %young ]
  %b = load ptr, ptr %link
  %end = icmp eq ptr %b, null
  br i1 %end, label %counted, label %look
look:
  %pwhen = getelementptr %ph.block, ptr %b, i64 0, i32 3
  %freed = load i64, ptr %pwhen
  %old = icmp sle i64 %freed, %when
  br i1 %old, label %cut, label %young
young:
  br label %walk
cut:
  store atomic ptr null, ptr %link monotonic, align POINTER
  br label %collect
collect:
  %o = phi ptr [ %b, %cut ], [ %onext, %collect ]
  %onext = load ptr, ptr %o
  %chain = load ptr, ptr %links
  store ptr %chain, ptr %o
  store ptr %o, ptr %links
  %pbytes = getelementptr %ph.block, ptr %o, i64 0, i32 4
  %bytes = load i64, ptr %pbytes
  %minus = sub i64 0, %bytes
  call void @ph.memory.count(ptr %shard, i64 %minus)
  %last = icmp eq ptr %onext, null
  br i1 %last, label %counted, label %collect
counted:
  %c1 = add i64 %c, 1
  %more = icmp ult i64 %c1, LISTS
  br i1 %more, label %classes, label %unlock
unlock:
  call void @ph.memory.unlock(ptr %shard)
  br label %next
next:
  ; Unmapping takes its time: no lock is held.
  %dropped = call i64 @ph.memory.drops(ptr %links)
  %total = add i64 %sum, %dropped
  %i1 = add i64 %i, 1
  %on = icmp ult i64 %i1, SHARDS
  br i1 %on, label %shards, label %out
out:
  ret i64 %total
}

; Gives back all blocks of a list; how many bytes they were.
define internal i64 @ph.memory.drops(ptr %list) {
  %first = load ptr, ptr %list
  br label %loop
loop:
  %b = phi ptr [ %first, %0 ], [ %next, %some ]
  %sum = phi i64 [ 0, %0 ], [ %sum1, %some ]
  %end = icmp eq ptr %b, null
  br i1 %end, label %out, label %some
some:
  %next = load ptr, ptr %b
  %pbytes = getelementptr %ph.block, ptr %b, i64 0, i32 4
  %bytes = load i64, ptr %pbytes
  %sum1 = add i64 %sum, %bytes
  call void @ph.memory.drop(ptr %b)
  br label %loop
out:
  ret i64 %sum
}

; Gives back all that is kept; how many bytes that were.
define i64 @ph_release_memory() {
  %n = call i64 @ph.memory.trim(i64 9223372036854775807)
  ret i64 %n
}

; Gives back what nobody used for %ms milliseconds; how many bytes that were.
define i64 @ph_trim_memory(i64 %ms) {
  %now = call i64 @ph.memory.now()
  %when = sub i64 %now, %ms
  %n = call i64 @ph.memory.trim(i64 %when)
  ret i64 %n
}
"""


def names(bits: int) -> dict[str, str]:
    """What LIMIT's words in capitals stand for, for pointers of that many bits."""
    # Of Linux's struct sysinfo: the units of memory, and the bytes of a unit.
    total, unit = (32, 104) if bits == 64 else (16, 52)
    return {
        "SHARE": str(SHARE),
        "KEPT_VARIABLE": KEPT_VARIABLE,
        "KEPT_LENGTH": str(len(KEPT_VARIABLE) + 1),
        "SYSINFO_TOTAL": str(total),
        "SYSINFO_UNIT": str(unit),
    }


__all__ = ["KEPT_VARIABLE", "LIMIT", "SHARE", "names"]
