// Rows of logits: reading them into scratch memory, and sums over the classes other than the label.
#pragma once

#include <type_traits>

#include "functions.h"

namespace noiseproof {

constexpr int64_t CHUNK = 64 * WIDTH; // numbers summed in float; chunks are summed in double

// Rows in scratch memory have this length.
inline int64_t padded(int64_t classes) { return (classes + WIDTH - 1) / WIDTH * WIDTH; }

template <class Number>
struct Logits {
  const Number* start;
  int64_t rows, classes, row_stride, column_stride;

  const Number* row(int64_t i) const { return start + i * row_stride; }
  float at(int64_t i, int64_t j) const { return static_cast<float>(row(i)[j * column_stride]); }
};

struct Labels {
  const int64_t* target;
  int64_t ignore_index;

  bool kept(int64_t i) const { return target[i] != ignore_index; }
};

// How many rows count; -1 if a label that is not ignored is not a valid class index.
inline int64_t count_kept(const Labels& labels, int64_t rows, int64_t classes) {
  int64_t kept = 0, strays = 0;
  for (int64_t i = 0; i < rows; ++i) {
    const bool counts = labels.kept(i);
    kept += counts;
    strays += counts && (labels.target[i] < 0 || labels.target[i] >= classes);
  }
  return strays ? -1 : kept;
}

// Row i as contiguous floats: in place, or copied to ``space``.
template <class Number>
inline const float* as_floats(const Logits<Number>& logits, int64_t i, float* space) {
  const Number* row = logits.row(i);
  if constexpr (std::is_same_v<Number, float>)
    if (logits.column_stride == 1) return row;
  if (logits.column_stride == 1)
    for (int64_t j = 0; j < logits.classes; ++j) space[j] = static_cast<float>(row[j]);
  else
    for (int64_t j = 0; j < logits.classes; ++j) space[j] = logits.at(i, j);
  return space;
}

// The row into scratch memory, -inf at the label and in the padding; returns the largest of it.
template <class Number>
inline float load(const Logits<Number>& logits, int64_t i, int64_t hidden, float* z) {
  const auto label = static_cast<int32_t>(hidden);
  const float* row = as_floats(logits, i, z);
  Vector largest = all(LOWEST);
  const auto take = [&](int64_t j, Vector here) {
    here = positions(j) == label ? all(LOWEST) : here;
    write(z + j, here);
    largest = larger(here, largest);
  };
  const int64_t whole = logits.classes / WIDTH * WIDTH;
  for (int64_t j = 0; j < whole; j += WIDTH) take(j, read(row + j));
  if (whole < logits.classes) take(whole, read_first(row + whole, logits.classes - whole));
  return maximum(largest);
}

// Prefetches the row of logits after the next and the row's place in the gradient: both are needed right after its
// exponentials. The next row has been started before them: finding its largest logit takes long, but nothing
// waits for it.
struct Ahead {
  static constexpr int64_t LINE = 64;
  const char *next = nullptr, *out = nullptr; // or null
  int64_t size = 0; // bytes of a number

  template <class Number>
  Ahead(const Logits<Number>& logits, int64_t i, const Number* gradient) : size(sizeof(Number)) {
    if (logits.column_stride == 1 && i + 2 < logits.rows) next = reinterpret_cast<const char*>(logits.row(i + 2));
    if (gradient) out = reinterpret_cast<const char*>(gradient + i * logits.classes);
  }

