// Losses of every class that are sums of a number, log p, p and one more power of p, as kernels/cpu/powers.py finds
// them. Sums over the classes of a row then need no p: they are formed together with its exponentials.
#pragma once

#include "every_class_lanes.h"

namespace noiseproof {

// Factors of 1, log p, p and the power of p.
struct PowerTerms {
  double constant = 0, log = 0, linear = 0, power = 0;
};

struct Powers {
  bool there = false;
  double exponent = 0; // 0: no further power
  PowerTerms value, ratio; // the ratio has no log p
};

inline Powers powers_from(const std::vector<double>& n) {
  return {true, n[0], {n[1], n[2], n[3], n[4]}, {n[5], n[6], n[7], n[8]}};
}

// Of e = exp(z - peak) over all classes, and times their share of log e, e and the power of e.
struct PowerSums {
  double mass = 0, logs = 0, linear = 0, power = 0;
};

// The row, which may lie at e, becomes e and the power of e.
template <bool LOG, bool POWER>
inline PowerSums raise_powers(
    const float* row, int64_t classes, float peak, float exponent, const float* share, const Ahead& ahead, float* e,
    float* f) {
  PowerSums found;
  for (int64_t begin = 0; begin < classes; begin += CHUNK) {
    Vector mass{}, logs{}, linear{}, power{};
    each_vector(row + begin, std::min(CHUNK, classes - begin), [&](int64_t j, Vector here) {
      ahead(begin + j);
      const Vector low = here - peak, high = raised(low), part = read(share + begin + j);
      write(e + begin + j, high);
      mass += high;
      linear += part * high;
      if constexpr (LOG) logs += part * (low == LOWEST ? Vector{} : low);
      if constexpr (POWER) {
        const Vector higher = raised(low * exponent);
        write(f + begin + j, higher);
        power += part * higher;
      }
    });
    found.mass += sum(mass);
    found.linear += sum(linear);
    if constexpr (LOG) found.logs += sum(logs);
    if constexpr (POWER) found.power += sum(power);
  }
  return found;
}

using RaiseFunction = PowerSums (*)(const float*, int64_t, float, float, const float*, const Ahead&, float*, float*);

inline RaiseFunction raise_function(const Powers& powers) {
  static constexpr RaiseFunction all_of_them[] = {
      raise_powers<false, false>, raise_powers<true, false>, raise_powers<false, true>, raise_powers<true, true>};
  return all_of_them[(powers.value.log != 0) + 2 * (powers.exponent != 0)];
}

// The same of e and f as they are now; logs stay.
inline void add_again(const float* e, const float* f, const float* share, int64_t n, PowerSums& found) {
  found.mass = found.linear = found.power = 0;
  for (int64_t begin = 0; begin < n; begin += CHUNK) {
    Vector mass{}, linear{}, power{};
    for (int64_t j = begin, end = std::min(n, begin + CHUNK); j < end; j += WIDTH) {
      mass += read(e + j);
      linear += read(share + j) * read(e + j);
      if (f) power += read(share + j) * read(f + j);
    }
    found.mass += sum(mass);
    found.linear += sum(linear);
    found.power += sum(power);
  }
}

// What the classes that are not masked have together.
inline double shares_of(const float* row, const float* share, int64_t classes) {
  double found = 0;
  for (int64_t begin = 0; begin < classes; begin += CHUNK) {
    Vector chunk{};
    each_vector(row + begin, std::min(CHUNK, classes - begin), [&](int64_t j, Vector here) {
      chunk += here == LOWEST ? Vector{} : read(share + begin + j);
    });
    found += sum(chunk);
  }
  return found;
}

// Sums of a block of rows.
struct alignas(64) PowerLanes {
  Register shares, logs, linear, power, per_power;
  std::array<bool, BLOCK> masked; // whether a class of the row is

  PowerLanes() {
    for (double* each : {shares, logs, linear, power}) std::fill_n(each, BLOCK, 0.0);
  }

  void add(const Powers& powers, int64_t n, EveryLanes& lanes) {
    const auto& [value, ratio] = std::pair(powers.value, powers.ratio);
    for (int64_t k = 0; k < n; k += PER_STEP) put(per_power + k, exp(-powers.exponent * step_of(lanes.log_mass + k)));
    for (int64_t k = 0; k < n; ++k) {
      const double p = linear[k] * lanes.per_mass[k], q = power[k] * per_power[k];
      const double log_p = logs[k] - shares[k] * lanes.log_mass[k];
      lanes.values[k] = value.constant * shares[k] + value.log * log_p + value.linear * p + value.power * q;
      lanes.ratios[k] = ratio.constant * shares[k] + ratio.linear * p + ratio.power * q;
    }
  }
};

} // namespace noiseproof
