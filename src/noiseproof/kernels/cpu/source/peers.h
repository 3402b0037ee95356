// Who is whose peer: two permutations of the rows that count, a function of seed and step alone.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "labels.h"
#include "memory.h"

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

// What is shifted out of the numbers rows are sorted by, as in counter.py.
constexpr int kKeyShift = 34;

// Stable, for numbers spread evenly over their upper 30 bits: some of these nearly sort them, neighbours are swapped.
inline void sort_by(const uint64_t* keys, std::vector<int64_t>& order) {
  const int bits = std::bit_width(order.size()) + 1;
  std::vector<int32_t> next((size_t{1} << bits) + 1);
  for (size_t i = 0; i < order.size(); ++i) ++next[(keys[i] >> (64 - bits)) + 1];
  std::partial_sum(next.begin(), next.end(), next.begin());
  for (size_t i = 0; i < order.size(); ++i) order[next[keys[i] >> (64 - bits)]++] = static_cast<int64_t>(i);
  for (size_t end = 1; end < order.size(); ++end)
    for (size_t i = end; i > 0 && keys[order[i]] < keys[order[i - 1]]; --i) std::swap(order[i], order[i - 1]);
}

// The rows that count, ordered by their random numbers of this stream, which have a sign.
inline std::vector<int64_t> shuffled(const std::vector<int64_t>& kept, int64_t seed, int64_t step, uint64_t stream) {
  const uint64_t start = mixed(static_cast<uint64_t>(seed) * 6364136223846793005u + stream);
  const uint64_t shift = static_cast<uint64_t>(step) * static_cast<uint64_t>(-4417276706812531889) + start;
  const Memory<uint64_t> keys(kept.size());
  std::vector<int64_t> found(kept.size());
  for (size_t k = 0; k < kept.size(); ++k)
    keys.start[k] = (mixed(static_cast<uint64_t>(kept[k]) * static_cast<uint64_t>(-7046029254386353131) + shift) ^
                     (uint64_t{1} << 63)) >> kKeyShift << kKeyShift;
  sort_by(keys.start, found);
  for (int64_t& place : found) place = kept[place];
  return found;
}

inline Peers peers_of(const Labels& labels, int64_t rows, double alpha, int64_t seed, int64_t step) {
  std::vector<int64_t> kept;
  kept.reserve(rows);
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
