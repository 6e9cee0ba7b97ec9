"""Storage on the heap in C text, of which large blocks are kept for the next call.

What `malloc` gives of more than 128 KiB the system maps anew, and takes back when it is
freed: each page of it faults when it is first touched, at each call, which takes longer
than many a stage. So a file keeps what it gives back, in slots that are exchanged as a
whole: whoever finds a block in one has it alone. No slot is waited for, and there is no
lock that a thread might hold when it is stopped.
"""

from __future__ import annotations

from collections.abc import Mapping

#: The macro by which who compiles the text says how many bytes are kept at most.
LIMIT = "PARHELION_KEPT_BYTES"

#: The functions, each after those that it calls.
BLOCKS: Mapping[str, str] = {
    "kept_block": f"""\
// Large blocks of storage are kept for the next call: new ones would come page by page.
#ifndef {LIMIT}
#define {LIMIT} ((size_t)512 << 20)
#endif
#ifndef __STDC_NO_ATOMICS__
#include <stdatomic.h>
#endif
// What stands before each block. size: of one that may be kept; else 0.
struct kept_block {{
  void *made;
  size_t size;
}};""",
    "drop_kept": """\
#ifndef __STDC_NO_ATOMICS__
enum { KEPT_SLOTS = 64 };
// Each is NULL, or has a block that nobody uses. Who takes it out has it alone.
static _Atomic(struct kept_block *) kept_slots[KEPT_SLOTS];
static atomic_size_t kept_bytes;
static atomic_uint kept_turn;

static inline struct kept_block *take_kept(unsigned slot) {
  if (!atomic_load_explicit(&kept_slots[slot], memory_order_relaxed)) return NULL;
  struct kept_block *b = atomic_exchange(&kept_slots[slot], NULL);
  if (b) atomic_fetch_sub(&kept_bytes, b->size);
  return b;
}

static inline void drop_kept(unsigned slot) {
  struct kept_block *b = take_kept(slot);
  if (b) free(b->made);
}
#endif""",
    "keep_block": f"""\
// Keeps a block, in place of others if need be; whether it is kept.
static inline bool keep_block(struct kept_block *b) {{
#ifndef __STDC_NO_ATOMICS__
  if (b->size == 0 || b->size > {LIMIT}) return false;
  size_t bytes = atomic_fetch_add(&kept_bytes, b->size) + b->size;
  for (unsigned i = 0; i < KEPT_SLOTS && bytes > {LIMIT}; i++) {{
    drop_kept(atomic_fetch_add(&kept_turn, 1) % KEPT_SLOTS);
    bytes = atomic_load(&kept_bytes);
  }}
  for (unsigned i = 0; i < KEPT_SLOTS && bytes <= {LIMIT}; i++) {{
    struct kept_block *none = NULL;
    if (atomic_load_explicit(&kept_slots[i], memory_order_relaxed)) continue;
    if (atomic_compare_exchange_strong(&kept_slots[i], &none, b)) return true;
  }}
  if (bytes <= {LIMIT}) {{
    // All slots are full, of sizes that nobody asks for, it may be.
    unsigned slot = atomic_fetch_add(&kept_turn, 1) % KEPT_SLOTS;
    struct kept_block *old = atomic_exchange(&kept_slots[slot], b);
    if (old) {{
      atomic_fetch_sub(&kept_bytes, old->size);
      free(old->made);
    }}
    return true;
  }}
  atomic_fetch_sub(&kept_bytes, b->size);
#endif
  (void)b;
  return false;
}}""",
    "storage": """\
// A block that begins on a cache line, and a large one elsewhere in a page than others,
// with which it would share places of the cache.
#ifdef __GNUC__
__attribute__((malloc, noinline))
#endif
static void *storage(size_t elements, size_t size) {
  const size_t line = 64, page = 4096;
  if (elements > SIZE_MAX / 4 / size) return NULL;
  size_t bytes = elements * size, step = page, large = 0, place = line;
  if (bytes >= 64 * 1024) {
    while (step * 16 <= bytes) step *= 2;
    bytes = large = (bytes + step - 1) / step * step;
#ifndef __STDC_NO_ATOMICS__
    for (unsigned i = 0; i < KEPT_SLOTS; i++) {
      struct kept_block *b = take_kept(i);
      if (b && b->size == large) return b + 1;
      if (b && !keep_block(b)) free(b->made);
    }
    place = atomic_fetch_add(&kept_turn, 1) % 8 * 512;
#endif
  }
  char *made = malloc(bytes + sizeof(struct kept_block) + line + (large ? page : 0));
  if (!made) return NULL;
  uintptr_t first = (uintptr_t)made + sizeof(struct kept_block);
  size_t skip = (place - first) % (large ? page : line);
  struct kept_block *b = (struct kept_block *)(made + skip);
  b->made = made;
  b->size = large;
  return b + 1;
}""",
    "give_back": """\
#ifdef __GNUC__
__attribute__((noinline))
#endif
static void give_back(void *block) {
  if (!block) return;
  struct kept_block *b = (struct kept_block *)block - 1;
  if (!keep_block(b)) free(b->made);
}""",
    "release_storage": """\
// Frees what is kept, and nothing that is in use.
static inline void release_storage(void) {
#ifndef __STDC_NO_ATOMICS__
  for (unsigned i = 0; i < KEPT_SLOTS; i++) drop_kept(i);
#endif
}""",
}


def release(name: str, keeps: bool) -> str:
    """The definition of the function that frees what is kept. keeps: whether anything
    is, in this file."""
    body = "{ release_storage(); }" if keeps else "{}"
    return f"void {name}(void);\nvoid {name}(void) {body}\n"


__all__ = ["BLOCKS", "LIMIT", "release"]
