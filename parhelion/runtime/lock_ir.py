"""Locks for atomic updates of several words, as LLVM IR: part of the pool's module.

There is a fixed table of locks; the address of what is updated chooses one. Two places
that share a lock only wait for each other without need. What a lock guards is a few
instructions, so waiting is spinning, which gives the core away now and then.
"""

from __future__ import annotations

LOCKS = """
; One lock to a cache line.
@ph.lock.table = internal global [1024 x [16 x i32]] zeroinitializer, align 64

; No lock is held: for a child that was forked while another thread held one.
define internal void @ph.lock.reset() {
  call void @llvm.memset.p0.i64(ptr @ph.lock.table, i8 0, i64 65536, i1 false)
  ret void
}

; Takes the lock of a place; it is the result, for ph_unlock.
define ptr @ph_lock(ptr %place) {
  %address = ptrtoint ptr %place to i64
  %mixed = mul i64 %address, -7046029254386353131
  %slot = lshr i64 %mixed, 54
  %lock = getelementptr [16 x i32], ptr @ph.lock.table, i64 %slot
  br label %try
try:
  %r = cmpxchg ptr %lock, i32 0, i32 1 acquire monotonic
  %mine = extractvalue { i32, i1 } %r, 1
  br i1 %mine, label %out, label %wait
wait:
  %k = phi i32 [ 0, %try ], [ %k1, %again ]
  PAUSE
  %held = load atomic i32, ptr %lock monotonic, align 4
  %free = icmp eq i32 %held, 0
  br i1 %free, label %try, label %again
again:
  %k1 = add i32 %k, 1
  %on = icmp ult i32 %k1, SPIN_PAUSES
  br i1 %on, label %wait, label %yield
yield:
  %y = call i32 @sched_yield()
  br label %try
out:
  ret ptr %lock
}

define void @ph_unlock(ptr %lock) {
  store atomic i32 0, ptr %lock release, align 4
  ret void
}
"""
