// As many numbers at a time as a register of the processor holds: types, reading, writing, adding up.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>

#ifdef __AVX512F__
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
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

// Compilers split longer vectors, but not well.
#if defined(__AVX512F__)
constexpr int64_t WIDTH = 16;
#elif defined(__AVX2__)
constexpr int64_t WIDTH = 8;
#else
constexpr int64_t WIDTH = 4;
#endif
typedef float Vector __attribute__((vector_size(4 * WIDTH)));
typedef int32_t Whole __attribute__((vector_size(4 * WIDTH)));

inline Vector all(float number) { return Vector{} + number; }

inline Vector read(const float* place) {
  Vector found;
  std::memcpy(&found, place, sizeof found);
  return found;
}

inline void write(float* place, Vector numbers) { std::memcpy(place, &numbers, sizeof numbers); }

// A vector of which only the first ``count`` numbers are there, -inf beyond; nothing else is touched.
inline Vector read_first(const float* place, int64_t count) {
#ifdef __AVX512F__
  return _mm512_mask_loadu_ps(all(LOWEST), static_cast<__mmask16>((1u << count) - 1), place);
#else
  Vector found = all(LOWEST);
#pragma GCC unroll 8
  for (int64_t k = 0; k < WIDTH - 1; ++k) // always the same way through a batch, where a call of memcpy takes longer
    if (k < count) found[k] = place[k];
  return found;
#endif
}

inline void write_first(float* place, int64_t count, Vector numbers) {
#ifdef __AVX512F__
  _mm512_mask_storeu_ps(place, static_cast<__mmask16>((1u << count) - 1), numbers);
#else
#pragma GCC unroll 8
  for (int64_t k = 0; k < WIDTH - 1; ++k)
    if (k < count) place[k] = numbers[k];
#endif
}

// Positions of the numbers from ``first`` on.
inline Whole positions(int64_t first) {
  static constexpr int32_t COUNT[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  Whole found;
  std::memcpy(&found, COUNT, sizeof found);
  return found + static_cast<int32_t>(first);
}

// One number of N, half by half.
template <int64_t N, class Number = float, class Numbers, class Combine>
inline Number reduced(Numbers numbers, Combine combine) {
  if constexpr (N == 4) {
    return combine(combine(numbers[0], numbers[1]), combine(numbers[2], numbers[3]));
  } else {
    typedef Number Half __attribute__((vector_size(2 * N)));
    Half halves[2];
    std::memcpy(halves, &numbers, sizeof numbers);
    return reduced<N / 2, Number>(combine(halves[0], halves[1]), combine);
  }
}

#ifdef __aarch64__
inline float sum(Vector numbers) { return vaddvq_f32(same_bits<float32x4_t>(numbers)); }
inline float maximum(Vector numbers) { return vmaxnmvq_f32(same_bits<float32x4_t>(numbers)); }
inline int32_t largest(Whole numbers) { return vmaxvq_s32(same_bits<int32x4_t>(numbers)); }
#else
inline float sum(Vector numbers) {
  return reduced<WIDTH>(numbers, [](auto a, auto b) { return a + b; });
}

inline float maximum(Vector numbers) {
  return reduced<WIDTH>(numbers, [](auto a, auto b) { return a > b ? a : b; });
}

inline int32_t largest(Whole numbers) {
  return reduced<WIDTH, int32_t>(numbers, [](auto a, auto b) { return a > b ? a : b; });
}
#endif

} // namespace noiseproof
