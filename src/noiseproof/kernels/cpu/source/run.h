// Running a program: one operation after the other, each on many numbers.
#pragma once

#include <type_traits>

#include "functions.h"
#include "program.h"

namespace noiseproof {

// Registers of T hold steps of it: vectors of floats, or doubles, some of which are worked on at once.
template <class T>
struct StepOf {
  using Type = T;
  static constexpr int64_t LENGTH = 1;
};

template <>
struct StepOf<double> {
  using Type = Doubles;
  static constexpr int64_t LENGTH = PER_STEP;
};

INLINE Vector step_of(const Vector* place) { return *place; }
INLINE void put(Vector* place, Vector numbers) { *place = numbers; }

template <class T, class Function, class... More>
inline void each(int64_t n, T* result, Function function, const More*... from) {
#pragma GCC unroll 4
  for (int64_t i = 0; i < n; i += StepOf<T>::LENGTH) put(result + i, function(step_of(from + i)...));
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
  for (int64_t i = 0; i < n; i += StepOf<T>::LENGTH) {
    const auto both = exponentials(step_of(a + i));
    put(whole + i, both.whole);
    put(less_one + i, both.less_one);
  }
}

template <class T>
inline void run(const Instruction& step, const Program& program, int64_t n, T* const* r, T* out) {
  using S = typename StepOf<T>::Type;
  const T *a = r[step.a], *b = r[step.b], *c = r[step.c];
  const S zero{}, one = filled<S>(1);
  using O = Operation;
  switch (step.operation) {
    case O::CONSTANT: break; // there from the beginning
    case O::NEGATIVE: each(n, out, [](S x) { return -x; }, a); break;
    case O::ADD: each(n, out, [](S x, S y) { return x + y; }, a, b); break;
    case O::SUBTRACT: each(n, out, [](S x, S y) { return x - y; }, a, b); break;
    case O::MULTIPLY: each(n, out, [](S x, S y) { return x * y; }, a, b); break;
    case O::DIVIDE: each(n, out, [](S x, S y) { return x / y; }, a, b); break;
    case O::EXP:
      if (!step.b) step.c ? run_twins(n, a, out, r[step.c]) : each(n, out, [](S x) { return exp(x); }, a);
      break;
    case O::EXPM1:
      if (!step.b) step.c ? run_twins(n, a, r[step.c], out) : each(n, out, [](S x) { return expm1(x); }, a);
      break;
    case O::LOG: each(n, out, [](S x) { return log(x); }, a); break;
    case O::LOG1P: each(n, out, [](S x) { return log1p(x); }, a); break;
    case O::SIGMOID: each(n, out, [](S x) { return sigmoid(x); }, a); break;
    case O::LOGSIGMOID: each(n, out, [](S x) { return logsigmoid(x); }, a); break;
    case O::SQRT: each(n, out, [](S x) { return root(x); }, a); break;
    case O::ABSOLUTE: each(n, out, [](S x) { return absolute(x); }, a); break;
    case O::POWER: each(n, out, [](S x, S y) { return power(x, y); }, a, b); break;
    case O::MAXIMUM: each(n, out, [](S x, S y) { return (y > x) | (y != y) ? y : x; }, a, b); break;
    case O::MINIMUM: each(n, out, [](S x, S y) { return (y < x) | (y != y) ? y : x; }, a, b); break;
    case O::GREATER: each(n, out, [=](S x, S y) { return x > y ? one : zero; }, a, b); break;
    case O::GREATER_EQUAL: each(n, out, [=](S x, S y) { return x >= y ? one : zero; }, a, b); break;
    case O::EQUAL: each(n, out, [=](S x, S y) { return x == y ? one : zero; }, a, b); break;
    case O::AND: each(n, out, [=](S x, S y) { return (x != zero) & (y != zero) ? one : zero; }, a, b); break;
    case O::NOT: each(n, out, [=](S x) { return x == zero ? one : zero; }, a); break;
    case O::WHERE:
      each(n, out, [=](S x, S y, S z) { return x != zero ? y : z; }, a, b, c);
      break;
    case O::TABLE:
      if constexpr (std::is_same_v<T, double>)
        for (int64_t i = 0; i < n; ++i) out[i] = looked_up(program.tables[step.b], a[i]);
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
