// What a block of rows works with: the loss as a program, places for results, memory of a thread.
#pragma once

#include <array>
#include <numeric>
#include <utility>

#include "focal.h"
#include "gradient.h"
#include "labels.h"
#include "peers.h"
#include "powers.h"
#include "sums.h"

namespace noiseproof {

// A loss as a program of row statistics; slots say which output is which partial derivative, -1 for none.
struct RowProgram {
  Program program;
  std::array<int64_t, 5> slots;
  Wanted wanted;
  bool margin_alone;
  SumsFunction sums;
  bool every_class = false; // a program for every class instead
  ClassProgram classes;
  Focus focus; // where that program is the focal loss
  Powers powers; // where it is a sum of powers
  RaiseFunction raise;
  double weight = 1; // of a loss of every class
  const RowProgram* added = nullptr; // a loss of row statistics that is added to it

  bool two_arrays() const { return powers.there ? powers.exponent != 0 : wanted.products || every_class; }
  const Program& per_row() const { return every_class ? classes.exact : program; }
};

// Where results go, and how much every row counts. All of them may be null.
template <class Number>
struct Results {
  float *values, *weights; // weights: the emphasis
  Number* gradient; // contiguous
  double scale;
  const float* row_scale; // or null
  int64_t row_scale_stride;

  double scale_of(int64_t i) const { return row_scale ? scale * row_scale[i * row_scale_stride] : scale; }
};

// What a loss looks at beside the row and its label: a second label, or how often every class occurs.
struct Beside {
  const Peers* peers = nullptr;
  const float* prior = nullptr; // padded with zeros
  double beta = 0;
};

// Derivatives of a block of rows by margin, logsumexp, sum of z, of p squared and of p z.
using Partials = std::array<const double*, 5>;

// What one thread writes on: rows of a block, the program's registers, and numbers per row.
struct alignas(64) Workspace {
  Register p, rest, squares, zero;
  std::array<Register, 5> chosen; // Coefficients
  std::array<Sums, BLOCK> sums;
  int64_t width, step;
  Memory<float> numbers; // a row and, for some losses, a second array of its length right behind it
  Registers<double> row_registers;
  Registers<Vector> class_registers;
  Registers<double> added_registers;
  double* const* registers;
  Memory<float> shares; // the prior of a loss of powers, from which a row may take its label
  double all_shares;

  Workspace(const RowProgram& loss, const Beside& beside, int64_t rows, int64_t row_width)
      : width(row_width), step(loss.two_arrays() ? 2 * row_width : row_width), numbers(rows * step),
        row_registers(loss.per_row(), BLOCK), class_registers(loss.classes.quick, ClassProgram::LENGTH),
        added_registers(loss.added ? loss.added->program : Program(), BLOCK), registers(row_registers.places.data()), shares(loss.powers.there ? row_width : 0) {
    std::fill_n(zero, BLOCK, 0.0);
    if (!loss.powers.there) return;
    std::copy_n(beside.prior, row_width, shares.start);
    all_shares = std::accumulate(beside.prior, beside.prior + row_width, 0.0);
  }

  float* z(int64_t lane) { return numbers.start + lane * step; }
  float* second(int64_t lane) { return step > width ? z(lane) + width : nullptr; }

  const double* partial(const RowProgram& loss, int64_t which) const {
    const int64_t slot = loss.slots[which];
    return slot < 0 ? zero : registers[loss.program.outputs[slot + 1]];
  }

  Partials partials(const RowProgram& loss) const {
    return {partial(loss, 0), partial(loss, 1), partial(loss, 2), partial(loss, 3), partial(loss, 4)};
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

// The chain rule of margin, logsumexp, sum of z, of p squared and of p z, collected per row.
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
    at_label[k] += lead - lead * rest * (1 + squares) + p * by_lse[k] + shift[k] +
        by_product[k] * p * (1 - sum_pz[k]);
    others[k] += square[k] * (p - rest * squares) - lead + rest * by_lse[k] + product[k] * (1 - sum_pz[k]);
  }
}

} // namespace noiseproof
