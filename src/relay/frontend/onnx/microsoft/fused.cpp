// Operators into which ONNX Runtime's optimiser fuses neighbours: curves with a bias, products and convolutions with a
// curve.
#include "relay/frontend/common/ops/curves.h"
#include "relay/frontend/onnx/microsoft/shared.h"
#include "relay/frontend/onnx/window.h"
#include "relay/scalar/simplify.h"

namespace relay::onnx::microsoft {

using ir::Expr;

namespace {

// A scalar attribute, or an element of a list of floats, that parametrises an activation.
double parameter(Convert& c, const char* name, size_t index, double otherwise) {
  const Attribute* list = c.node.find("activation_params");
  if (!list) return c.real(name, otherwise);
  const std::vector<float>* values = std::get_if<std::vector<float>>(&list->value);
  return values && index < values->size() ? static_cast<double>((*values)[index]) : otherwise;
}

}  // namespace

Expr activated(Convert& c, const Expr& x) {
  const std::string name = c.text("activation", "");
  if (name.empty()) return x;
  if (name == "Relu") return c.emit("nn.relu", {x});
  if (name == "Tanh") return c.emit("tanh", {x});
  if (name == "Sigmoid") return c.emit("sigmoid", {x});
  if (name == "LeakyRelu") return c.emit("nn.leaky_relu", {x}, {{"alpha", parameter(c, "activation_alpha", 0, 0.01)}});
  if (name == "Clip")
    return c.emit("clip", {x},
                  {{"a_min", parameter(c, "activation_alpha", 0, -3.4028234663852886e38)},
                   {"a_max", parameter(c, "activation_beta", 1, 3.4028234663852886e38)}});
  if (name == "HardSigmoid") {
    Expr line = c.add(c.multiply(x, parameter(c, "activation_alpha", 0, 0.2)), parameter(c, "activation_beta", 1, 0.5));
    return c.emit("clip", {line}, {{"a_min", 0.0}, {"a_max", 1.0}});
  }
  if (name == "Gelu") return gelu(c, x, false);
  return c.unsupported("activation is '{}'", name);
}

Values Gelu(Convert& c) { return {gelu(c, c.input(0), false)}; }
Values BiasGelu(Convert& c) { return {gelu(c, c.add(c.input(0), c.input(1)), false)}; }

// The first half times the curve of the second half.
Values BiasSplitGelu(Convert& c) {
  Expr x = c.add(c.input(0), c.input(1));
  if (!c.expect_rank(x, 1, 32, "the data")) return {};
  const int64_t last = c.rank(x) - 1;
  std::optional<int64_t> width = c.fixed_extent(x, last, "the data");
  if (!width) return {};
  if (*width % 2) return c.bad("the data is {}; its last axis should be even", ir::str(x->type));
  return {c.multiply(c.slice(x, last, 0, *width / 2), gelu(c, c.slice(x, last, *width / 2, *width), false))};
}

Values BiasAdd(Convert& c) { return {c.add(c.add(c.input(0), c.input(1)), c.input(2))}; }

Values FastGelu(Convert& c) { return {gelu(c, c.has(1) ? c.add(c.input(0), c.input(1)) : c.input(0), true)}; }

Values QuickGelu(Convert& c) { return {silu(c, c.input(0), c.real("alpha", 1.702))}; }

Values ExpandDims(Convert& c) {
  Expr x = c.input(0);
  std::optional<double> at = c.number(1, "axis");
  std::optional<int64_t> axis = at ? c.axis(static_cast<int64_t>(*at), c.rank(x) + 1) : std::nullopt;
  if (!axis) return {};
  return {c.expand(x, *axis)};
}

// alpha * A B, either with its last two axes exchanged; before that, with its first axis moved behind the other batch
// axes and the rows.
Values FusedMatMul(Convert& c) {
  auto factor = [&](size_t i, const char* attribute, const char* batch) {
    Expr e = c.input(i);
    const int64_t rank = c.rank(e);
    ir::Ints axes;
    for (int64_t k = 0; k < rank; ++k) axes.push_back(k);
    if (c.integer(batch, 0) && rank > 2) {
      // (M, batch .., K) is (batch .., M, K); transposed it is (K, batch .., M).
      axes.erase(axes.begin());
      axes.insert(axes.end() - 1, 0);
    }
    if (c.integer(attribute, 0) && rank > 1)
      std::swap(axes[static_cast<size_t>(rank - 1)], axes[static_cast<size_t>(rank - 2)]);
    return c.transpose(e, axes);
  };
  Expr a = factor(0, "transA", "transBatchA"), b = factor(1, "transB", "transBatchB");
  return {c.multiply(matrix_product(c, a, b), c.real("alpha", 1))};
}
Values TransposeMatMul(Convert& c) { return FusedMatMul(c); }

Values FusedMatMulActivation(Convert& c) {
  Values product = FusedMatMul(c);
  return product.empty() ? product : Values{activated(c, product[0].expr)};
}

Values GemmFastGelu(Convert& c) {
  Expr y = matrix_product(c, c.input(0), c.input(1));
  return {gelu(c, c.has(2) ? c.add(y, c.input(2)) : y, true)};
}

Values FusedGemm(Convert& c) {
  Values product = convert::Gemm(c);
  return product.empty() ? product : Values{activated(c, product[0].expr)};
}

Values FusedConv(Convert& c) {
  Expr y = convolution(c, c.input(0), c.input(1), {});
  if (c.has(2)) y = c.emit("nn.bias_add", {y, c.input(2)}, {{"axis", int64_t{1}}});
  if (c.has(3)) y = c.add(y, c.input(3));
  return {activated(c, y)};
}

}  // namespace relay::onnx::microsoft
