// Vectors of as many numbers as a register of the processor holds: types, reading, writing, reducing, clamping.
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

// A loop over a function is vectorised only if the function is inlined.
#define INLINE inline __attribute__((always_inline))

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

// Compilers split longer vectors, but not efficiently.
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

// Reads the first ``count`` numbers only; -inf beyond.
inline Vector read_first(const float* place, int64_t count) {
#ifdef __AVX512F__
  return _mm512_mask_loadu_ps(all(LOWEST), static_cast<__mmask16>((1u << count) - 1), place);
#else
  Vector found = all(LOWEST);
#pragma GCC unroll 8
  for (int64_t k = 0; k < WIDTH - 1; ++k) // faster than memcpy, whose length is not a constant
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

// Reduces N numbers to one, half by half.
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

// Doubles processed at once: a register on ARM, where compilers vectorise loops poorly.
#ifdef __aarch64__
typedef double Doubles __attribute__((vector_size(16)));
typedef int64_t Wholes __attribute__((vector_size(16)));
#else
using Doubles = double;
using Wholes = int64_t;
#endif
constexpr int64_t PER_STEP = sizeof(Doubles) / sizeof(double);

#ifdef __aarch64__
inline Doubles step_of(const double* place) { return same_bits<Doubles>(vld1q_f64(place)); }
inline void put(double* place, Doubles numbers) { vst1q_f64(place, same_bits<float64x2_t>(numbers)); }
#else
inline Doubles step_of(const double* place) { return *place; }
inline void put(double* place, Doubles numbers) { *place = numbers; }
#endif

// The larger of two, ``b`` where ``a`` is nan. ARM has one instruction for it, which GCC does not use.
inline Vector larger(Vector a, Vector b) {
#ifdef __aarch64__
  return same_bits<Vector>(vmaxnmq_f32(same_bits<float32x4_t>(a), same_bits<float32x4_t>(b)));
#else
  return a > b ? a : b;
#endif
}

// Clamped from below, or above; nan stays nan.
#ifdef __aarch64__
inline Vector at_least(float bound, Vector a) {
  return same_bits<Vector>(vmaxq_f32(same_bits<float32x4_t>(a), vdupq_n_f32(bound)));
}
inline Doubles at_least(double bound, Doubles a) {
  return same_bits<Doubles>(vmaxq_f64(same_bits<float64x2_t>(a), vdupq_n_f64(bound)));
}
inline Doubles at_most(double bound, Doubles a) {
  return same_bits<Doubles>(vminq_f64(same_bits<float64x2_t>(a), vdupq_n_f64(bound)));
}
#else
inline Vector at_least(float bound, Vector a) { return a < bound ? all(bound) : a; }
inline Doubles at_least(double bound, Doubles a) { return a < bound ? bound : a; }
inline Doubles at_most(double bound, Doubles a) { return a > bound ? bound : a; }
#endif

} // namespace noiseproof
