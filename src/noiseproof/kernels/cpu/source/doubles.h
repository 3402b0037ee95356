// Numbers per row: doubles, as many at a time as compilers need help with.
#pragma once

#include "vectors.h"

namespace noiseproof {

// Doubles that are worked on at once: as many as a register holds on ARM, where compilers make poor vectors of a loop.
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

} // namespace noiseproof
