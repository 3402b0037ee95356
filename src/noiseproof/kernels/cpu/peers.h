// Who is whose peer: two permutations of the rows that count, a function of seed and step alone.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "labels.h"

namespace noiseproof {

// Row i is paired with the logits of row a(i) and the label of row b(i). A row that is not kept has itself.
struct Peers {
  double alpha;
  std::vector<int64_t> a, origin; // origin: the inverse of a
  std::vector<int64_t> second; // the label that row r is given as a(i) for i = origin(r)
};

// The finaliser of splitmix64, as in counter.py.
inline uint64_t mixed(uint64_t number) {
  number = (number ^ (number >> 30)) * 0xbf58476d1ce4e5b9u;
  number = (number ^ (number >> 27)) * 0x94d049bb133111ebu;
  return number ^ (number >> 31);
}

// The rows that count, ordered by their random numbers of this stream.
inline std::vector<int64_t> shuffled(const std::vector<int64_t>& kept, int64_t seed, int64_t step, uint64_t stream) {
  const uint64_t start = mixed(static_cast<uint64_t>(seed) * 6364136223846793005u + stream);
  const uint64_t shift = static_cast<uint64_t>(step) * static_cast<uint64_t>(-4417276706812531889) + start;
  std::vector<std::pair<int64_t, int64_t>> keys;
  keys.reserve(kept.size());
  for (const int64_t i : kept)
    keys.emplace_back(mixed(static_cast<uint64_t>(i) * static_cast<uint64_t>(-7046029254386353131) + shift), i);
  std::sort(keys.begin(), keys.end());
  std::vector<int64_t> found(keys.size());
  std::transform(keys.begin(), keys.end(), found.begin(), [](const auto& key) { return key.second; });
  return found;
}

inline Peers peers_of(const Labels& labels, int64_t rows, double alpha, int64_t seed, int64_t step) {
  std::vector<int64_t> kept;
  for (int64_t i = 0; i < rows; ++i)
    if (labels.kept(i)) kept.push_back(i);
  const auto first = shuffled(kept, seed, step, 1), second = shuffled(kept, seed, step, 2);
  Peers found{alpha, std::vector<int64_t>(rows), std::vector<int64_t>(rows), std::vector<int64_t>(rows)};
  for (int64_t i = 0; i < rows; ++i) {
    found.a[i] = found.origin[i] = i;
    found.second[i] = labels.ignore_index;
  }
  for (size_t rank = 0; rank < kept.size(); ++rank) {
    const int64_t row = first[rank];
    found.a[kept[rank]] = row;
    found.origin[row] = kept[rank];
    found.second[row] = labels.target[second[rank]];
  }
  return found;
}

} // namespace noiseproof