  // The cache lines at place j of both, where a line starts there.
  INLINE void operator()(int64_t j) const {
    const int64_t from = j * size;
    if (from % LINE) return;
    if (next) __builtin_prefetch(next + from, 0);
    if (out) __builtin_prefetch(out + from, 1);
  }
};

// What a loss wants beside the margin.
struct Wanted {
  bool sums = false, squares = false, products = false;
};

// Sums over a row; z is relative to the label's logit, which does not change a loss of a softmax.
struct Sums {
  double peak = 0, mass = 1, sum_z = 0, classes = 0, squares = 0, products = 0;
  int64_t top = -1; // the likeliest of the other classes where squares are wanted and there is only one
  double absent = 0; // places of -inf in scratch memory, found with sum_z: masked classes, the label and padding
};

// Sums of one chunk, in float.
struct Chunk {
  Vector mass{}, squares{}, sum_z{}, classes{}, absent{}, products{}, ties{};
};

// First pass over a loaded row; ``z`` becomes exp(z - peak), ``shifted`` z - own if products are wanted.
//
// The likeliest class has a share near 1 and differences to its square matter: the others are summed without it, so
// that mass - 1 keeps its digits. ``weights`` of the classes in sum_z are padded with zeros.
template <bool SUMS, bool SQUARES, bool PRODUCTS, bool WEIGHTED>
inline Sums sums_of(
    float* z, int64_t n, float peak, float own, const Ahead& ahead, float* shifted, const float* weights) {
  Sums found;
  Whole places = Whole{} - 1;
  double ties = 0;
  found.peak = peak;
  found.mass = 0;
  for (int64_t begin = 0; begin < n; begin += CHUNK) {
    Chunk chunk;
    for (int64_t j = begin, end = std::min(n, begin + CHUNK); j < end; j += WIDTH) {
      ahead(j);
      const Vector here = read(z + j), e = raised(here - peak);
      const Vector relative = here == LOWEST ? all(0.0f) : here - own;
      write(z + j, e);
      if constexpr (SUMS && WEIGHTED) {
        const Vector share = here == LOWEST ? all(0.0f) : read(weights + j);
        chunk.sum_z += relative * share;
        chunk.classes += share;
        chunk.absent += here == LOWEST ? all(1.0f) : all(0.0f);
      } else if constexpr (SUMS) {
        chunk.sum_z += relative;
        chunk.classes += here == LOWEST ? all(0.0f) : all(1.0f);
      }
      if constexpr (PRODUCTS) {
        write(shifted + j, relative);
        chunk.products += e * relative;
      }
      if constexpr (SQUARES) {
        const Vector low = here == peak ? all(0.0f) : e;
        chunk.squares += low * low;
        chunk.mass += low;
        chunk.ties += here == peak ? all(1.0f) : all(0.0f);
        places = here == peak ? positions(j) : places;
      } else {
        chunk.mass += e;
      }
    }
    found.mass += sum(chunk.mass);
    if constexpr (SUMS) found.sum_z += sum(chunk.sum_z), found.classes += sum(chunk.classes);
    if constexpr (SUMS && WEIGHTED) found.absent += sum(chunk.absent);
    if constexpr (SQUARES) found.squares += sum(chunk.squares), ties += sum(chunk.ties);
    if constexpr (PRODUCTS) found.products += sum(chunk.products);
  }
  if constexpr (SUMS && !WEIGHTED) found.absent = static_cast<double>(n) - found.classes;
  if constexpr (SQUARES) {
    if (ties == 1) found.top = largest(places);
    found.mass += ties;
    found.squares = (found.squares + ties) / (found.mass * found.mass);
  }
  if constexpr (PRODUCTS) found.products /= found.mass;
  return found;
}

using SumsFunction = Sums (*)(float*, int64_t, float, float, const Ahead&, float*, const float*);

inline SumsFunction sums_function(const Wanted& wanted) {
  static constexpr SumsFunction all_of_them[] = {
      sums_of<false, false, false, false>, sums_of<true, false, false, false>, sums_of<false, true, false, false>,
      sums_of<true, true, false, false>,   sums_of<false, false, true, false>, sums_of<true, false, true, false>,
      sums_of<false, true, true, false>,   sums_of<true, true, true, false>};
  return all_of_them[wanted.sums + 2 * wanted.squares + 4 * wanted.products];
}

} // namespace noiseproof
