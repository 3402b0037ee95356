// Memory asked for while there is something else to do.
#pragma once

#include "rows.h"

namespace noiseproof {

// The row of logits after the next, and the place of a row's gradient: both are wanted right after its exponentials.
// The next one is begun before them already: finding its largest logit takes long, but nothing waits for it.
struct Ahead {
  static constexpr int64_t LINE = 64;
  const char *next = nullptr, *out = nullptr; // or null
  int64_t size = 0; // bytes of a number

  template <class Number>
  Ahead(const Logits<Number>& logits, int64_t i, const Number* gradient) : size(sizeof(Number)) {
    if (logits.column_stride == 1 && i + 2 < logits.rows) next = reinterpret_cast<const char*>(logits.row(i + 2));
    if (gradient) out = reinterpret_cast<const char*>(gradient + i * logits.classes);
  }

  // The lines that begin at place j of both, where lines begin.
  INLINE void operator()(int64_t j) const {
    const int64_t from = j * size;
    if (from % LINE) return;
    if (next) __builtin_prefetch(next + from, 0);
    if (out) __builtin_prefetch(out + from, 1);
  }
};

} // namespace noiseproof
