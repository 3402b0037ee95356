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

// Bits of a row's random number that do not count, as in counter.py: its place stands there.
constexpr int kKeyShift = 34;
constexpr uint64_t kPlace = (uint64_t{1} << kKeyShift) - 1;

// Of numbers spread evenly over their upper bits: some of these nearly sort them, neighbours are swapped.
inline void sort(const Memory<uint64_t>& numbers, size_t size, std::vector<uint64_t>& sorted) {
  const int bits = std::bit_width(size) + 1;
  std::vector<int32_t> next((size_t{1} << bits) + 1);
  for (size_t i = 0; i < size; ++i) ++next[(numbers.start[i] >> (64 - bits)) + 1];
  std::partial_sum(next.begin(), next.end(), next.begin());
  for (size_t i = 0; i < size; ++i) sorted[next[numbers.start[i] >> (64 - bits)]++] = numbers.start[i];
  for (size_t end = 1; end < size; ++end)
    for (size_t i = end; i > 0 && sorted[i] < sorted[i - 1]; --i) std::swap(sorted[i], sorted[i - 1]);
}

// Numbers below ``size``, ordered by their random numbers of this stream, which have a sign.
inline std::vector<uint64_t> shuffled(size_t size, int64_t seed, int64_t step, uint64_t stream) {
  const uint64_t start = mixed(static_cast<uint64_t>(seed) * 6364136223846793005u + stream);
  const uint64_t shift = static_cast<uint64_t>(step) * static_cast<uint64_t>(-4417276706812531889) + start;
  const Memory<uint64_t> numbers(size);
  for (size_t k = 0; k < size; ++k) {
    const uint64_t found = mixed(k * static_cast<uint64_t>(-7046029254386353131) + shift);
    numbers.start[k] = ((found ^ (uint64_t{1} << 63)) & ~kPlace) | k;
  }
  std::vector<uint64_t> sorted(size);
  sort(numbers, size, sorted);
  for (uint64_t& number : sorted) number &= kPlace;
  return sorted;
}

inline Peers peers_of(const Labels& labels, int64_t rows, double alpha, int64_t seed, int64_t step) {
  std::vector<int64_t> kept;
  kept.reserve(rows);
  for (int64_t i = 0; i < rows; ++i)
    if (labels.kept(i)) kept.push_back(i);
  const auto first = shuffled(kept.size(), seed, step, 1), second = shuffled(kept.size(), seed, step, 2);
  Peers found{alpha, std::vector<int64_t>(rows), std::vector<int64_t>(rows), std::vector<int64_t>(rows)};
  for (int64_t i = 0; i < rows; ++i) {
    found.a[i] = found.origin[i] = i;
    found.second[i] = labels.ignore_index;
  }
  for (size_t rank = 0; rank < kept.size(); ++rank) {
    const int64_t row = kept[first[rank]];
    found.a[kept[rank]] = row;
    found.origin[row] = kept[rank];
    found.second[row] = labels.target[kept[second[rank]]];
  }
  return found;
}

} // namespace noiseproof
