// A batch: labels checked, then blocks of rows through statistics, program and gradient.
#pragma once

#include <ATen/Parallel.h>

#include <array>
#include <atomic>
#include <memory>
#include <tuple>

#include "focal.h"
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
  bool focal = false; // the normalised focal loss, which is no program
  Focus focus;

  bool two_arrays() const { return wanted.products || focal; }
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

struct Labels {
  const int64_t* target;
  int64_t ignore_index;

  bool kept(int64_t i) const { return target[i] != ignore_index; }
};

// How many rows count; -1 if a label that is not ignored is no class.
inline int64_t count_kept(const Labels& labels, int64_t rows, int64_t classes) {
  int64_t kept = 0, strays = 0;
  for (int64_t i = 0; i < rows; ++i) {
    const bool counts = labels.kept(i);
    kept += counts;
    strays += counts && (labels.target[i] < 0 || labels.target[i] >= classes);
  }
  return strays ? -1 : kept;
}

// Memory of one thread, not initialised: rows of a block, the program's registers, and numbers per row.
struct Workspace {
  std::unique_ptr<float[]> z, shifted;
  std::unique_ptr<Register[]> registers;
  std::array<Sums, BLOCK> sums;
  Register p, rest, zero;
  std::array<Register, 5> chosen; // Coefficients

  Workspace(const RowProgram& loss, int64_t numbers)
      : z(new float[numbers]), shifted(loss.two_arrays() ? new float[numbers] : nullptr),
        registers(new Register[loss.program.inputs + loss.program.code.size()]) {
    std::fill_n(zero, BLOCK, 0.0);
  }

  const double* partial(const RowProgram& loss, int64_t which) const {
    const int64_t slot = loss.slots[which];
    return slot < 0 ? zero : registers[loss.program.outputs[slot + 1]];
  }
};

// The program's inputs from the sums of n rows.
inline void complete_inputs(const RowProgram& loss, int64_t n, Workspace& space) {
  Register* r = space.registers.get();
  if (loss.margin_alone) return;
  for (int64_t k = 0; k < n; ++k) {
    const double low = exp(-std::fabs(r[0][k])), large = 1 / (1 + low), small = low * large;
    const bool likely = r[0][k] >= 0;
    const double p = likely ? large : small, rest = likely ? small : large;
    space.p[k] = p;
    space.rest[k] = rest;
    r[1][k] = (likely ? 0 : -r[0][k]) + log1p(low);
    r[3][k] = p * p + rest * rest * r[3][k];
    r[4][k] = rest * r[4][k];
  }
}

// The chain rule of margin, logsumexp, sum of z, of p squared and of p z, collected per row.
inline void chain(const RowProgram& loss, int64_t n, Workspace& space) {
  auto& [at_label, others, square, product, shift] = space.chosen;
  const double* by_margin = space.partial(loss, 0);
  for (int64_t k = 0; k < n; ++k) {
    at_label[k] = by_margin[k];
    others[k] = -by_margin[k];
    square[k] = product[k] = shift[k] = 0;
  }
  if (loss.margin_alone) return;
  const double *by_lse = space.partial(loss, 1), *by_sum = space.partial(loss, 2);
  const double *by_square = space.partial(loss, 3), *by_product = space.partial(loss, 4);
  const double* sum_pz = space.registers[4];
  for (int64_t k = 0; k < n; ++k) {
    const double p = space.p[k], rest = space.rest[k], squares = space.sums[k].squares;
    const double slope = 2 * by_square[k] * rest, lead = slope * p;
    square[k] = slope * rest;
    product[k] = by_product[k] * rest;
    shift[k] = by_sum[k];
    at_label[k] += lead - lead * rest * (1 + squares) + p * by_lse[k] + shift[k] +
        by_product[k] * p * (1 - sum_pz[k]);
    others[k] += square[k] * (p - rest * squares) - lead + rest * by_lse[k] + product[k] * (1 - sum_pz[k]);
  }
}

// A block of rows, at most as many as a register is long.
template <class Number>
struct Block {
  const RowProgram& loss;
  const Logits<Number>& logits;
  const Labels& labels;
  const Results<Number>& results;
  Workspace& space;
  int64_t begin, end;

  float* z(int64_t lane) const { return &space.z[lane * padded(logits.classes)]; }
  float* shifted(int64_t lane) const {
    return loss.two_arrays() ? &space.shifted[lane * padded(logits.classes)] : nullptr;
  }

