// split_contractions: computes float32 convolutions and products with a constant weight from parts of 8 bits, for
// processors that multiply bfloat16 many times as fast as float32 (tile registers).
//
// A float32 has 24 bits, so it is the sum of three bfloat16: x = x0 + x1 + x2. Six of the nine products of parts are
// summed, in float32; the other three are below the rounding error of the largest one:
//
//   nn.dense(%x, W)
//     becomes
//   nn.dense(concatenate((%x2, %x1, %x0, %x1, %x0, %x0), axis=1), W', out_dtype="float32")
//   where W' is the constant concatenate((W0, W1, W2, W0, W1, W0), axis=1) of bfloat16
//
// The smallest products come first, so that they are not lost in the sum of the large ones. With two parts (option
// parts=2) there are three products, and the error is 2^-16 of each.
//
// An infinity or NaN is in the last part alone, so it reaches the outputs that it reaches in the original sum, with the
// same sign. Layers stay as they are if their weight contains one, or a number above 2^100.
#include <array>
#include <cmath>

#include "relay/ir/node_map.h"
#include "relay/ir/rewrite.h"
#include "relay/tensor/half.h"
#include "relay/transform/attributes.h"
#include "relay/transform/pass.h"
#include "relay/transform/typed.h"

namespace relay::transform {

using namespace ir;

namespace {

// The parts of data and weight in each product, the smallest products first.
struct Products {
  std::vector<size_t> data, weight;
};
const Products& products_of(int64_t parts) {
  static const Products three{{1, 0, 0}, {0, 1, 0}}, six{{2, 1, 0, 1, 0, 0}, {0, 1, 2, 0, 1, 0}};
  return parts == 2 ? three : six;
}

// The axes over which a contraction sums, in its data and in its weight.
struct Summed {
  int64_t data = 0, weight = 0;
};

bool is_float32(const Expr& e) {
  const TensorType* t = as<TensorType>(e->type);
  return t && t->dtype == DType::float32();
}

std::optional<Summed> summed_axes(const Call& call) {
  const Op* op = as<Op>(call.callee);
  if (!op || call.args.size() != 2) return std::nullopt;
  const int64_t rank = static_cast<int64_t>(as<TensorType>(call.args[0]->type)->shape.size());
  if (op->name == "nn.dense") return Summed{rank - 1, 1};
  if (op->name == "nn.matmul" && !attribute<bool>(call, "transpose_a", false))
    return Summed{rank - 1, attribute<bool>(call, "transpose_b", false) ? 1 : 0};
  if (op->name != "nn.conv2d" || attribute<int64_t>(call, "groups", 1) != 1) return std::nullopt;
  const std::string data = attribute<std::string>(call, "data_layout", "NCHW"),
                    weight = attribute<std::string>(call, "kernel_layout", "OIHW");
  if (data.size() != 4 || weight.size() != 4) return std::nullopt;  // blocks
  return Summed{static_cast<int64_t>(data.find('C')), static_cast<int64_t>(weight.find('I'))};
}

bool is_moderate(const Tensor& weight) {
  for (float w : weight.span<float>())
    if (!(std::abs(w) <= 0x1p100F)) return false;
  return true;
}

class Splitter {
 public:
  explicit Splitter(int64_t parts) : parts_(parts) {}

  Expr operator()(const Expr& now) {
    const Call* call = as<Call>(now);
    if (!call || !as<Op>(call->callee) || call->args.size() != 2 || !is_float32(now)) return now;
    const Constant* weight = as<Constant>(call->args[1]);
    if (!weight || weight->value.dtype() != DType::float32() || !is_float32(call->args[0]) ||
        call->args[0]->kind == ExprKind::Constant)
      return now;
    const std::optional<Summed> axes = summed_axes(*call);
    if (!axes || weight->value.rank() < 2 || !is_moderate(weight->value)) return now;
    const Products& products = products_of(parts_);
    Exprs data;
    const Exprs& parts = parts_of(call->args[0]);
    for (size_t part : products.data) data.push_back(parts[part]);
    const Expr both =
        typed_call("concatenate", {typed_tuple(std::move(data), now->span)}, {{"axis", axes->data}}, now->span);
    const Expr split = constant(parts_of(weight->value, axes->weight, products.weight), call->args[1]->span);
    split->type = tensor_type(to_dims(as<Constant>(split)->value.shape()), DType::bfloat16());
    Changes changes{{"out_dtype", DType::float32()}};
    return try_call(call->callee, {both, split}, with_attributes(*call, changes), now->span);
  }

 private:
  static Dims to_dims(const Shape& shape) {
    Dims out;
    for (int64_t extent : shape) out.push_back(scalar::imm(extent));
    return out;
  }

  // The parts of a value, the largest first; once for all contractions that read it.
  const Exprs& parts_of(const Expr& x) {
    Exprs& parts = made_[x.get()];
    if (!parts.empty()) return parts;
    constexpr double most = 0x1.fep127;  // the greatest bfloat16
    Expr rest = x;
    for (int64_t i = 0; i + 1 < parts_; ++i) {
      const Expr finite = typed_call(
          "where", {typed_call("isfinite", {rest}, {}, x->span), rest, typed_scalar(0, DType::float32())}, {}, x->span);
      const Expr within = i > 0 ? finite : typed_call("clip", {finite}, {{"a_min", -most}, {"a_max", most}}, x->span);
      parts.push_back(typed_call("cast", {within}, {{"dtype", DType::bfloat16()}}, x->span));
      const Expr wide = typed_call("cast", {parts.back()}, {{"dtype", DType::float32()}}, x->span);
      rest = typed_call("subtract", {rest, wide}, {}, x->span);
    }
    parts.push_back(typed_call("cast", {rest}, {{"dtype", DType::bfloat16()}}, x->span));
    return parts;
  }

  // The weight with these parts of it side by side along the axis.
  static Tensor parts_of(const Tensor& weight, int64_t axis, const std::vector<size_t>& parts) {
    Shape shape = weight.shape();
    int64_t inner = 1;
    for (size_t d = static_cast<size_t>(axis); d < shape.size(); ++d) inner *= shape[d];
    shape[static_cast<size_t>(axis)] *= static_cast<int64_t>(parts.size());
    Tensor out = Tensor::empty(shape, DType::bfloat16());
    uint16_t* to = static_cast<uint16_t*>(out.mutable_data());
    const std::span<const float> from = weight.span<float>();
    const int64_t count = static_cast<int64_t>(parts.size());
    for (int64_t i = 0; i < weight.elements(); ++i) {
      std::array<uint16_t, 3> split{};
      float rest = from[static_cast<size_t>(i)];
      for (uint16_t& part : split) part = float_to_bfloat16(rest), rest -= bfloat16_to_float(part);
      for (int64_t p = 0; p < count; ++p)
        to[(i / inner * count + p) * inner + i % inner] = split[parts[static_cast<size_t>(p)]];
    }
    return out;
  }

  int64_t parts_;
  NodeMap<Exprs> made_;
};

}  // namespace

Result<Module> split_contractions(const Module& module, PassContext& context) {
  const int64_t parts = context.count("split_contractions.parts");
  if (parts != 2 && parts != 3)
    return Diagnostic{DiagnosticKind::bad_option,
                      format("split_contractions.parts must be 2 or 3, but is {}", parts),
                      {},
                      {},
                      {},
                      "3 parts have the precision of float32"};
  Splitter split(parts);
  return for_each_function(module, [&](const FunctionRef& f) {
    return rewrite_function(f, context, [&](const Expr&, const Expr& now) { return split(now); });
  });
}

}  // namespace relay::transform
