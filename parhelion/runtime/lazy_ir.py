"""Parts of Funcs that are computed on demand, as LLVM IR: part of the pool's module.

`ph_demand` has a part computed by the first thread that asks for it; others wait until
it is there. The word that stands for the part is 0 at first, 1 while it is computed,
`MADE` when it can be read, and the negative code of what has failed.

No lock is held meanwhile, and nobody waits in a circle. A part is only ever waited for
by what needs it: its consumers, or parts of their Funcs. The one thing that could add
to that is a thread that helps with other iterations while it waits for its own loop: it
might come to what needs the part that it is computing. So a production counts as nested
more deeply than all that asks for it (`rank`), and a thread helps only with tasks that
are deeper than its own.
"""

from __future__ import annotations

#: How much deeper each rank is than the one before: more than loops are nested.
DEPTH_OF_RANK = 1 << 16

#: Pauses before a waiting thread lets others have the core.
DEMAND_PAUSES = 64

LAZY = """
define i32 @ph_demand(ptr %ctx, ptr %fn, ptr %closure, ptr %word, i32 %row, \
i32 %col, i32 %rank) {
  %pair = cmpxchg ptr %word, i32 0, i32 1 acquire acquire
  %mine = extractvalue { i32, i1 } %pair, 1
  br i1 %mine, label %compute, label %wait
compute:
  call void @ph.pool.enter()
  %key = load i32, ptr @ph.pool.key
  %outer = call ptr @pthread_getspecific(i32 %key)
  %depth = mul i32 %rank, DEPTH_OF_RANK
  %depth64 = zext i32 %depth to i64
  %inner = inttoptr i64 %depth64 to ptr
  %s0 = call i32 @pthread_setspecific(i32 %key, ptr %inner)
  %code = call i32 %fn(ptr %ctx, i32 %row, i32 %col, ptr %closure)
  %s1 = call i32 @pthread_setspecific(i32 %key, ptr %outer)
  %good = icmp eq i32 %code, 0
  %minus = sub i32 0, %code
  %now = select i1 %good, i32 2, i32 %minus
  store atomic i32 %now, ptr %word release, align 4
  ret i32 %code
wait:
  %k = phi i32 [ 0, %0 ], [ %k1, %pause ], [ 0, %yield ]
  %held = load atomic i32, ptr %word acquire, align 4
  %done = icmp eq i32 %held, 2
  br i1 %done, label %there, label %unfinished
there:
  ret i32 0
unfinished:
  %failed = icmp slt i32 %held, 0
  br i1 %failed, label %lost, label %watch
lost:
  %why = sub i32 0, %held
  ret i32 %why
watch:
  %seen = call i32 @ph.watch.seen(ptr %ctx)
  %on = icmp eq i32 %seen, 0
  br i1 %on, label %rest, label %stopped
stopped:
  ret i32 %seen
rest:
  PAUSE
  %k1 = add i32 %k, 1
  %long = icmp uge i32 %k1, DEMAND_PAUSES
  br i1 %long, label %yield, label %pause
pause:
  br label %wait
yield:
  %y = call i32 @sched_yield()
  br label %wait
}
"""

#: Where there is one thread, nobody can be computing a part that is asked for.
SERIAL_LAZY = """
define i32 @ph_demand(ptr %ctx, ptr %fn, ptr %closure, ptr %word, i32 %row, \
i32 %col, i32 %rank) {
  %held = load i32, ptr %word
  %done = icmp eq i32 %held, 2
  br i1 %done, label %there, label %compute
there:
  ret i32 0
compute:
  %code = call i32 %fn(ptr %ctx, i32 %row, i32 %col, ptr %closure)
  store i32 2, ptr %word
  ret i32 %code
}
"""

__all__ = ["DEMAND_PAUSES", "DEPTH_OF_RANK", "LAZY", "SERIAL_LAZY"]
