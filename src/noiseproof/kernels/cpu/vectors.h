// Sixteen numbers at a time: types, reading, writing, adding up.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <limits>

#ifdef __AVX512F__
#include <immintrin.h>
#endif

namespace noiseproof {

template <class To, class From>
inline To same_bits(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof to);
  return to;
}

constexpr float LOWEST = -std::numeric_limits<float>::infinity();
constexpr double INFINITE = std::numeric_limits<double>::infinity();
constexpr double NOT_A_NUMBER = std::numeric_limits<double>::quiet_NaN();

// Sixteen floats; the compiler splits them where registers are shorter.
constexpr int64_t WIDTH = 16;
typedef float Vector __attribute__((vector_size(64)));
typedef int32_t Whole __attribute__((vector_size(64)));

inline Vector all(float number) { return Vector{} + number; }

inline Vector read(const float* place) {
  Vector found;
  std::memcpy(&found, place, sizeof found);
  return found;
}

inline void write(float* place, Vector numbers) { std::memcpy(place, &numbers, sizeof numbers); }

// The first ``count`` of sixteen floats, and -inf; nothing beyond them is touched.
inline Vector read_first(const float* place, int64_t count) {
#ifdef __AVX512F__
  return _mm512_mask_loadu_ps(all(LOWEST), static_cast<__mmask16>((1u << count) - 1), place);
#else
  float found[WIDTH];
  write(found, all(LOWEST));
  std::memcpy(found, place, count * sizeof(float));
  return read(found);
#endif
}

inline void write_first(float* place, int64_t count, Vector numbers) {
#ifdef __AVX512F__
  _mm512_mask_storeu_ps(place, static_cast<__mmask16>((1u << count) - 1), numbers);
#else
  std::memcpy(place, &numbers, count * sizeof(float));
#endif
}

// Positions of the sixteen numbers from ``first`` on.
inline Whole positions(int64_t first) {
  return Whole{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15} + static_cast<int32_t>(first);
}

typedef float Half __attribute__((vector_size(32)));
typedef float Quarter __attribute__((vector_size(16)));

template <class Small, class Large, class Combine>
inline Small folded(Large numbers, Combine combine) {
  Small halves[2];
  std::memcpy(halves, &numbers, sizeof numbers);
  return combine(halves[0], halves[1]);
}

template <class Combine>
inline float reduced(Vector numbers, Combine combine) {
  const Quarter four = folded<Quarter>(folded<Half>(numbers, combine), combine);
  return combine(combine(four[0], four[1]), combine(four[2], four[3]));
}

inline float sum(Vector numbers) {
  return reduced(numbers, [](auto a, auto b) { return a + b; });
}

inline float maximum(Vector numbers) {
  return reduced(numbers, [](auto a, auto b) { return a > b ? a : b; });
}

inline int32_t largest(Whole numbers) {
  const auto each = same_bits<std::array<int32_t, WIDTH>>(numbers);
  return *std::max_element(each.begin(), each.end());
}

} // namespace noiseproof
