// A batch block by block: statistics, program and gradient of up to 64 rows at a time, on all threads.
#pragma once

#include <ATen/Parallel.h>

#include <atomic>
#include <utility>

#include "program.h"
#include "rows.h"

namespace noiseproof {

constexpr int64_t SCRATCH = 32768; // floats of scratch memory a block of rows may take
constexpr int64_t PER_THREAD = 16384; // logits worth a thread

// A loss as a program of row statistics; slots say which output is which partial derivative, -1 for none.
struct RowProgram {
  Program program;
  std::array<int64_t, 5> slots;
  Wanted wanted;
  bool margin_alone;
  SumsFunction sums;
};

// Where results go, and how much every row counts. Pointers may be null.
template <class Number>
struct Results {
  float *values, *weights; // weights: the emphasis
  Number* gradient; // contiguous
  double scale;
  const float* row_scale;
  int64_t row_scale_stride;

  double scale_of(int64_t i) const { return row_scale ? scale * row_scale[i * row_scale_stride] : scale; }
};

// Derivatives of a block of rows by margin, logsumexp, sum of z, of p squared and of p z.
using Partials = std::array<const double*, 5>;

// Scratch memory of one thread: rows of a block, the program's registers, and numbers per row.
struct alignas(64) Workspace {
  Register p, rest, squares, zero;
  std::array<Register, 5> chosen; // Coefficients
  std::array<Sums, BLOCK> sums;
  int64_t width, step;
  Memory<float> numbers; // a row and, for losses of products, a second array of its length behind it
  Registers held;
  double* const* registers;

  Workspace(const RowProgram& loss, int64_t rows, int64_t row_width)
      : width(row_width), step(loss.wanted.products ? 2 * row_width : row_width), numbers(rows * step),
        held(loss.program), registers(held.places.data()) {
    std::fill_n(zero, BLOCK, 0.0);
  }

  float* z(int64_t lane) { return numbers.start + lane * step; }
  float* shifted(int64_t lane) { return step > width ? z(lane) + width : nullptr; }