  // Sums and margins; false if a margin is not finite. Ignored rows get margin 0.
  bool read_rows() const {
    Register* r = space.registers.get();
    Register above, mass;
    for (int64_t k = 0; k < loss.program.inputs; ++k) std::fill_n(r[k], BLOCK, 0.0);
    std::fill_n(above, BLOCK, 0.0);
    std::fill_n(mass, BLOCK, 1.0);
    for (int64_t i = begin; i < end; ++i) {
      if (!labels.kept(i)) continue;
      const int64_t lane = i - begin, label = labels.target[i];
      const float own = logits.at(i, label);
      const float peak = load(logits, i, label, z(lane));
      const Sums row = loss.sums(z(lane), padded(logits.classes), peak, own, shifted(lane));
      space.sums[lane] = row;
      above[lane] = own - row.peak;
      mass[lane] = row.mass;
      if (loss.margin_alone) continue;
      r[2][lane] = row.sum_z;
      r[3][lane] = row.squares;
      r[4][lane] = row.products;
      r[5][lane] = row.classes;
    }
    double finite = 0;
    for (int64_t k = 0; k < BLOCK; ++k) r[0][k] = above[k] - log(mass[k]);
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
    const Coefficients c{at_label[lane] * scale, others[lane] * by_mass, square[lane] * by_mass / row.mass,
                         product[lane] * by_mass, shift[lane] * scale};
    descend(z(lane), shifted(lane), c, logits.classes, out);
    if (row.top >= 0) {
      const double at_top = shifted(lane) ? shifted(lane)[row.top] : 0;
      out[row.top] = static_cast<Number>(static_cast<float>(c.others + c.square + c.product * at_top + c.shift));
    }
    if (c.shift != 0 && row.classes < logits.classes) clear_masked(logits, i, out);
    out[labels.target[i]] = static_cast<Number>(static_cast<float>(c.at_label));
  }

  // z and shifted hold logits and exponentials first, then the ratio of every class and exponentials.
  void read_focal_rows(FocalLanes& lanes) const {
    for (int64_t i = begin; i < end; ++i) {
      if (!labels.kept(i)) continue;
      const int64_t lane = i - begin;
      const float peak = load(logits, i, -1, z(lane));
      lanes.peak[lane] = peak;
      lanes.own_low[lane] = logits.at(i, labels.target[i]) - peak;
      std::tie(lanes.tail[lane], lanes.top[lane]) =
          focal_start(z(lane), shifted(lane), padded(logits.classes), peak);
    }
    lanes.complete((end - begin + LANES - 1) / LANES * LANES, loss.focus.gamma);
  }

  double run_focal(int64_t i, const FocalLanes& lanes) const {
    const int64_t lane = i - begin, n = padded(logits.classes), label = labels.target[i];
    Number* out = results.gradient ? results.gradient + i * logits.classes : nullptr;
    if (!labels.kept(i)) {
      if (out) std::fill_n(out, logits.classes, static_cast<Number>(0.0f));
      return 0;
    }
    const auto function = loss.focus.is_polynomial() ? focal_sums<true> : focal_sums<false>;
    const FocalSums sums = function(z(lane), shifted(lane), n, label, loss.focus, lanes, lane);
    return focal_finish(
        z(lane), shifted(lane), logits.classes, label, lanes, lane, sums, results.scale_of(i), out);
  }

  bool run_all_focal() const {
    FocalLanes lanes;
    double finite = 0;
    read_focal_rows(lanes);
    for (int64_t i = begin; i < end; ++i) {
      const double value = run_focal(i, lanes);
      if (results.values) results.values[i] = static_cast<float>(value);
      finite += value * 0.0;
    }
    return finite == 0;
  }

  bool run_all() const {
    if (loss.focal) return run_all_focal();
    const bool finite = read_rows();
    const int64_t n = (end - begin + LANES - 1) / LANES * LANES;
    complete_inputs(loss, n, space);
    run(loss.program, n, space.registers.get());
    if (results.values) write_values();
    if (!results.gradient) return finite;
    chain(loss, n, space);
    for (int64_t i = begin; i < end; ++i) write_gradient(i);
    return finite;
  }
};

// All rows; false if a margin is not finite.
template <class Number>
bool sweep(const RowProgram& loss, const Logits<Number>& logits, const Labels& labels, const Results<Number>& results) {
  const int64_t width = padded(logits.classes);
  const int64_t block = std::clamp<int64_t>(SCRATCH / width, 1, BLOCK);
  const int64_t grain = std::max<int64_t>(1, PER_THREAD / width);
  std::atomic<bool> finite{true};
  at::parallel_for(0, logits.rows, grain, [&](int64_t begin, int64_t end) {
    Workspace space(loss, std::min(block, end - begin) * width);
    for (int64_t i = begin; i < end; i += block) {
      const Block<Number> rows{loss, logits, labels, results, space, i, std::min(end, i + block)};
      if (!rows.run_all()) finite = false;
    }
  });
  return finite;
}

} // namespace noiseproof
