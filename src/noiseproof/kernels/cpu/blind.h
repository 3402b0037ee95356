// A block of rows of cross entropy less what labels drawn blindly, class k with share prior[k], would cost:
// L - beta B with L = -log p of the label and B = sum of prior[k] * (logsumexp - z[k]) over classes not masked.
#pragma once

#include "workspace.h"

namespace noiseproof {

// Sums over the classes other than the label; z relative to the label's logit.
struct BlindSums {
  double mass = 0, prior = 0, prior_z = 0, masked = 0;
};

// z becomes exp(z - peak).
inline BlindSums blind_sums(float* z, int64_t n, float peak, float own, const float* prior) {
  BlindSums found;
  for (int64_t begin = 0; begin < n; begin += CHUNK) {
    Vector mass{}, share{}, share_z{}, masked{};
    for (int64_t j = begin, end = std::min(n, begin + CHUNK); j < end; j += WIDTH) {
      const Vector here = read(z + j), e = raised(here - peak);
      const Vector counted = here == LOWEST ? all(0.0f) : read(prior + j);
      write(z + j, e);
      mass += e;
      share += counted;
      share_z += here == LOWEST ? all(0.0f) : counted * (here - own);
      masked += here == LOWEST ? all(1.0f) : all(0.0f);
    }
    found.mass += sum(mass);
    found.prior += sum(share);
    found.prior_z += sum(share_z);
    found.masked += sum(masked);
  }
  return found;
}

struct alignas(64) BlindLanes {
  Register above, mass, prior, prior_z, value, p, rest;

  BlindLanes() {
    for (double* each : {above, prior, prior_z}) std::fill_n(each, BLOCK, 0.0);
    std::fill_n(mass, BLOCK, 1.0);
  }

  // Values from margins; 0 times their sum, which is nan if one of them is not finite.
  double complete(int64_t n, double beta) {
    double finite = 0;
    for (int64_t k = 0; k < n; ++k) {
      const double margin = above[k] - log(mass[k]), low = exp(-std::fabs(margin)), large = 1 / (1 + low);
      const double cost = log1p(low) + (margin < 0 ? -margin : 0);
      p[k] = margin < 0 ? low * large : large;
      rest[k] = margin < 0 ? large : low * large;
      value[k] = cost - beta * (prior[k] * cost - prior_z[k]);
      finite += margin * 0.0;
    }
    return finite;
  }
};

template <class Number>
struct BlindBlock {
  const RowProgram& loss;
  const Logits<Number>& logits;
  const Labels& labels;
  const Results<Number>& results;
  const Beside& beside;
  Workspace& space;
  int64_t begin, end;

  float* z(int64_t lane) const { return space.z(lane); }

  void read_rows(BlindLanes& lanes, bool* masked) const {
    const int64_t n = padded(logits.classes);
    for (int64_t i = begin; i < end; ++i) {
      if (!labels.kept(i)) continue;
      const int64_t lane = i - begin, label = labels.target[i];
      const float own = logits.at(i, label), peak = load(logits, i, {label}, z(lane));
      const BlindSums row = blind_sums(z(lane), n, peak, own, beside.prior);
      lanes.above[lane] = own - peak;
      lanes.mass[lane] = row.mass;
      lanes.prior[lane] = row.prior + beside.prior[label];
      lanes.prior_z[lane] = row.prior_z;
      masked[lane] = row.masked > static_cast<double>(n - logits.classes + 1);
    }
  }

  void write_gradient(int64_t i, const BlindLanes& lanes, bool masked) const {
    Number* out = results.gradient + i * logits.classes;
    if (!labels.kept(i)) {
      std::fill_n(out, logits.classes, static_cast<Number>(0.0f));
      return;
    }
    const int64_t k = i - begin, label = labels.target[i];
    const double scale = results.scale_of(i), beta = beside.beta;
    const auto by_e = static_cast<float>(scale * lanes.rest[k] * (1 - beta * lanes.prior[k]) / lanes.mass[k]);
    const auto by_prior = static_cast<float>(scale * beta);
    const float *e = z(k), *prior = beside.prior;
    fill(out, logits.classes, [=](int64_t j) { return read(e + j) * by_e + read(prior + j) * by_prior; });
    if (masked) clear_masked(logits, i, out);
    const double at_label = -lanes.rest[k] - beta * (lanes.prior[k] * lanes.p[k] - prior[label]);
    out[label] = static_cast<Number>(static_cast<float>(scale * at_label));
  }

  bool run_all() const {
    BlindLanes lanes;
    std::array<bool, BLOCK> masked{};
    read_rows(lanes, masked.data());
    const double finite = lanes.complete((end - begin + LANES - 1) / LANES * LANES, beside.beta);
    for (int64_t i = begin; i < end; ++i) {
      if (results.values) results.values[i] = labels.kept(i) ? static_cast<float>(lanes.value[i - begin]) : 0.0f;
      if (results.gradient) write_gradient(i, lanes, masked[i - begin]);
    }
    return finite == 0;
  }
};

} // namespace noiseproof
