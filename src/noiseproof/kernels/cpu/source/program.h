// Recorded programs: a few operations on a few numbers per row, run on a block of rows at once.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
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

// Rows of (constant, linear, square, cube), one cell per integer position.
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

// Uninitialised memory that starts at a cache line.
template <class Thing>
struct Memory {
  static constexpr size_t LINE = 64;
  std::unique_ptr<std::byte[]> all;
  Thing* start;

  explicit Memory(int64_t count)
      : all(new std::byte[count * sizeof(Thing) + LINE]),
        start(reinterpret_cast<Thing*>((reinterpret_cast<uintptr_t>(all.get()) + LINE - 1) / LINE * LINE)) {}
};

// The registers of a program, constants filled in.
struct Registers {
  Memory<double> numbers;
  std::vector<double*> places;

  explicit Registers(const Program& program)
      : numbers((program.inputs + program.code.size()) * BLOCK), places(program.inputs + program.code.size()) {
    for (size_t k = 0; k < places.size(); ++k) places[k] = numbers.start + k * BLOCK;
    for (size_t k = 0; k < program.code.size(); ++k)
      if (const auto& step = program.code[k]; step.operation == Operation::CONSTANT)
        std::fill_n(places[program.inputs + k], BLOCK, step.constant);
  }
};

template <class Function, class... More>
inline void each(int64_t n, double* result, Function function, const More*... from) {
#pragma GCC unroll 4
  for (int64_t i = 0; i < n; i += PER_STEP) put(result + i, function(step_of(from + i)...));
}

inline double looked_up(const Table& table, double position) {
  if (!(position == position)) return position;
  const double last = static_cast<double>(table.size() - 1);
  const auto cell = static_cast<int64_t>(std::min(std::max(position, 0.0), last));
  const auto& [constant, linear, square, cube] = table[cell];
  const double within = position - static_cast<double>(cell);
  return constant + within * (linear + within * (square + within * cube));
}

inline void run(const Instruction& step, const Program& program, int64_t n, double* const* r, double* out) {
  using S = Doubles;
  const double *a = r[step.a], *b = r[step.b], *c = r[step.c];
  const S zero{}, one = filled(1);
  using O = Operation;
  switch (step.operation) {
    case O::CONSTANT: break; // filled in already
    case O::NEGATIVE: each(n, out, [](S x) { return -x; }, a); break;
    case O::ADD: each(n, out, [](S x, S y) { return x + y; }, a, b); break;
    case O::SUBTRACT: each(n, out, [](S x, S y) { return x - y; }, a, b); break;
    case O::MULTIPLY: each(n, out, [](S x, S y) { return x * y; }, a, b); break;
    case O::DIVIDE: each(n, out, [](S x, S y) { return x / y; }, a, b); break;
    case O::EXP: each(n, out, [](S x) { return exp(x); }, a); break;
    case O::EXPM1: each(n, out, [](S x) { return expm1(x); }, a); break;
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
    case O::WHERE: each(n, out, [=](S x, S y, S z) { return x != zero ? y : z; }, a, b, c); break;
    case O::TABLE:
      for (int64_t i = 0; i < n; ++i) out[i] = looked_up(program.tables[step.b], a[i]);
      break;
  }
}

// The first registers are the inputs; every instruction writes the next one.
inline void run(const Program& program, int64_t n, double* const* registers) {
  int64_t next = program.inputs;
  for (const Instruction& step : program.code) run(step, program, n, registers, registers[next++]);
}

} // namespace noiseproof
