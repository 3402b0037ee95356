// Running a program: one operation after the other, each on many numbers.
#pragma once

#include <type_traits>

#include "functions.h"
#include "program.h"

namespace noiseproof {

template <class T, class Function>
inline void each(int64_t n, T* result, const T* a, Function function) {
#pragma GCC unroll 4
  for (int64_t i = 0; i < n; ++i) result[i] = function(a[i]);
}

template <class T, class Function>
inline void each(int64_t n, T* result, const T* a, const T* b, Function function) {
#pragma GCC unroll 4
  for (int64_t i = 0; i < n; ++i) result[i] = function(a[i], b[i]);
}

inline double looked_up(const Table& table, double position) {
  if (!(position == position)) return position;
  const double last = static_cast<double>(table.size() - 1);
  const auto cell = static_cast<int64_t>(std::min(std::max(position, 0.0), last));
  const auto& [constant, linear, square, cube] = table[cell];
  const double within = position - static_cast<double>(cell);
  return constant + within * (linear + within * (square + within * cube));
}

// exp and expm1 of the same number: the first of the two has the other one's register as c, which has 1 as b.
template <class T>
inline void run_twins(int64_t n, const T* a, T* whole, T* less_one) {
  for (int64_t i = 0; i < n; ++i) {
    const Exponentials<T> both = exponentials(a[i]);
    whole[i] = both.whole;
    less_one[i] = both.less_one;
  }
}

template <class T>
inline void run(const Instruction& step, const Program& program, int64_t n, T* const* r, T* out) {
  const T *a = r[step.a], *b = r[step.b], *c = r[step.c], zero{}, one = filled<T>(1);
  using O = Operation;
  switch (step.operation) {
    case O::CONSTANT: break; // there from the beginning
    case O::NEGATIVE: each(n, out, a, [](T x) { return -x; }); break;
    case O::ADD: each(n, out, a, b, [](T x, T y) { return x + y; }); break;
    case O::SUBTRACT: each(n, out, a, b, [](T x, T y) { return x - y; }); break;
    case O::MULTIPLY: each(n, out, a, b, [](T x, T y) { return x * y; }); break;
    case O::DIVIDE: each(n, out, a, b, [](T x, T y) { return x / y; }); break;
    case O::EXP:
      if (!step.b) step.c ? run_twins(n, a, out, r[step.c]) : each(n, out, a, [](T x) { return exp(x); });
      break;
    case O::EXPM1:
      if (!step.b) step.c ? run_twins(n, a, r[step.c], out) : each(n, out, a, [](T x) { return expm1(x); });
      break;
    case O::LOG: each(n, out, a, [](T x) { return log(x); }); break;
    case O::LOG1P: each(n, out, a, [](T x) { return log1p(x); }); break;
    case O::SIGMOID: each(n, out, a, [](T x) { return sigmoid(x); }); break;
    case O::LOGSIGMOID: each(n, out, a, [](T x) { return logsigmoid(x); }); break;
    case O::SQRT: each(n, out, a, [](T x) { return root(x); }); break;
    case O::ABSOLUTE: each(n, out, a, [](T x) { return absolute(x); }); break;
    case O::POWER: each(n, out, a, b, [](T x, T y) { return power(x, y); }); break;
    case O::MAXIMUM: each(n, out, a, b, [](T x, T y) { return (y > x) | (y != y) ? y : x; }); break;
    case O::MINIMUM: each(n, out, a, b, [](T x, T y) { return (y < x) | (y != y) ? y : x; }); break;
    case O::GREATER: each(n, out, a, b, [=](T x, T y) { return x > y ? one : zero; }); break;
    case O::GREATER_EQUAL: each(n, out, a, b, [=](T x, T y) { return x >= y ? one : zero; }); break;
    case O::EQUAL: each(n, out, a, b, [=](T x, T y) { return x == y ? one : zero; }); break;
    case O::AND: each(n, out, a, b, [=](T x, T y) { return (x != zero) & (y != zero) ? one : zero; }); break;
    case O::NOT: each(n, out, a, [=](T x) { return x == zero ? one : zero; }); break;
    case O::WHERE:
      for (int64_t i = 0; i < n; ++i) out[i] = a[i] != zero ? b[i] : c[i];
      break;
    case O::TABLE:
      if constexpr (std::is_same_v<T, double>)
        each(n, out, a, [&](double x) { return looked_up(program.tables[step.b], x); });
      break;
  }
}

// The first registers are the inputs; every instruction writes the next one.
template <class T>
inline void run(const Program& program, int64_t n, T* const* registers) {
  int64_t next = program.inputs;
  for (const Instruction& step : program.code) run(step, program, n, registers, registers[next++]);
}

} // namespace noiseproof
