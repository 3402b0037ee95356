// A recorded program: a few operations on a few numbers, run on many of them at once: T is a double, for a block of
// rows, or a Vector of floats, for classes.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "format.h"
#include "memory.h"

namespace noiseproof {

constexpr int64_t BLOCK = 64; // most rows of a block, the length of a register
constexpr int64_t LANES = 8; // registers are used in multiples of this

// The numbers of kernels/programs/recorder.py.
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
        std::fill_n(places[program.inputs + k], length, constant(step.constant));
  }

  static T constant(double number) {
    if constexpr (std::is_same_v<T, double>) return number;
    else return filled<T>(number);
  }
};

} // namespace noiseproof