  const double* partial(const RowProgram& loss, int64_t which) const {
    const int64_t slot = loss.slots[which];
    return slot < 0 ? zero : registers[loss.program.outputs[slot + 1]];
  }
};

// The program's inputs from the sums of n rows.
inline void complete_inputs(const RowProgram& loss, int64_t n, Workspace& space) {
  double* const* r = space.registers;
  if (loss.margin_alone) return;
  for (int64_t k = 0; k < n; k += PER_STEP) {
    const Doubles margin = step_of(r[0] + k), low = exp_of_size(margin), large = 1 / (1 + low), small = low * large;
    const Doubles p = margin >= 0 ? large : small, rest = margin >= 0 ? small : large, squares = step_of(r[3] + k);
    put(space.p + k, p);
    put(space.rest + k, rest);
    put(r[1] + k, log1p_of_part(low) - at_most(0, margin));
    put(space.squares + k, squares);
    put(r[3] + k, p * p + rest * rest * squares);
    put(r[4] + k, rest * step_of(r[4] + k));
  }
}

// The chain rule of the statistics, collected per row; the label's part of sum_z is added by its weight.
inline void chain(const RowProgram& loss, int64_t n, const Partials& partials, Workspace& space) {
  auto& [at_label, others, square, product, shift] = space.chosen;
  const auto& [by_margin, by_lse, by_sum, by_square, by_product] = partials;
  for (int64_t k = 0; k < n; ++k) {
    at_label[k] = by_margin[k];
    others[k] = -by_margin[k];
    square[k] = product[k] = shift[k] = 0;
  }
  if (loss.margin_alone) return;
  const double* sum_pz = space.registers[4];
  for (int64_t k = 0; k < n; ++k) {
    const double p = space.p[k], rest = space.rest[k], squares = space.squares[k];
    const double slope = 2 * by_square[k] * rest, lead = slope * p;
    square[k] = slope * rest;
    product[k] = by_product[k] * rest;
    shift[k] = by_sum[k];
    at_label[k] += lead - lead * rest * (1 + squares) + p * by_lse[k] + by_product[k] * p * (1 - sum_pz[k]);
    others[k] += square[k] * (p - rest * squares) - lead + rest * by_lse[k] + product[k] * (1 - sum_pz[k]);
  }
}

// A vector of results at a time, ``formula(j)``, rounded to the numbers of ``out``.
template <class Number, class Formula>
inline void fill(Number* out, int64_t classes, Formula formula) {
  const auto store = [=](int64_t j, int64_t count) {
    if constexpr (std::is_same_v<Number, float>) {
      count == WIDTH ? write(out + j, formula(j)) : write_first(out + j, count, formula(j));
    } else {
      float found[WIDTH];
      write(found, formula(j));
      for (int64_t k = 0; k < count; ++k) out[j + k] = static_cast<Number>(found[k]);
    }
  };
  const int64_t whole = classes / WIDTH * WIDTH;
  for (int64_t j = 0; j < whole; j += WIDTH) store(j, WIDTH);
  if (whole < classes) store(whole, classes - whole);
}

// With e = exp(z - peak) a gradient row is e * (others + square * e + product * z) + shift.
struct Coefficients {
  double at_label, others, square, product, shift;
};

template <class Number>
inline void write_row(
    const float* e, const float* z, const float* weights, const Coefficients& exact, int64_t classes, Number* out) {
  const auto others = static_cast<float>(exact.others), square = static_cast<float>(exact.square);
  const auto product = static_cast<float>(exact.product), shift = static_cast<float>(exact.shift);
  if (square == 0 && product == 0 && shift == 0) {
    fill(out, classes, [=](int64_t j) { return read(e + j) * others; });
  } else if (weights) { // only of losses without squares and products
    fill(out, classes, [=](int64_t j) { return read(e + j) * others + shift * read(weights + j); });
  } else if (!z || product == 0) { // without z there is none, but 0 times what is not finite is nan
    fill(out, classes, [=](int64_t j) { return read(e + j) * (others + square * read(e + j)) + shift; });
  } else {
    fill(out, classes, [=](int64_t j) {
      return read(e + j) * (others + square * read(e + j) + product * read(z + j)) + shift;
    });
  }
}

// A block of rows, at most as many as a register is long.
template <class Number>
struct Block {
  const RowProgram& loss;
  const Logits<Number>& logits;
  const Labels& labels;
  const float* weights; // of the classes in sum_z, padded with zeros, or null
  const Results<Number>& results;
  Workspace& space;
  int64_t begin, end;

  float weight_of(int64_t i) const { return weights ? weights[labels.target[i]] : 1.0f; }

  // The row into scratch memory, and the largest logit beside the label.
  float start(int64_t i) const {
    return i < end && labels.kept(i) ? load(logits, i, labels.target[i], space.z(i - begin)) : 0;
  }

  // Sums and margins; false if a margin is not finite. Ignored rows get margin 0.
  bool read_rows() const {
    double* const* r = space.registers;
    const SumsFunction sums = weights ? sums_of<true, false, false, true> : loss.sums;
    Register above, mass;
    for (int64_t k = 0; k < loss.program.inputs; ++k) std::fill_n(r[k], BLOCK, 0.0);
    std::fill_n(above, BLOCK, 0.0);
    std::fill_n(mass, BLOCK, 1.0);
    float next = start(begin);
    for (int64_t i = begin; i < end; ++i) {
      const float peak = std::exchange(next, start(i + 1));
      if (!labels.kept(i)) continue;
      const int64_t lane = i - begin;
      const float own = logits.at(i, labels.target[i]);
      const Ahead ahead(logits, i, results.gradient);
      const Sums row =
          sums(space.z(lane), padded(logits.classes), peak, own, ahead, space.shifted(lane), weights);
      space.sums[lane] = row;
      above[lane] = own - row.peak;
      mass[lane] = row.mass;
      if (loss.margin_alone) continue;
      r[2][lane] = row.sum_z;
      r[3][lane] = row.squares;
      r[4][lane] = row.products;
      r[5][lane] = row.classes + weight_of(i);
    }
    double finite = 0;
    for (int64_t k = 0; k < BLOCK; k += PER_STEP) put(r[0] + k, step_of(above + k) - log(step_of(mass + k)));
    for (int64_t k = 0; k < BLOCK; ++k) finite += r[0][k] * 0.0;
    return finite == 0;
  }

