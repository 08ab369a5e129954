#include "relay/transform/quantise/dense_form.h"

#include <cstring>

#include "relay/ir/rewrite.h"
#include "relay/op/registry.h"
#include "relay/transform/attributes.h"

namespace relay::transform {

using namespace ir;

static Tensor transposed(const Tensor& matrix) {
  const int64_t rows = matrix.shape()[0], columns = matrix.shape()[1];
  Tensor out = Tensor::empty({columns, rows}, matrix.dtype());
  const size_t bytes = matrix.dtype().bytes();
  const char* from = static_cast<const char*>(matrix.data());
  char* to = static_cast<char*>(out.mutable_data());
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < columns; ++c)
      std::memcpy(to + static_cast<size_t>(c * rows + r) * bytes, from + static_cast<size_t>(r * columns + c) * bytes,
                  bytes);
  return out;
}

static Expr as_dense(const Expr& e) {
  const Call* call = call_of(e, "nn.matmul");
  const Constant* weight = call ? as<Constant>(call->args[1]) : nullptr;
  if (!weight || weight->value.rank() != 2 || attribute<bool>(*call, "transpose_a", false)) return e;
  const Tensor& value = weight->value;
  const Expr matrix =
      attribute<bool>(*call, "transpose_b", false) ? call->args[1] : constant(transposed(value), weight->span);
  op::AttrValues attrs;
  if (const OptDType sum = attribute<OptDType>(*call, "out_dtype", {})) attrs.push_back({"out_dtype", *sum});
  return op::make("nn.dense", {call->args[0], matrix}, attrs, e->span);
}

Module with_dense_products(const Module& module) {
  Module out = module;
  for (auto& [name, f] : out.functions)
    f = with_body(f, rewrite(f->body, [](const Expr& now) { return as_dense(now); }));
  return out;
}

}  // namespace relay::transform
