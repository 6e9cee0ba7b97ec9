"""Textures of NVIDIA's GPUs, as LLVM IR: objects by which kernels read their memory.

A texture object of the driver's says where rows of texels lie, how far they are from
each other, and what is read beyond them. Texels are read as the integers that their
bits are, one by one, by coordinates that count them. Objects are kept with the block
of memory that they are of, as long as the driver has not got that back: the next run
finds them. A part of `cuda_ir`.
"""

from __future__ import annotations

#: So many are kept with a block that is given out again: where there are more, none.
MOST_KEPT = 16

#: The bytes of CUDA_RESOURCE_DESC and CUDA_TEXTURE_DESC.
RESOURCE_BYTES, TEXTURE_BYTES = 144, 104

TEXTURES = """
; next of its block, the driver's object, texels in a row, rows, bytes from row to row,
; what it reads: the bits of a texel as CUarray_format has them, and above them
; (<< 8) the address mode.
%ph.cuda.texture = type { ptr, i64, i64, i64, i64, i32 }

; Stores the texture object of rows that begin where a block does.
define internal i32 @ph.cuda.texture(ptr %ctx, i64 %address, i64 %width, i64 %rows, \
i64 %pitch, i32 %what, ptr %place) {
  %s = call i32 @ph.cuda.enter(ptr %ctx)
  %good = icmp eq i32 %s, 0
  br i1 %good, label %on, label %not
not:
  ret i32 %s
on:
  %l = call i32 @pthread_mutex_lock(ptr @ph.cuda.memory)
  %bucket = call ptr @ph.cuda.bucket(i64 %address)
  br label %walk
walk:
  %link = phi ptr [ %bucket, %on ], [ %b, %compare ]
  %b = load ptr, ptr %link
  %end = icmp eq ptr %b, null
  br i1 %end, label %out, label %compare
compare:
  %pat = getelementptr %ph.cuda.block, ptr %b, i64 0, i32 1
  %at = load i64, ptr %pat
  %it = icmp eq i64 %at, %address
  br i1 %it, label %have, label %walk
have:
  %r0 = call i32 @ph.cuda.textured(ptr %b, i64 %width, i64 %rows, i64 %pitch, \
i32 %what, ptr %place)
  br label %out
out:
  ; What is not in use is no block of ours: INVALID_VALUE.
  %r = phi i32 [ 1, %walk ], [ %r0, %have ]
  %u = call i32 @pthread_mutex_unlock(ptr @ph.cuda.memory)
  call void @ph.cuda.leave()
  %status = call i32 @ph.cuda.status(i32 %r, i32 NO_TEXTURE)
  ret i32 %status
}

; The texture object of a block, kept or new; the driver's result. The context is
; current, the mutex held.
define internal i32 @ph.cuda.textured(ptr %b, i64 %width, i64 %rows, i64 %pitch, \
i32 %what, ptr %place) {
  %plist = getelementptr %ph.cuda.block, ptr %b, i64 0, i32 6
  br label %walk
walk:
  %link = phi ptr [ %plist, %0 ], [ %t, %next ]
  %t = load ptr, ptr %link
  %end = icmp eq ptr %t, null
  br i1 %end, label %make, label %compare
compare:
  %pw = getelementptr %ph.cuda.texture, ptr %t, i64 0, i32 2
  %w = load i64, ptr %pw
  %ph = getelementptr %ph.cuda.texture, ptr %t, i64 0, i32 3
  %h = load i64, ptr %ph
  %pp = getelementptr %ph.cuda.texture, ptr %t, i64 0, i32 4
  %p = load i64, ptr %pp
  %px = getelementptr %ph.cuda.texture, ptr %t, i64 0, i32 5
  %x = load i32, ptr %px
  %e0 = icmp eq i64 %w, %width
  %e1 = icmp eq i64 %h, %rows
  %e2 = icmp eq i64 %p, %pitch
  %e3 = icmp eq i32 %x, %what
  %e01 = and i1 %e0, %e1
  %e23 = and i1 %e2, %e3
  %same = and i1 %e01, %e23
  br i1 %same, label %found, label %next
next:
  br label %walk
found:
  %pobject = getelementptr %ph.cuda.texture, ptr %t, i64 0, i32 1
  %object = load i64, ptr %pobject
  store i64 %object, ptr %place
  ret i32 0
make:
  %node = call ptr @malloc(i64 48)
  %nonode = icmp eq ptr %node, null
  br i1 %nonode, label %poor, label %ask
poor:
  ret i32 2
ask:
  %paddress = getelementptr %ph.cuda.block, ptr %b, i64 0, i32 1
  %address = load i64, ptr %paddress
  %r = call i32 @ph.cuda.describe(i64 %address, i64 %width, i64 %rows, i64 %pitch, \
i32 %what, ptr %place)
  %ok = icmp eq i32 %r, 0
  br i1 %ok, label %keep, label %failed
failed:
  call void @free(ptr %node)
  ret i32 %r
keep:
  %first = load ptr, ptr %plist
  store ptr %first, ptr %node
  %made = load i64, ptr %place
  %n_1 = getelementptr %ph.cuda.texture, ptr %node, i64 0, i32 1
  store i64 %made, ptr %n_1
  %n_2 = getelementptr %ph.cuda.texture, ptr %node, i64 0, i32 2
  store i64 %width, ptr %n_2
  %n_3 = getelementptr %ph.cuda.texture, ptr %node, i64 0, i32 3
  store i64 %rows, ptr %n_3
  %n_4 = getelementptr %ph.cuda.texture, ptr %node, i64 0, i32 4
  store i64 %pitch, ptr %n_4
  %n_5 = getelementptr %ph.cuda.texture, ptr %node, i64 0, i32 5
  store i32 %what, ptr %n_5
  store ptr %node, ptr %plist
  ret i32 0
}

; Makes a texture object: two-dimensional, in linear memory (CU_RESOURCE_TYPE_PITCH2D),
; of one channel, read by points, as integers, at coordinates that are not normalised.
define internal i32 @ph.cuda.describe(i64 %address, i64 %width, i64 %rows, \
i64 %pitch, i32 %what, ptr %place) {
  %resource = alloca [RESOURCE_BYTES x i8], align 8
  %texture = alloca [TEXTURE_BYTES x i8], align 8
  call void @llvm.memset.p0.i64(ptr %resource, i8 0, i64 RESOURCE_BYTES, i1 false)
  call void @llvm.memset.p0.i64(ptr %texture, i8 0, i64 TEXTURE_BYTES, i1 false)
  %format = and i32 %what, 255
  %mode = lshr i32 %what, 8
  store i32 3, ptr %resource
  %r1 = getelementptr i8, ptr %resource, i64 8
  store i64 %address, ptr %r1
  %r2 = getelementptr i8, ptr %resource, i64 16
  store i32 %format, ptr %r2
  %r3 = getelementptr i8, ptr %resource, i64 20
  store i32 1, ptr %r3
  %r4 = getelementptr i8, ptr %resource, i64 24
  store i64 %width, ptr %r4
  %r5 = getelementptr i8, ptr %resource, i64 32
  store i64 %rows, ptr %r5
  %r6 = getelementptr i8, ptr %resource, i64 40
  store i64 %pitch, ptr %r6
  store i32 %mode, ptr %texture
  %t1 = getelementptr i8, ptr %texture, i64 4
  store i32 %mode, ptr %t1
  %t2 = getelementptr i8, ptr %texture, i64 8
  store i32 %mode, ptr %t2
  ; CU_TRSF_READ_AS_INTEGER
  %t3 = getelementptr i8, ptr %texture, i64 16
  store i32 1, ptr %t3
  %r = call i32 @ph.cuTexObjectCreate(ptr %place, ptr %resource, ptr %texture, \
ptr null)
  ret i32 %r
}

; Ends the texture objects of a block that is given out again if there are too many: not
; before, as a launch may be about to use several. The context is current, the mutex
; held.
define internal void @ph.cuda.fewer_textures(ptr %b) {
  %plist = getelementptr %ph.cuda.block, ptr %b, i64 0, i32 6
  br label %walk
walk:
  %link = phi ptr [ %plist, %0 ], [ %t, %next ]
  %n = phi i32 [ 0, %0 ], [ %n1, %next ]
  %t = load ptr, ptr %link
  %end = icmp eq ptr %t, null
  br i1 %end, label %few, label %next
next:
  %n1 = add i32 %n, 1
  br label %walk
few:
  %many = icmp ugt i32 %n, MOST_TEXTURES
  br i1 %many, label %clear, label %out
clear:
  ; Kernels that read them may still run.
  %waited = call i32 @ph.cuCtxSynchronize()
  call void @ph.cuda.untextured(ptr %b)
  br label %out
out:
  ret void
}

; Ends all texture objects of a block. The context is current, the mutex held.
define internal void @ph.cuda.untextured(ptr %b) {
  %plist = getelementptr %ph.cuda.block, ptr %b, i64 0, i32 6
  br label %walk
walk:
  %t = load ptr, ptr %plist
  %end = icmp eq ptr %t, null
  br i1 %end, label %out, label %drop
drop:
  %next = load ptr, ptr %t
  store ptr %next, ptr %plist
  %pobject = getelementptr %ph.cuda.texture, ptr %t, i64 0, i32 1
  %object = load i64, ptr %pobject
  %r = call i32 @ph.cuTexObjectDestroy(i64 %object)
  call void @free(ptr %t)
  br label %walk
out:
  ret void
}
"""


def names() -> dict[str, str]:
    """What TEXTURES' words in capitals stand for, beside those of `cuda_ir`."""
    return {
        "MOST_TEXTURES": str(MOST_KEPT),
        "RESOURCE_BYTES": str(RESOURCE_BYTES),
        "TEXTURE_BYTES": str(TEXTURE_BYTES),
    }


__all__ = ["MOST_KEPT", "TEXTURES", "names"]
