// What a loss does on a GPU for logits of one shape: kernels to launch, and where their arguments come from.
#pragma once

#include <ATen/ATen.h>

#include <array>
#include <cstdint>
#include <vector>

namespace noiseproof {

using at::Tensor;

// cuLaunchKernel of the CUDA driver.
using LaunchKernel = int (*)(
    void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,
    unsigned block_z, unsigned shared, void* stream, void** arguments, void** extra);

enum Source : int64_t { LOGITS, TARGET, GIVEN, VALUE, UPSTREAM, GRADIENT, SCRATCH, TICKET, CONSTANT, SOURCES };
constexpr size_t MOST_ARGUMENTS = 40;
constexpr uintptr_t ALIGNMENT = 16; // kernels are compiled for memory that starts at a multiple of it
constexpr int64_t NOTHING = -1;

struct Argument {
  Source source;
  int64_t number; // bytes from the beginning, or the constant itself
};

struct Kernel {
  void* function;
  unsigned grid[3], threads, shared;
  std::vector<Argument> arguments;
};

struct Places {
  std::array<char*, SOURCES> begin{};

  void set(Source source, const Tensor& tensor) {
    begin[source] = static_cast<char*>(const_cast<void*>(tensor.const_data_ptr()));
  }
};

inline bool is_aligned(const Tensor& tensor) {
  return reinterpret_cast<uintptr_t>(tensor.const_data_ptr()) % ALIGNMENT == 0;
}

// A tensor a loss holds, and gives along at every call; undefined where it holds none.
struct Given {
  bool is_there;
  at::ScalarType dtype;
  std::vector<int64_t> sizes;

  explicit Given(const Tensor& tensor) : is_there(tensor.defined()) {
    if (!is_there) return;
    dtype = tensor.scalar_type();
    sizes = tensor.sizes().vec();
  }

  bool is_like(const Tensor& tensor, int64_t device) const {
    if (!is_there || !tensor.defined()) return is_there == tensor.defined();
    return !tensor.unsafeGetTensorImpl()->is_python_dispatch() && tensor.sizes() == sizes &&
        tensor.scalar_type() == dtype && tensor.get_device() == device && tensor.is_contiguous() &&
        is_aligned(tensor);
  }
};

struct Plan {
  at::ScalarType dtype;
  int64_t device, rows, classes, row_stride, class_stride;
  Given given;
  int64_t scratch; // bytes the backward pass reads again
  int64_t drawn; // where in them the labels begin that the forward pass drew for its rows, or NOTHING
  std::vector<Kernel> forward, backward;

  bool is_for(const Tensor& logits) const {
    return logits.dim() == 2 && logits.size(0) == rows && logits.size(1) == classes &&
        logits.stride(0) == row_stride && logits.stride(1) == class_stride && logits.scalar_type() == dtype &&
        logits.get_device() == device;
  }

  bool fits(const Tensor& logits, const Tensor& target) const {
    return is_for(logits) && target.get_device() == device && target.scalar_type() == at::kLong &&
        target.dim() == 1 && target.size(0) == rows && target.is_contiguous() && is_aligned(logits) &&
        is_aligned(target);
  }
};

// How many were launched: all, or those before the first that fails.
inline size_t run(LaunchKernel launch, const std::vector<Kernel>& kernels, const Places& places, void* stream) {
  for (size_t done = 0; done < kernels.size(); ++done) {
    const Kernel& kernel = kernels[done];
    std::array<int64_t, MOST_ARGUMENTS> values;
    std::array<void*, MOST_ARGUMENTS> addresses;
    for (size_t i = 0; i < kernel.arguments.size(); ++i) {
      const auto [source, number] = kernel.arguments[i];
      values[i] = source == CONSTANT ? number : reinterpret_cast<int64_t>(places.begin[source] + number);
      addresses[i] = &values[i];
    }
    const unsigned* grid = kernel.grid;
    const int code = launch(
        kernel.function, grid[0], grid[1], grid[2], kernel.threads, 1, 1, kernel.shared, stream,
        addresses.data(), nullptr);
    if (code) return done;
  }
  return kernels.size();
}

} // namespace noiseproof
