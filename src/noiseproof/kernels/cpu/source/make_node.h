// Nodes of torch's graph.
#pragma once

#include <torch/csrc/autograd/function.h>

#include <memory>
#include <type_traits>

namespace noiseproof {

// As torch keeps nodes, which depends on its version.
using NodePointer = decltype(torch::autograd::Edge::function);

template <class Function, class Pointer = NodePointer>
auto make_node() {
  if constexpr (std::is_same_v<Pointer, std::shared_ptr<torch::autograd::Node>>)
    return std::make_shared<Function>();
  else
    return c10::make_intrusive<Function>();
}

} // namespace noiseproof
