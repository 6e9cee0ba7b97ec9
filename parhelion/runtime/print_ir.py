"""Printing for compiled code, as LLVM IR: part of the pool's module."""

from __future__ import annotations

from parhelion.runtime.python_ir import API

PRINT = """
declare WORD @write(i32, ptr, WORD)
declare WORD @strlen(ptr)

; Prints through the context's function; without one as this process prints.
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
  call void @ph.print.plain(ptr %text)
  ret void
}
"""

#: With Python, its sys.stdout; else the standard output.
_WITH_PYTHON = f"""
define internal void @ph.print.plain(ptr %text) {{
  %p = getelementptr ptr, ptr @ph.watch.python, i64 {len(API)}
  %function = load ptr, ptr %p
  %good = call i32 @ph_python(ptr %function, ptr %text)
  ret void
}}
"""
_ALONE = """
define internal void @ph.print.plain(ptr %text) {
  %n = call WORD @strlen(ptr %text)
  %w = call WORD @write(i32 1, ptr %text, WORD %n)
  ret void
}
"""


def text(python: bool) -> str:
    """The part of the module. python: whether it is for this process, with Python."""
    return PRINT + (_WITH_PYTHON if python else _ALONE)


__all__ = ["text"]
