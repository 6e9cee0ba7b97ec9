"""Printing for compiled code, as LLVM IR: part of the pool's module."""

from __future__ import annotations

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