  void write_values() const {
    const double *found = space.registers[loss.program.outputs[0]], *slope = space.partial(loss, 0);
    for (int64_t i = begin; i < end; ++i) {
      results.values[i] = labels.kept(i) ? static_cast<float>(found[i - begin]) : 0.0f;
      if (results.weights) results.weights[i] = labels.kept(i) ? static_cast<float>(-slope[i - begin]) : 0.0f;
    }
  }

  void write_gradient(int64_t i) const {
    Number* out = results.gradient + i * logits.classes;
    if (!labels.kept(i)) {
      std::fill_n(out, logits.classes, static_cast<Number>(0.0f));
      return;
    }
    const int64_t lane = i - begin;
    const Sums& row = space.sums[lane];
    const auto& [at_label, others, square, product, shift] = space.chosen;
    const double scale = results.scale_of(i), by_mass = scale / row.mass;
    const Coefficients c{(at_label[lane] + weight_of(i) * shift[lane]) * scale, others[lane] * by_mass,
                         square[lane] * by_mass / row.mass, product[lane] * by_mass, shift[lane] * scale};
    const float* shifted = space.shifted(lane);
    write_row(space.z(lane), shifted, weights, c, logits.classes, out);
    if (row.top >= 0) {
      const double at_top = shifted ? shifted[row.top] : 0;
      out[row.top] = static_cast<Number>(static_cast<float>(c.others + c.square + c.product * at_top + c.shift));
    }
    if (c.shift != 0 && row.absent > static_cast<double>(padded(logits.classes) - logits.classes + 1))
      for (int64_t j = 0; j < logits.classes; ++j)
        if (logits.at(i, j) == LOWEST) out[j] = static_cast<Number>(0.0f); // only a shift reaches masked classes
    out[labels.target[i]] = static_cast<Number>(static_cast<float>(c.at_label));
  }

  bool run_all() const {
    const bool finite = read_rows();
    const int64_t n = (end - begin + LANES - 1) / LANES * LANES;
    complete_inputs(loss, n, space);
    run(loss.program, n, space.registers);
    if (results.values) write_values();
    if (!results.gradient) return finite;
    const Partials partials{space.partial(loss, 0), space.partial(loss, 1), space.partial(loss, 2),
                            space.partial(loss, 3), space.partial(loss, 4)};
    chain(loss, n, partials, space);
    for (int64_t i = begin; i < end; ++i) write_gradient(i);
    return finite;
  }
};

// All rows; false if a margin is not finite.
template <class Number>
bool sweep(
    const RowProgram& loss, const Logits<Number>& logits, const Labels& labels, const float* weights,
    const Results<Number>& results) {
  const int64_t width = padded(logits.classes);
  const int64_t block = std::clamp<int64_t>(SCRATCH / width, 1, BLOCK);
  const int64_t grain = std::max<int64_t>(1, PER_THREAD / width);
  std::atomic<bool> finite{true};
  at::parallel_for(0, logits.rows, grain, [&](int64_t begin, int64_t end) {
    Workspace space(loss, std::min(block, end - begin), width);
    for (int64_t i = begin; i < end; i += block) {
      const Block<Number> rows{loss, logits, labels, weights, results, space, i, std::min(end, i + block)};
      if (!rows.run_all()) finite = false;
    }
  });
  return finite;
}

} // namespace noiseproof
