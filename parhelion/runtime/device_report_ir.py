"""What kernels report of their failures, as LLVM IR: a part of `device_ir`.

A call has one record for all of its kernels, which is made when the first of them is
launched: the head of a context, all zeros until a thread fails
(`codegen.nvptx.reports`). Where it is on the device stands in a *slot* of the call's
frame, 0 before.
"""

from __future__ import annotations

from parhelion.runtime.context import Context

#: The bytes of a record: a context as far as failures tell of themselves.
RECORD_BYTES: int = Context.args.offset + Context.args.size

REPORT = """
@ph.device.clear = internal constant [RECORD_BYTES x i8] zeroinitializer

; Makes the record, unless there is one.
define i32 @ph_device_report(ptr %ctx, ptr %interface, ptr %slot) {
  %known = load i64, ptr %slot
  %have = icmp ne i64 %known, 0
  br i1 %have, label %fine, label %make
fine:
  ret i32 0
make:
  %pallocate = getelementptr %ph.interface, ptr %interface, i64 0, i32 2
  %allocate = load ptr, ptr %pallocate
  %r = call i32 %allocate(ptr %ctx, i64 RECORD_BYTES, ptr %slot)
  %good = icmp eq i32 %r, 0
  br i1 %good, label %clear, label %not
not:
  store i64 0, ptr %slot
  ret i32 %r
clear:
  %at = load i64, ptr %slot
  %pto = getelementptr %ph.interface, ptr %interface, i64 0, i32 4
  %to = load ptr, ptr %pto
  %q = call i32 %to(ptr %ctx, i64 %at, ptr @ph.device.clear, i64 RECORD_BYTES, i64 1, \
i64 RECORD_BYTES)
  ret i32 %q
}

; Copies the record to memory of the host when all kernels so far have run; zeros if
; there is none.
define i32 @ph_device_look(ptr %ctx, ptr %interface, ptr %slot, ptr %into) {
  call void @llvm.memset.p0.i64(ptr %into, i8 0, i64 RECORD_BYTES, i1 false)
  %at = load i64, ptr %slot
  %none = icmp eq i64 %at, 0
  br i1 %none, label %fine, label %copy
fine:
  ret i32 0
copy:
  %pback = getelementptr %ph.interface, ptr %interface, i64 0, i32 5
  %back = load ptr, ptr %pback
  %r = call i32 %back(ptr %ctx, ptr %into, i64 %at, i64 RECORD_BYTES, i64 1, \
i64 RECORD_BYTES)
  %good = icmp eq i32 %r, 0
  br i1 %good, label %wait, label %not
not:
  ret i32 %r
wait:
  %q = call i32 @ph_device_finish(ptr %ctx, ptr %interface)
  ret i32 %q
}

; Frees the record, if there is one.
define void @ph_device_drop(ptr %ctx, ptr %interface, ptr %slot) {
  %at = load i64, ptr %slot
  %none = icmp eq i64 %at, 0
  br i1 %none, label %out, label %free
free:
  %pfree = getelementptr %ph.interface, ptr %interface, i64 0, i32 3
  %f = load ptr, ptr %pfree
  %r = call i32 %f(ptr %ctx, i64 %at)
  store i64 0, ptr %slot
  br label %out
out:
  ret void
}
"""


def names() -> dict[str, str]:
    """What REPORT's words in capitals stand for, beside those of `device_ir`."""
    return {"RECORD_BYTES": str(RECORD_BYTES)}


__all__ = ["RECORD_BYTES", "REPORT", "names"]
