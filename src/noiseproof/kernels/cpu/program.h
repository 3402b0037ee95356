// A recorded program: a few operations on a few numbers per row, run on a block of rows at once.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "functions.h"

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
  int64_t inputs;
};

using Register = double[BLOCK];

template <class Function>
inline void each(int64_t n, double* result, const double* a, Function function) {
  for (int64_t i = 0; i < n; ++i) result[i] = function(a[i]);
}

template <class Function>
inline void each(int64_t n, double* result, const double* a, const double* b, Function function) {
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

inline void run(const Instruction& step, const Program& program, int64_t n, Register* r, double* out) {
  const double *a = r[step.a], *b = r[step.b], *c = r[step.c];
  using O = Operation;
  switch (step.operation) {
    case O::CONSTANT: std::fill_n(out, n, step.constant); break;
    case O::NEGATIVE: each(n, out, a, [](double x) { return -x; }); break;
    case O::ADD: each(n, out, a, b, [](double x, double y) { return x + y; }); break;
    case O::SUBTRACT: each(n, out, a, b, [](double x, double y) { return x - y; }); break;
    case O::MULTIPLY: each(n, out, a, b, [](double x, double y) { return x * y; }); break;
    case O::DIVIDE: each(n, out, a, b, [](double x, double y) { return x / y; }); break;
    case O::EXP: each(n, out, a, [](double x) { return exp(x); }); break;
    case O::EXPM1: each(n, out, a, [](double x) { return expm1(x); }); break;
    case O::LOG: each(n, out, a, [](double x) { return log(x); }); break;
    case O::LOG1P: each(n, out, a, [](double x) { return log1p(x); }); break;
    case O::SIGMOID: each(n, out, a, [](double x) { return sigmoid(x); }); break;
    case O::LOGSIGMOID: each(n, out, a, [](double x) { return logsigmoid(x); }); break;
    case O::SQRT: each(n, out, a, [](double x) { return std::sqrt(x); }); break;
    case O::ABSOLUTE: each(n, out, a, [](double x) { return std::fabs(x); }); break;
    case O::POWER: each(n, out, a, b, [](double x, double y) { return power(x, y); }); break;
    case O::MAXIMUM: each(n, out, a, b, [](double x, double y) { return y > x || y != y ? y : x; }); break;
    case O::MINIMUM: each(n, out, a, b, [](double x, double y) { return y < x || y != y ? y : x; }); break;
    case O::GREATER: each(n, out, a, b, [](double x, double y) { return x > y ? 1.0 : 0.0; }); break;
    case O::GREATER_EQUAL: each(n, out, a, b, [](double x, double y) { return x >= y ? 1.0 : 0.0; }); break;
    case O::EQUAL: each(n, out, a, b, [](double x, double y) { return x == y ? 1.0 : 0.0; }); break;
    case O::AND: each(n, out, a, b, [](double x, double y) { return x != 0.0 && y != 0.0 ? 1.0 : 0.0; }); break;
    case O::NOT: each(n, out, a, [](double x) { return x == 0.0 ? 1.0 : 0.0; }); break;
    case O::WHERE:
      for (int64_t i = 0; i < n; ++i) out[i] = a[i] != 0.0 ? b[i] : c[i];
      break;
    case O::TABLE: {
      const Table& table = program.tables[step.b];
      for (int64_t i = 0; i < n; ++i) out[i] = looked_up(table, a[i]);
      break;
    }
  }
}

// The first registers are the inputs; every instruction writes the next one.
inline void run(const Program& program, int64_t n, Register* registers) {
  int64_t next = program.inputs;
  for (const Instruction& step : program.code) run(step, program, n, registers, registers[next++]);
}

} // namespace noiseproof
