// One row of logits: sums over the classes other than the label, and the gradient they give.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "functions.h"

namespace noiseproof {

constexpr int64_t CHUNK = 64 * WIDTH; // so many numbers are added up in float, chunks in double

// Rows in scratch memory have this length.
inline int64_t padded(int64_t classes) { return (classes + WIDTH - 1) / WIDTH * WIDTH; }

template <class Number>
struct Logits {
  const Number* start;
  int64_t rows, classes, row_stride, column_stride;

  const Number* row(int64_t i) const { return start + i * row_stride; }
  float at(int64_t i, int64_t j) const { return static_cast<float>(row(i)[j * column_stride]); }
};

// What a loss wants beside the margin.
struct Wanted {
  bool sums = false, squares = false, products = false;
};

// Sums over a row; z is taken relative to the label's logit, which no loss of a softmax notices.
struct Sums {
  double peak = 0, mass = 1, sum_z = 0, classes = 0, squares = 0, products = 0;
  int64_t top = -1; // the likeliest of the other classes where squares are wanted and there is only one
};

// Row i as floats one after the other: where it lies, or copied to ``space``.
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

// Places of a row to leave out; -1 is none.
struct Hidden {
  int64_t label = -1, second = -1;
};

// ``take(j, numbers)`` for the row from its beginning, -inf in the padding.
template <class Number, class Take>
inline void each_vector(const Logits<Number>& logits, int64_t i, float* space, Take take) {
  const float* row = as_floats(logits, i, space);
  const int64_t whole = logits.classes / WIDTH * WIDTH;
  for (int64_t j = 0; j < whole; j += WIDTH) take(j, read(row + j));
  if (whole < logits.classes) take(whole, read_first(row + whole, logits.classes - whole));
}

// The row into scratch memory, -inf where it is hidden; the largest of it.
template <bool TWO = false, class Number>
inline float load(const Logits<Number>& logits, int64_t i, Hidden hidden, float* z) {
  const auto label = static_cast<int32_t>(hidden.label), second = static_cast<int32_t>(hidden.second);
  Vector largest = all(LOWEST);
  each_vector(logits, i, z, [&](int64_t j, Vector here) {
    here = positions(j) == label ? all(LOWEST) : here;
    if constexpr (TWO) here = positions(j) == second ? all(LOWEST) : here;
    write(z + j, here);
    largest = here > largest ? here : largest;
  });
  return maximum(largest);
}

// The whole row into scratch memory; the largest of it and where one of these is.
template <class Number>
inline std::pair<float, int64_t> load_all(const Logits<Number>& logits, int64_t i, float* z) {
  Vector most = all(LOWEST);
  Whole places{};
  each_vector(logits, i, z, [&](int64_t j, Vector here) {
    write(z + j, here);
    places = here > most ? positions(j) : places;
    most = here > most ? here : most;
  });
  const float peak = maximum(most);
  return {peak, largest(most == peak ? places : Whole{})};
}

// Sums of one chunk, in float.
struct Chunk {
  Vector mass{}, squares{}, sum_z{}, classes{}, products{}, ties{};
};

// First pass over a loaded row; ``z`` becomes exp(z - peak), ``shifted`` z - own if products are wanted.
//
// The likeliest class has a share near 1 and differences to its square matter: what the others add up to is
// summed without it, so that mass - 1 keeps its digits.
template <bool SUMS, bool SQUARES, bool PRODUCTS>
inline Sums sums_of(float* z, int64_t n, float peak, float own, float* shifted) {
  Sums found;
  Whole places = Whole{} - 1;
  double ties = 0;
  found.peak = peak;
  found.mass = 0;
  for (int64_t begin = 0; begin < n; begin += CHUNK) {
    Chunk chunk;
    for (int64_t j = begin, end = std::min(n, begin + CHUNK); j < end; j += WIDTH) {
      const Vector here = read(z + j), e = raised(here - peak);
      const Vector relative = here == LOWEST ? all(0.0f) : here - own;
      write(z + j, e);
      if constexpr (SUMS) {
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
    if constexpr (SQUARES) found.squares += sum(chunk.squares), ties += sum(chunk.ties);
    if constexpr (PRODUCTS) found.products += sum(chunk.products);
  }
  if constexpr (SUMS) found.classes += 1;
  if constexpr (SQUARES) {
    if (ties == 1) found.top = largest(places);
    found.mass += ties;
    found.squares = (found.squares + ties) / (found.mass * found.mass);
  }
  if constexpr (PRODUCTS) found.products /= found.mass;
  return found;
}

using SumsFunction = Sums (*)(float*, int64_t, float, float, float*);

inline SumsFunction sums_function(const Wanted& wanted) {
  static constexpr SumsFunction all_of_them[] = {
      sums_of<false, false, false>, sums_of<true, false, false>, sums_of<false, true, false>,
      sums_of<true, true, false>,   sums_of<false, false, true>, sums_of<true, false, true>,
      sums_of<false, true, true>,   sums_of<true, true, true>};
  return all_of_them[wanted.sums + 2 * wanted.squares + 4 * wanted.products];
}

// A vector of results at a time, ``formula(j)``, rounded to the numbers of ``out``.
template <class Number, class Formula>
inline void fill(Number* out, int64_t classes, Formula formula) {
  const auto put = [=](int64_t j, int64_t count) {
    if constexpr (std::is_same_v<Number, float>) {
      count == WIDTH ? write(out + j, formula(j)) : write_first(out + j, count, formula(j));
    } else {
      float found[WIDTH];
      write(found, formula(j));
      for (int64_t k = 0; k < count; ++k) out[j + k] = static_cast<Number>(found[k]);
    }
  };
  const int64_t whole = classes / WIDTH * WIDTH;
  for (int64_t j = 0; j < whole; j += WIDTH) put(j, WIDTH);
  if (whole < classes) put(whole, classes - whole);
}

// With e = exp(z - peak) a gradient row is e * (others + square * e + product * z) + shift.
struct Coefficients {
  double at_label, others, square, product, shift;
};

template <class Number>
inline void descend(const float* e, const float* z, const Coefficients& exact, int64_t classes, Number* out) {
  const auto others = static_cast<float>(exact.others), square = static_cast<float>(exact.square);
  const auto product = static_cast<float>(exact.product), shift = static_cast<float>(exact.shift);
  if (square == 0 && product == 0 && shift == 0) {
    fill(out, classes, [=](int64_t j) { return read(e + j) * others; });
  } else if (product == 0) {
    fill(out, classes, [=](int64_t j) { return read(e + j) * (others + square * read(e + j)) + shift; });
  } else {
    fill(out, classes, [=](int64_t j) {
      return read(e + j) * (others + square * read(e + j) + product * read(z + j)) + shift;
    });
  }
}

// Only a shift reaches classes of probability 0.
template <class Number>
inline void clear_masked(const Logits<Number>& logits, int64_t i, Number* out) {
  for (int64_t j = 0; j < logits.classes; ++j)
    if (logits.at(i, j) == LOWEST) out[j] = static_cast<Number>(0.0f);
}

} // namespace noiseproof
