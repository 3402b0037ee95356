// A batch, block by block, on all threads.
#pragma once

#include <ATen/Parallel.h>

#include <atomic>

#include "block.h"
#include "every_class.h"
#include "pair.h"
#include "powers_block.h"

namespace noiseproof {

constexpr int64_t SCRATCH = 32768; // floats of scratch memory a block of rows may take
constexpr int64_t PER_THREAD = 16384; // logits worth a thread

// All rows; false if a margin is not finite.
template <template <class> class Kind, class Number>
bool sweep(
    const RowProgram& loss, const Logits<Number>& logits, const Labels& labels, const Results<Number>& results,
    const Beside& beside) {
  const int64_t width = padded(logits.classes);
  const int64_t block = std::clamp<int64_t>(SCRATCH / width, 1, BLOCK);
  const int64_t grain = std::max<int64_t>(1, PER_THREAD / width);
  std::atomic<bool> finite{true};
  at::parallel_for(0, logits.rows, grain, [&](int64_t begin, int64_t end) {
    Workspace space(loss, beside, std::min(block, end - begin), width);
    for (int64_t i = begin; i < end; i += block) {
      const Kind<Number> rows{loss, logits, labels, results, beside, space, i, std::min(end, i + block)};
      if (!rows.run_all()) finite = false;
    }
  });
  return finite;
}

} // namespace noiseproof
