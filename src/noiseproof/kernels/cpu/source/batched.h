// Many upstreams at once, as is_grads_batched and vectorized Jacobians have them: tensors without memory.
#pragma once

#include <ATen/LegacyBatchedTensorImpl.h>
#include <ATen/ops/stack.h>

#include <vector>

namespace noiseproof {

// ``gradient`` of the upstream, or of one after the other where it is many.
template <class Gradient>
at::Tensor of_each(const at::Tensor& upstream, const Gradient& gradient) {
  const auto* many = at::maybeGetBatchedImpl(upstream);
  if (!many) return gradient(upstream);
  TORCH_CHECK(many->bdims().size() == 1, "noiseproof: a vmap inside another has no gradient of this loss");
  const at::BatchDim& over = many->bdims()[0];
  std::vector<at::Tensor> found;
  for (const at::Tensor& one : many->value().unbind(over.dim())) found.push_back(gradient(one));
  return at::makeBatched(at::stack(found), {{over.level(), 0}});
}

} // namespace noiseproof
