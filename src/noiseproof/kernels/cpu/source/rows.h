// Rows of logits, and how they are read into scratch memory.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

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
template <class Take>
inline void each_vector(const float* row, int64_t classes, Take take) {
  const int64_t whole = classes / WIDTH * WIDTH;
  for (int64_t j = 0; j < whole; j += WIDTH) take(j, read(row + j));
  if (whole < classes) take(whole, read_first(row + whole, classes - whole));
}

// The row into scratch memory, -inf where it is hidden; the largest of it.
template <bool TWO = false, class Number>
inline float load(const Logits<Number>& logits, int64_t i, Hidden hidden, float* z) {
  const auto label = static_cast<int32_t>(hidden.label), second = static_cast<int32_t>(hidden.second);
  Vector largest = all(LOWEST);
  each_vector(as_floats(logits, i, z), logits.classes, [&](int64_t j, Vector here) {
    here = positions(j) == label ? all(LOWEST) : here;
    if constexpr (TWO) here = positions(j) == second ? all(LOWEST) : here;
    write(z + j, here);
    largest = larger(here, largest);
  });
  return maximum(largest);
}

// The largest of a row; several maxima side by side keep the processor busy.
inline float peak_of(const float* row, int64_t classes) {
  constexpr int64_t SIDE_BY_SIDE = 4, STEP = SIDE_BY_SIDE * WIDTH;
  Vector largest[SIDE_BY_SIDE] = {all(LOWEST), all(LOWEST), all(LOWEST), all(LOWEST)};
  const int64_t most = classes / STEP * STEP;
  for (int64_t j = 0; j < most; j += STEP)
    for (int64_t k = 0; k < SIDE_BY_SIDE; ++k) {
      const Vector here = read(row + j + k * WIDTH);
      largest[k] = larger(here, largest[k]);
    }
  each_vector(row + most, classes - most, [&](int64_t, Vector here) {
    largest[0] = larger(here, largest[0]);
  });
  for (int64_t k = 1; k < SIDE_BY_SIDE; ++k) largest[0] = larger(largest[k], largest[0]);
  return maximum(largest[0]);
}

struct Range {
  float lowest, peak;
};

// Both ends of a row.
inline Range range_of(const float* row, int64_t classes) {
  constexpr float HIGHEST = -LOWEST;
  Vector most_below = all(LOWEST), most = all(LOWEST);
  const int64_t whole = classes / WIDTH * WIDTH;
  const auto take = [&](Vector low, Vector high) {
    most_below = larger(-low, most_below);
    most = larger(high, most);
  };
  for (int64_t j = 0; j < whole; j += WIDTH) take(read(row + j), read(row + j));
  if (whole < classes) {
    const Vector last = read_first(row + whole, classes - whole);
    take(positions(whole) < static_cast<int32_t>(classes) ? last : all(HIGHEST), last);
  }
  return {-maximum(most_below), maximum(most)};
}

// Where a number stands among n, -1 if nowhere.
inline int64_t place_of(float number, const float* numbers, int64_t n) {
  Whole places = Whole{} - 1;
  for (int64_t j = 0; j < n; j += WIDTH) places = read(numbers + j) == number ? positions(j) : places;
  return largest(places);
}

} // namespace noiseproof
