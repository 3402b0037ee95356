// A block of rows of a loss that looks at every class.
#pragma once

#include "class_block.h"

namespace noiseproof {

template <class Number>
struct EveryBlock : ClassBlock<Number> {
  using Basis = ClassBlock<Number>;
  using Basis::begin, Basis::beside, Basis::end, Basis::labels, Basis::logits, Basis::loss, Basis::results;
  using Basis::sides, Basis::space;

  float* z(int64_t lane) const { return space.z(lane); }
  float* e(int64_t lane) const { return space.second(lane); }
  int64_t label(int64_t i, int64_t side) const { return side ? beside.peers->second[i] : labels.target[i]; }
  double share(int64_t j) const { return beside.prior ? beside.prior[j] : 1; }

  struct Start {
    const float* row;
    float peak;
  };

  Start start(int64_t i) const {
    if (i == end || !labels.kept(i)) return {};
    const float* row = as_floats(logits, i, z(i - begin));
    return {row, peak_of(row, logits.classes)};
  }

  void read_row(int64_t i, const Start& from, EveryLanes& lanes) const {
    const int64_t k = i - begin, n = padded(logits.classes);
    const auto [row, peak] = from;
    const auto raise = this->adds_sums() ? raise_row<true> : raise_row<false>;
    Raised sums = raise(row, logits.classes, peak, {logits, i, results.gradient}, z(k), e(k));
    if (this->adds_sums()) {
      if (!std::isfinite(sums.low)) count_again(z(k), logits.classes, sums);
      lanes.sum_low[k] = sums.low, lanes.classes[k] = sums.classes;
    }
    const double mass = sums.mass;
    const int64_t sure = mass < 2 ? place_of(1.0f, e(k), n) : -1;
    lanes.sure[k] = sure;
    lanes.tail[k] = sure < 0 ? mass - 1 : sum_without(e(k), n, sure);
    if (sure >= 0) lanes.sure_share[k] = share(sure);
    if (lanes.tail[k] == 0 && stands_alone(z(k), logits.classes)) lanes.tail[k] = NOT_A_NUMBER;
    for (int64_t side = 0; side < sides(); ++side) {
      OneClass& one = lanes.labels[side];
      const int64_t place = label(i, side);
      one.low[k] = logits.at(i, place) - peak;
      one.share[k] = share(place);
      one.apart[k] = place != sure;
      one.counted[k] = one.apart[k] * (side == 0 || place != label(i, 0));
      one.scale[k] = side ? -beside.peers->alpha * results.scale_of(beside.peers->origin[i]) : results.scale_of(i);
    }
    if (sure >= 0) z(k)[sure] = LOWEST;
    for (int64_t side = 0; side < sides(); ++side) z(k)[label(i, side)] = LOWEST;
  }

  void add_focal(EveryLanes& lanes) const {
    const auto sums = beside.prior ? focal_sums<true> : focal_sums<false>;
    for (int64_t i = begin; i < end; ++i)
      if (const int64_t k = i - begin; labels.kept(i))
        lanes.take(
            k, sums(loss.focus, z(k), e(k), beside.prior, padded(logits.classes), lanes.scale(k)), loss.classes);
  }

  // As many rows at once as the registers hold, or a part of one.
  void add_program(EveryLanes& lanes) const {
    const int64_t vectors = padded(logits.classes) / WIDTH, length = ClassProgram::LENGTH;
    const int64_t together = std::max<int64_t>(1, length / vectors);
    for (int64_t first = begin; first < end; first += together)
      for (int64_t start = 0; start < vectors; start += length)
        add_program(lanes, first, std::min(end, first + together), start, std::min(length, vectors - start));
  }

  void add_program(EveryLanes& lanes, int64_t first, int64_t last, int64_t start, int64_t count) const {
    const ClassProgram& program = loss.classes;
    Vector* const* r = space.class_registers.places.data();
    const Vector *values = r[program.quick.outputs[0]], *ratios = r[program.quick.outputs[1]];
    const int64_t place = start * WIDTH;
    int64_t used = 0;
    for (int64_t i = first; i < last; ++i)
      if (const int64_t k = i - begin; labels.kept(i)) {
        program.begin(r, used, count, z(k) + place, e(k) + place, lanes.scale(k));
        used += count;
      }
    run(program.quick, used, r);
    for (int64_t i = first; i < last; ++i)
      if (const int64_t k = i - begin; labels.kept(i)) {
        const auto terms = [=](int64_t j, Vector) { return ClassTerms{values[j / WIDTH], ratios[j / WIDTH]}; };
        lanes.take(k, add_classes<true>(z(k) + place, beside.prior + place, count * WIDTH, terms), program);
        values += count;
        ratios += count;
      }
  }

  void write_gradient(int64_t i, const EveryLanes& lanes) const {
    Number* out = results.gradient + i * logits.classes;
    if (!labels.kept(i)) {
      std::fill_n(out, logits.classes, static_cast<Number>(0.0f));
      return;
    }
    const int64_t k = i - begin;
    const auto by_e = static_cast<float>(lanes.by_e[k]);
    const auto by_ratio = static_cast<float>(lanes.by_blind[k] * loss.classes.by_ratio);
    const auto shift = static_cast<float>(lanes.shift[k]);
    const float *high = e(k), *ratio = z(k);
    fill(out, logits.classes, [=](int64_t j) { return read(high + j) * by_e - read(ratio + j) * by_ratio + shift; });
    if (shift != 0 && lanes.classes[k] < logits.classes) clear_masked(logits, i, out);
    const auto put_at = [&](int64_t place, double slope) {
      out[place] = static_cast<Number>(static_cast<float>(slope + lanes.shift[k]));
    };
    for (int64_t side = 0; side < sides(); ++side)
      put_at(label(i, side), high[label(i, side)] * lanes.by_e[k] - lanes.labels[side].less[k]);
    if (lanes.sure[k] >= 0) put_at(lanes.sure[k], lanes.at_sure[k]);
  }

  bool run_all() const {
    const int64_t n = (end - begin + LANES - 1) / LANES * LANES;
    EveryLanes lanes(sides(), loss.weight);
    Start next = start(begin);
    for (int64_t i = begin; i < end; ++i) {
      const Start now = std::exchange(next, start(i + 1));
      if (labels.kept(i)) read_row(i, now, lanes);
    }
    this->run_exactly(lanes, n);
    loss.focus.gamma >= 0 ? add_focal(lanes) : add_program(lanes);
    const bool finite = this->finish(lanes, n);
    if (results.gradient)
      for (int64_t i = begin; i < end; ++i) write_gradient(i, lanes);
    return finite;
  }
};

} // namespace noiseproof
