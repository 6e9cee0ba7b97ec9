"""Copies of buffers to a device and back, as LLVM IR: a part of `device_ir`.

Only pixels are copied, never what lies between rows: a crop shares both of its copies
with the rest of its image, and those may be written meanwhile.
"""

from __future__ import annotations

COPY = """
; Bytes of a pixel.
define internal i64 @ph.device.pixel(ptr %buffer) {
  %p = getelementptr %ph.buffer, ptr %buffer, i64 0, i32 4, i64 1
  %bits = load i8, ptr %p
  %wide = zext i8 %bits to i64
  %up = add i64 %wide, 7
  %bytes = lshr i64 %up, 3
  ret i64 %bytes
}

; One dimension: its extent, and its stride in bytes.
define internal { i64, i64 } @ph.device.side(ptr %buffer, i32 %d) {
  %pdim = getelementptr %ph.buffer, ptr %buffer, i64 0, i32 6
  %dim = load ptr, ptr %pdim
  %pe = getelementptr %ph.dimension, ptr %dim, i32 %d, i32 1
  %e32 = load i32, ptr %pe
  %e = sext i32 %e32 to i64
  %ps = getelementptr %ph.dimension, ptr %dim, i32 %d, i32 2
  %s32 = load i32, ptr %ps
  %s = sext i32 %s32 to i64
  %size = call i64 @ph.device.pixel(ptr %buffer)
  %stride = mul i64 %s, %size
  %r0 = insertvalue { i64, i64 } poison, i64 %e, 0
  %r1 = insertvalue { i64, i64 } %r0, i64 %stride, 1
  ret { i64, i64 } %r1
}

; How far the lowest address of a pixel is from that of the pixel at the mins (0 or
; less), and the bytes from there to the end of the last pixel (0 where there is none).
define internal { i64, i64 } @ph.device.reach(ptr %buffer) {
  %pn = getelementptr %ph.buffer, ptr %buffer, i64 0, i32 5
  %n = load i32, ptr %pn
  %size = call i64 @ph.device.pixel(ptr %buffer)
  br label %head
head:
  %d = phi i32 [ 0, %0 ], [ %d1, %some ]
  %low = phi i64 [ 0, %0 ], [ %low1, %some ]
  %span = phi i64 [ %size, %0 ], [ %span1, %some ]
  %more = icmp slt i32 %d, %n
  br i1 %more, label %side, label %out
side:
  %pair = call { i64, i64 } @ph.device.side(ptr %buffer, i32 %d)
  %e = extractvalue { i64, i64 } %pair, 0
  %s = extractvalue { i64, i64 } %pair, 1
  %steps = sub i64 %e, 1
  %far = mul i64 %steps, %s
  %down = call i64 @llvm.smin.i64(i64 %far, i64 0)
  %low1 = add i64 %low, %down
  %twice = shl i64 %down, 1
  %length = sub i64 %far, %twice
  %span1 = add i64 %span, %length
  %d1 = add i32 %d, 1
  %empty = icmp slt i64 %e, 1
  br i1 %empty, label %none, label %some
some:
  br label %head
none:
  ret { i64, i64 } zeroinitializer
out:
  %r0 = insertvalue { i64, i64 } poison, i64 %low, 0
  %r1 = insertvalue { i64, i64 } %r0, i64 %span, 1
  ret { i64, i64 } %r1
}

; Copies all pixels. Dimensions are ordered by their strides; those that together are
; dense become the width of a row, the next one is the rows of a call.
define internal i32 @ph.device.copy(ptr %ctx, ptr %buffer, i1 %tohost) {
  %pn = getelementptr %ph.buffer, ptr %buffer, i64 0, i32 5
  %n = load i32, ptr %pn
  %room = add i32 %n, 1
  %extents = alloca i64, i32 %room
  %strides = alloca i64, i32 %room
  %places = alloca i64, i32 %room
  %size = call i64 @ph.device.pixel(ptr %buffer)
  %reach = call { i64, i64 } @ph.device.reach(ptr %buffer)
  %low = extractvalue { i64, i64 } %reach, 0
  %span = extractvalue { i64, i64 } %reach, 1
  %nothing = icmp eq i64 %span, 0
  br i1 %nothing, label %done, label %sort
sort:
  %d = phi i32 [ 0, %0 ], [ %d1, %sorted ]
  %m = phi i32 [ 0, %0 ], [ %m1, %sorted ]
  %unsorted = icmp slt i32 %d, %n
  br i1 %unsorted, label %side, label %merge
side:
  %pair = call { i64, i64 } @ph.device.side(ptr %buffer, i32 %d)
  %e = extractvalue { i64, i64 } %pair, 0
  %signed = extractvalue { i64, i64 } %pair, 1
  %s = call i64 @llvm.abs.i64(i64 %signed, i1 false)
  %one = icmp eq i64 %e, 1
  %still = icmp eq i64 %s, 0
  %moot = or i1 %one, %still
  br i1 %moot, label %sorted, label %insert
insert:
  %i = phi i32 [ %m, %side ], [ %before, %shift ]
  %before = sub i32 %i, 1
  %pi.s = getelementptr i64, ptr %strides, i32 %i
  %pi.e = getelementptr i64, ptr %extents, i32 %i
  %first = icmp eq i32 %i, 0
  br i1 %first, label %place, label %compare
compare:
  %pb.s = getelementptr i64, ptr %strides, i32 %before
  %b.s = load i64, ptr %pb.s
  %greater = icmp sgt i64 %b.s, %s
  br i1 %greater, label %shift, label %place
shift:
  %pb.e = getelementptr i64, ptr %extents, i32 %before
  %b.e = load i64, ptr %pb.e
  store i64 %b.s, ptr %pi.s
  store i64 %b.e, ptr %pi.e
  br label %insert
place:
  store i64 %s, ptr %pi.s
  store i64 %e, ptr %pi.e
  %grown = add i32 %m, 1
  br label %sorted
sorted:
  %m1 = phi i32 [ %m, %side ], [ %grown, %place ]
  %d1 = add i32 %d, 1
  br label %sort

merge:
  %j = phi i32 [ 0, %sort ], [ %j1, %merged ]
  %k = phi i32 [ 0, %sort ], [ %k1, %merged ]
  %width = phi i64 [ %size, %sort ], [ %width1, %merged ]
  %unmerged = icmp slt i32 %j, %m
  br i1 %unmerged, label %next, label %rows
next:
  %pj.s = getelementptr i64, ptr %strides, i32 %j
  %j.s = load i64, ptr %pj.s
  %pj.e = getelementptr i64, ptr %extents, i32 %j
  %j.e = load i64, ptr %pj.e
  %inrow = icmp eq i32 %k, 0
  br i1 %inrow, label %dense, label %regular
dense:
  ; Pixels that reach each other leave nothing between them.
  %touch = icmp sle i64 %j.s, %width
  br i1 %touch, label %widen, label %append
widen:
  %j.steps = sub i64 %j.e, 1
  %j.far = mul i64 %j.steps, %j.s
  %wider = add i64 %width, %j.far
  br label %merged
regular:
  %last = sub i32 %k, 1
  %pl.s = getelementptr i64, ptr %strides, i32 %last
  %l.s = load i64, ptr %pl.s
  %pl.e = getelementptr i64, ptr %extents, i32 %last
  %l.e = load i64, ptr %pl.e
  %onward = mul i64 %l.s, %l.e
  %follows = icmp eq i64 %onward, %j.s
  br i1 %follows, label %lengthen, label %append
lengthen:
  %longer = mul i64 %l.e, %j.e
  store i64 %longer, ptr %pl.e
  br label %merged
append:
  %pk.s = getelementptr i64, ptr %strides, i32 %k
  store i64 %j.s, ptr %pk.s
  %pk.e = getelementptr i64, ptr %extents, i32 %k
  store i64 %j.e, ptr %pk.e
  %pk.p = getelementptr i64, ptr %places, i32 %k
  store i64 0, ptr %pk.p
  %kept = add i32 %k, 1
  br label %merged
merged:
  %k1 = phi i32 [ 0, %widen ], [ %k, %lengthen ], [ %kept, %append ]
  %width1 = phi i64 [ %wider, %widen ], [ %width, %lengthen ], [ %width, %append ]
  %j1 = add i32 %j, 1
  br label %merge

rows:
  %single = icmp eq i32 %k, 0
  %h0 = load i64, ptr %extents
  %p0 = load i64, ptr %strides
  %height = select i1 %single, i64 1, i64 %h0
  %pitch = select i1 %single, i64 %width, i64 %p0
  %bytes = mul i64 %width, %height
  %pinterface = getelementptr %ph.buffer, ptr %buffer, i64 0, i32 1
  %interface = load ptr, ptr %pinterface
  %pto = getelementptr %ph.interface, ptr %interface, i64 0, i32 4
  %todevice = load ptr, ptr %pto
  %pback = getelementptr %ph.interface, ptr %interface, i64 0, i32 5
  %back = load ptr, ptr %pback
  %device0 = load i64, ptr %buffer
  %device = add i64 %device0, %low
  %phost = getelementptr %ph.buffer, ptr %buffer, i64 0, i32 2
  %host0 = load ptr, ptr %phost
  %host = getelementptr i8, ptr %host0, i64 %low
  %counted = select i1 %tohost, i64 TO_HOST, i64 TO_DEVICE
  %measured = add i64 %counted, 1
  call void @ph.device.count(i64 %counted, i64 1)
  %kind = select i1 %tohost, i64 2, i64 1
  %log = call ptr @ph.device.log(ptr %ctx)
  %silent = icmp eq ptr %log, null
  br i1 %silent, label %call, label %note
note:
  ; What is copied to the device is written there.
  %all = call i64 @ph_device_bytes(ptr %buffer)
  %in.bytes = select i1 %tohost, i64 %all, i64 0
  %out.bytes = select i1 %tohost, i64 0, i64 %all
  %entry = call ptr @ph.device.begin(ptr %ctx, ptr %interface, i64 %kind, \
i64 %in.bytes, i64 %out.bytes)
  br label %call
call:
  %at = phi i64 [ 0, %rows ], [ 0, %note ], [ %at.next, %step ]
  %noted = phi ptr [ null, %rows ], [ %entry, %note ], [ %noted, %step ]
  %on = add i64 %device, %at
  %in = getelementptr i8, ptr %host, i64 %at
  br i1 %tohost, label %from, label %to
from:
  %r.from = call i32 %back(ptr %ctx, ptr %in, i64 %on, i64 %width, i64 %height, \
i64 %pitch)
  br label %called
to:
  %r.to = call i32 %todevice(ptr %ctx, i64 %on, ptr %in, i64 %width, i64 %height, \
i64 %pitch)
  br label %called
called:
  %r = phi i32 [ %r.from, %from ], [ %r.to, %to ]
  %bad = icmp ne i32 %r, 0
  br i1 %bad, label %failed, label %more
failed:
  ret i32 %r
more:
  call void @ph.device.count(i64 %measured, i64 %bytes)
  br label %advance
advance:
  ; The next place in the other dimensions, the first of them first.
  %q = phi i32 [ 1, %more ], [ %q1, %wrap ]
  %at.q = phi i64 [ %at, %more ], [ %at.back, %wrap ]
  %outside = icmp sge i32 %q, %k
  br i1 %outside, label %wait, label %count
count:
  %pq.p = getelementptr i64, ptr %places, i32 %q
  %q.p = load i64, ptr %pq.p
  %q.p1 = add i64 %q.p, 1
  %pq.e = getelementptr i64, ptr %extents, i32 %q
  %q.e = load i64, ptr %pq.e
  %pq.s = getelementptr i64, ptr %strides, i32 %q
  %q.s = load i64, ptr %pq.s
  %inside = icmp slt i64 %q.p1, %q.e
  br i1 %inside, label %step, label %wrap
step:
  store i64 %q.p1, ptr %pq.p
  %at.next = add i64 %at.q, %q.s
  br label %call
wrap:
  store i64 0, ptr %pq.p
  %q.far = mul i64 %q.p, %q.s
  %at.back = sub i64 %at.q, %q.far
  %q1 = add i32 %q, 1
  br label %advance
wait:
  call void @ph.device.end(ptr %ctx, ptr %interface, ptr %noted)
  %pfinish = getelementptr %ph.interface, ptr %interface, i64 0, i32 7
  %finish = load ptr, ptr %pfinish
  %waited = call i32 %finish(ptr %ctx)
  ret i32 %waited
done:
  ret i32 0
}
"""

__all__ = ["COPY"]
