// Scratch memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace noiseproof {

// Memory that begins with a cache line, not initialised.
template <class Thing>
struct Memory {
  static constexpr size_t LINE = 64;
  std::unique_ptr<std::byte[]> all;
  Thing* start;

  explicit Memory(int64_t count)
      : all(new std::byte[count * sizeof(Thing) + LINE]),
        start(reinterpret_cast<Thing*>((reinterpret_cast<uintptr_t>(all.get()) + LINE - 1) / LINE * LINE)) {}
};

} // namespace noiseproof
