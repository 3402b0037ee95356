// A recorded program: a few operations on a few numbers, run on many of them at once: T is a double, for a block of
// rows, or a Vector of floats, for classes.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "functions.h"
#include "memory.h"

namespace noiseproof {

constexpr int64_t BLOCK = 64; // most rows of a block, the length of a register
constexpr int64_t LANES = 8; // registers are used in multiples of this

// The numbers of kernels/recorder.py.
enum class Operation : int {
  CONSTANT, NEGATIVE, ADD, SUBTRACT, MULTIPLY, DIVIDE, EXP, EXPM1, LOG, LOG1P, SIGMOID, LOGSIGMOID, SQRT,
  ABSOLUTE, POWER, MAXIMUM, MINIMUM, GREATER, GREATER_EQUAL, EQUAL, WHERE, AND, NOT, TABLE
};

// Rows of (constant, linear, square, cube), one cell per whole position.
using Table = std::vector<std::array<double, 4>>;

struct Instruction {
  Operation operation;
  double constant;
  int64_t a, b, c;
};

struct Program {
  std::vector<Instruction> code;
  std::vector<int64_t> outputs;
  std::vector<Table> tables;
  int64_t inputs = 0;
};

using Register = double[BLOCK];

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

// Memory for a program, constants in place.
template <class T>
struct Registers {
  Memory<T> numbers;
  std::vector<T*> places;

  Registers(const Program& program, int64_t length)
      : numbers((program.inputs + program.code.size()) * length), places(program.inputs + program.code.size()) {
    for (size_t k = 0; k < places.size(); ++k) places[k] = numbers.start + k * length;
    for (size_t k = 0; k < program.code.size(); ++k)
      if (const auto& step = program.code[k]; step.operation == Operation::CONSTANT)
        std::fill_n(places[program.inputs + k], length, filled<T>(step.constant));
  }
};

} // namespace noiseproof
