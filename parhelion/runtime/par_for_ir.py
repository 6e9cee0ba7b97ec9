"""A parallel loop as its owner runs it, as LLVM IR: part of the pool's module.

The owner makes a task of the loop, has enough workers look for it, works on it as they
do, and helps with what is nested in it until the last of them has left (`pool_ir`).
"""

from __future__ import annotations

PAR_FOR = """
define internal i32 @ph.pool.serial(ptr %ctx, ptr %fn, i32 %min, i32 %extent, \
ptr %closure) {
  br label %loop
loop:
  %k = phi i32 [ 0, %0 ], [ %k1, %good ]
  %seen = call i32 @ph.watch.seen(ptr %ctx)
  %on = icmp eq i32 %seen, 0
  br i1 %on, label %one, label %out
one:
  %i = add i32 %min, %k
  %code = call i32 %fn(ptr %ctx, i32 %i, ptr %closure)
  %ok = icmp eq i32 %code, 0
  br i1 %ok, label %good, label %out
good:
  %k1 = add i32 %k, 1
  %more = icmp slt i32 %k1, %extent
  br i1 %more, label %loop, label %out
out:
  %result = phi i32 [ %seen, %loop ], [ %code, %one ], [ 0, %good ]
  ret i32 %result
}

define i32 @ph_par_for(ptr %ctx, ptr %fn, i32 %min, i32 %extent, ptr %closure) {
  %t = alloca %task, align 64
  %empty = icmp slt i32 %extent, 1
  br i1 %empty, label %nothing, label %something
nothing:
  ret i32 0
something:
  call void @ph.pool.enter()
  %all = call i32 @ph_get_num_threads()
  %pmost = getelementptr i8, ptr %ctx, i64 MOST_THREADS_OFFSET
  %most = load i32, ptr %pmost
  %limited = icmp ne i32 %most, 0
  %fewer = icmp slt i32 %most, %all
  %limits = and i1 %limited, %fewer
  %threads = select i1 %limits, i32 %most, i32 %all
  %one = icmp eq i32 %extent, 1
  %alone = icmp eq i32 %threads, 1
  %serially = or i1 %one, %alone
  br i1 %serially, label %serial, label %parallel
serial:
  %sr = tail call i32 @ph.pool.serial(ptr %ctx, ptr %fn, i32 %min, i32 %extent, \
ptr %closure)
  ret i32 %sr
parallel:
  %key = load i32, ptr @ph.pool.key
  %outer = call ptr @pthread_getspecific(i32 %key)
  %outer64 = ptrtoint ptr %outer to i64
  %outer32 = trunc i64 %outer64 to i32
  %depth = add i32 %outer32, 1
  %begin = sext i32 %min to i64
  %count = zext i32 %extent to i64
  %end = add i64 %begin, %count
  %threads64 = zext i32 %threads to i64
  %shares = mul i64 %threads64, CHUNKS_PER_THREAD
  %chunk0 = udiv i64 %count, %shares
  %small = icmp eq i64 %chunk0, 0
  %chunk = select i1 %small, i64 1, i64 %chunk0
  %p1 = getelementptr %task, ptr %t, i64 0, i32 1
  store ptr %fn, ptr %p1
  %p2 = getelementptr %task, ptr %t, i64 0, i32 2
  store ptr %ctx, ptr %p2
  %p3 = getelementptr %task, ptr %t, i64 0, i32 3
  store ptr %closure, ptr %p3
  %p4 = getelementptr %task, ptr %t, i64 0, i32 4
  store i64 %end, ptr %p4
  %p5 = getelementptr %task, ptr %t, i64 0, i32 5
  store i64 %chunk, ptr %p5
  %perr = getelementptr %task, ptr %t, i64 0, i32 6
  store i32 0, ptr %perr
  %p7 = getelementptr %task, ptr %t, i64 0, i32 7
  store i32 %depth, ptr %p7
  %p9 = getelementptr %task, ptr %t, i64 0, i32 9
  store i64 %begin, ptr %p9
  %pworkers = getelementptr %task, ptr %t, i64 0, i32 10
  store i32 0, ptr %pworkers
  %e1 = sub i32 %extent, 1
  %n1 = sub i32 %threads, 1
  %workers = sub i32 %all, 1
  %few = icmp slt i32 %e1, %n1
  %need = select i1 %few, i32 %e1, i32 %n1
  %l0 = call i32 @pthread_mutex_lock(ptr @ph.pool.mutex)
  %head = load ptr, ptr @ph.pool.head
  store ptr %head, ptr %t
  store ptr %t, ptr @ph.pool.head
  %x = atomicrmw add ptr @ph.pool.pushes, i32 1 release
  br label %staff
staff:
  %idle = load i32, ptr @ph.pool.idle
  %short = icmp slt i32 %idle, %need
  %started = load i32, ptr @ph.pool.started
  %room = icmp slt i32 %started, %workers
  %hire = and i1 %short, %room
  br i1 %hire, label %start, label %wake
start:
  %r = call i32 @ph.pool.spawn(ptr @ph.pool.worker, ptr null)
  %came = icmp eq i32 %r, 0
  br i1 %came, label %started1, label %wake
started1:
  %s1 = add i32 %started, 1
  store i32 %s1, ptr @ph.pool.started
  %i1 = add i32 %idle, 1
  store i32 %i1, ptr @ph.pool.idle
  br label %staff
wake:
  %asleep = load i32, ptr @ph.pool.asleep
  %waiting = load i32, ptr @ph.pool.waiting
  %u0 = call i32 @pthread_mutex_unlock(ptr @ph.pool.mutex)
  %sleepers = icmp ne i32 %asleep, 0
  br i1 %sleepers, label %rouse, label %owners
rouse:
  %single = icmp eq i32 %need, 1
  br i1 %single, label %signal, label %broadcast
signal:
  %c1 = call i32 @pthread_cond_signal(ptr @ph.pool.work)
  br label %owners
broadcast:
  %c2 = call i32 @pthread_cond_broadcast(ptr @ph.pool.work)
  br label %owners
owners:
  %nested = icmp ne i32 %waiting, 0
  br i1 %nested, label %call, label %own
call:
  %c3 = call i32 @pthread_cond_broadcast(ptr @ph.pool.done)
  br label %own
own:
  call void @ph.pool.nibble(ptr %t)
  %l1 = call i32 @pthread_mutex_lock(ptr @ph.pool.mutex)
  br label %search
search:
  %link = phi ptr [ @ph.pool.head, %own ], [ %at, %step ]
  %at = load ptr, ptr %link
  %found = icmp eq ptr %at, %t
  br i1 %found, label %unlink, label %step
step:
  %lost = icmp eq ptr %at, null
  br i1 %lost, label %wait, label %search
unlink:
  %older = load ptr, ptr %t
  store ptr %older, ptr %link
  br label %wait
wait:
  %w = load atomic i32, ptr %pworkers acquire, align 4
  %finished = icmp eq i32 %w, 0
  br i1 %finished, label %leave, label %help
help:
  %seen = load atomic i32, ptr @ph.pool.pushes monotonic, align 4
  %h = call ptr @ph.pool.find(ptr %ctx, i32 %depth)
  %nohelp = icmp eq ptr %h, null
  br i1 %nohelp, label %linger, label %assist
assist:
  call void @ph.pool.join(ptr %h, i32 0)
  br label %wait
linger:
  %u1 = call i32 @pthread_mutex_unlock(ptr @ph.pool.mutex)
  %news = call i1 @ph.pool.spin(ptr @ph.pool.pushes, i32 %seen, ptr %pworkers)
  %l2 = call i32 @pthread_mutex_lock(ptr @ph.pool.mutex)
  br i1 %news, label %wait, label %sleep
sleep:
  %w2 = load atomic i32, ptr %pworkers acquire, align 4
  %over = icmp eq i32 %w2, 0
  br i1 %over, label %leave, label %doze
doze:
  %now = load atomic i32, ptr @ph.pool.pushes monotonic, align 4
  %pushed = icmp ne i32 %now, %seen
  br i1 %pushed, label %help, label %nap
nap:
  %q0 = load i32, ptr @ph.pool.waiting
  %q1 = add i32 %q0, 1
  store i32 %q1, ptr @ph.pool.waiting
  call void @ph.watch.wait(ptr @ph.pool.done, ptr @ph.pool.mutex, ptr %ctx)
  %q2 = load i32, ptr @ph.pool.waiting
  %q3 = sub i32 %q2, 1
  store i32 %q3, ptr @ph.pool.waiting
  br label %sleep
leave:
  %u2 = call i32 @pthread_mutex_unlock(ptr @ph.pool.mutex)
  %result = load atomic i32, ptr %perr acquire, align 4
  ret i32 %result
}
"""

__all__ = ["PAR_FOR"]
