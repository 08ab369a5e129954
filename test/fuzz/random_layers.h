// Random networks of layers in Relay, for the fuzzer of passes. They contain the patterns of passes that change
// convolutions, norms, scales, layouts and quantised values. All sizes are small; values are floats, so results are
// close but not equal.
#pragma once

#include <random>

#include "relay/op/registry.h"
#include "relay/transform/typed.h"

namespace relay::fuzz {

class LayerGenerator {
 public:
  explicit LayerGenerator(uint64_t seed) : random_(seed) {}

  // @main takes an image (1, 4, 6, 6) and returns a tuple of tensors.
  ir::Module generate() {
    const ir::VarRef x = ir::var("x", ir::tensor_type({1, 4, 6, 6}, DType::float32()));
    x->type = x->annotation;
    values_ = {x};
    for (int64_t steps = in(4, 14); steps > 0; --steps)
      if (ir::Expr e = step(); e && small(e)) values_.push_back(e);
    ir::Exprs results = {values_.back()};
    for (int64_t more = in(0, 2); more > 0; --more) results.push_back(any());
    ir::Module m;
    m.functions["main"] = ir::function({x}, transform::typed_tuple(std::move(results), {}));
    return m;
  }

 private:
  int64_t in(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(random_); }
  // A random value; newer ones are more likely.
  const ir::Expr& any() { return values_[values_.size() - 1 - static_cast<size_t>(in(0, in(0, size() - 1)))]; }
  int64_t size() const { return static_cast<int64_t>(values_.size()); }
  static const ir::TensorType& type_of(const ir::Expr& e) { return *ir::as<ir::TensorType>(e->type); }
  static bool small(const ir::Expr& e) {
    const ir::TensorType* t = ir::as<ir::TensorType>(e->type);
    int64_t elements = 1;
    for (const ir::Dim& d : t ? t->shape : ir::Dims()) elements *= scalar::is_int(d) ? d->ivalue : 1000;
    return t && t->dtype == DType::float32() && elements <= 2000;
  }

  ir::Expr numbers(Shape shape, double low = -1, double high = 1) {
    Tensor value = Tensor::empty(shape, DType::float32());
    for (int64_t i = 0; i < value.elements(); ++i)
      value.set(i, std::uniform_real_distribution<double>(low, high)(random_));
    ir::Expr c = ir::constant(std::move(value));
    ir::Dims dims;
    for (int64_t n : shape) dims.push_back(scalar::imm(n));
    c->type = ir::tensor_type(dims, DType::float32());
    return c;
  }
  // Null if the operator does not accept them.
  static ir::Expr call(const char* name, ir::Exprs args, const op::AttrValues& attrs = {}) {
    const op::OpDef& def = *op::find(name);
    Result<ir::Attrs> made = op::attributes(def, attrs);
    return made ? transform::try_call(op::node(def), std::move(args), attrs.empty() ? ir::Attrs() : *made, {})
                : nullptr;
  }
  int64_t channels(const ir::Expr& e) {
    const ir::Dims& shape = type_of(e).shape;
    return shape.size() > 1 ? shape[1]->ivalue : 1;
  }

  ir::Expr step() {
    const ir::Expr x = any();
    const int64_t c = channels(x), rank = static_cast<int64_t>(type_of(x).shape.size());
    switch (in(0, 46)) {
      case 0:
      case 1:
      case 2: return convolution(x, c);
      case 3: return call("nn.bias_add", {x, numbers({c})});
      case 4: {
        ir::Expr all = call("nn.batch_norm", {x, numbers({c}), numbers({c}), numbers({c}), numbers({c}, 0.5, 2)});
        return all ? transform::typed_get(all, 0, {}) : nullptr;
      }
      case 5: return call("nn.relu", {x});
      case 6: return call("nn.leaky_relu", {x}, {{"alpha", 0.1}});
      case 7: return call("nn.max_pool2d", {x}, {{"pool_size", ir::Ints{2, 2}}});
      case 8: return call("nn.avg_pool2d", {x}, {{"pool_size", ir::Ints{3, 3}}, {"padding", ir::Ints{in(0, 1), 1}}});
      case 9: return call("multiply", {x, in(0, 1) ? numbers({c, 1, 1}, 0.5, 2) : numbers({}, 0.5, 2)});
      case 10: return call("add", {x, in(0, 1) ? numbers({c, 1, 1}) : numbers({})});
      case 11: return call("add", {x, any()});
      case 12: return call("multiply", {x, any()});
      case 13: return call("divide", {x, numbers({}, 0.5, 2)});
      case 14: return call("subtract", {x, any()});
      case 15: {
        ir::Expr both = transform::typed_tuple({x, any()}, {});
        return call("concatenate", {both}, {{"axis", in(0, rank - 1)}});
      }
      case 16: {
        ir::Expr parts = call("split", {x}, {{"indices_or_sections", int64_t{2}}, {"axis", int64_t{1}}});
        return parts ? transform::typed_get(parts, in(0, 1), {}) : nullptr;
      }
      case 17: return rank == 4 ? call("transpose", {x}, {{"axes", ir::Ints{0, in(0, 1) ? 2 : 3, 1, 2}}}) : nullptr;
      case 18: return call("reshape", {x}, {{"newshape", ir::Dims{scalar::imm(1), scalar::imm(-1)}}});
      case 19: return rank == 2 ? call("nn.dense", {x, numbers({in(2, 5), c})}) : call("nn.batch_flatten", {x});
      case 20: return call("clip", {x}, {{"a_min", -1.0 * static_cast<double>(in(0, 1))}, {"a_max", 2.0}});
      case 21: return call("nn.softmax", {x}, {{"axis", in(0, 1)}});
      case 22: {
        ir::IntLists around(static_cast<size_t>(rank), ir::Ints{0, 0});
        around.back() = {in(0, 2), 1};
        return call("nn.pad", {x, numbers({}, 0, 0)}, {{"pad_width", around}});
      }
      case 23: {
        ir::Expr wide = call("cast", {x}, {{"dtype", DType::float64()}});
        return call("cast", {wide}, {{"dtype", DType::float32()}});
      }
      case 24: return call("nn.layer_norm", {x, numbers({type_of(x).shape.back()->ivalue}), numbers({1})});
      case 25: return call("sqrt", {call("abs", {x})});
      case 26: return call("divide", {x, call("sqrt", {call("add", {call("abs", {x}), numbers({}, 1, 2)})})});
      case 27: return fake_quantised(x);
      case 28: return rank == 4 ? call("layout_transform", {x}, layouts()) : call("zeros_like", {x});
      case 29: return call("mean", {x}, {{"axis", ir::Ints{rank - 1}}, {"keepdims", true}});
      case 30:
      case 41: return dense_branches(x, rank);
      case 31:
        return branches("nn.conv2d", x, [&] { return numbers({in(1, 3), c, 1, 1}); },
                        {{"kernel_layout", std::string("OIHW")}});
      case 32: return matmul_branches(x, c);
      case 33: return call("nn.conv2d_transpose", {x, numbers({c, 3, 2, 2})}, {{"strides", ir::Ints{2, 2}}});
      case 34: return atrous(x, c);
      case 35: return call("reshape", {call("dyn.reshape", {x, sizes({1, -1})})}, {{"newshape", type_of(x).shape}});
      case 36: return widened_twice(x);
      case 37: return call("dyn.broadcast_to", {x, sizes({1, c, 6, 6})});
      case 38: return padded(x, c);
      case 39: {
        ir::Expr conv = convolution(x, c);
        return conv ? call("multiply", {conv, numbers({channels(conv), 1, 1}, 0.5, 2)}) : nullptr;
      }
      case 40: return rank == 4 ? convolution(call("multiply", {x, numbers({c, 1, 1}, 0.5, 2)}), c) : nullptr;
      case 42: {  // a value on another device of the processor
        const ir::Expr there = call("on_device", {x}, {{"virtual_device", std::string("cpu:1")}});
        return there ? call("nn.relu", {there}) : nullptr;
      }
      case 43: return attention(x);
      case 44: return late(x, c);
      case 45: return gradient_of_a_weight(x);
      default: return call("tanh", {x});
    }
  }

  // Products of one tensor by several matrices.
  ir::Expr dense_branches(const ir::Expr& x, int64_t rank) {
    const ir::Expr flat = rank == 2 ? x : call("nn.batch_flatten", {x});
    const int64_t features = flat ? channels(flat) : 1;
    return flat ? branches("nn.dense", flat, [&] { return numbers({in(1, 4), features}); }, {}) : nullptr;
  }
  ir::Expr matmul_branches(const ir::Expr& x, int64_t c) {
    const ir::Expr batch = call("squeeze", {x}, {{"axis", ir::Ints{0}}});
    if (!batch || type_of(batch).shape.size() != 3) return nullptr;
    const int64_t inner = type_of(batch).shape.back()->ivalue;
    return branches("nn.batch_matmul", batch, [&] { return numbers({c, in(1, 3), inner}); }, {{"transpose_b", true}});
  }

  // Attention of the rows of an image.
  ir::Expr attention(const ir::Expr& x) {
    const ir::Expr rows = call("squeeze", {x}, {{"axis", ir::Ints{0}}});
    if (!rows || type_of(rows).shape.size() != 3) return nullptr;
    ir::Expr out =
        call("nn.scaled_dot_product_attention", {transform::typed_tuple({rows, call("tanh", {rows}), rows}, {})});
    return out ? call("expand_dims", {out}, {{"axis", int64_t{0}}}) : nullptr;
  }
  // The contributions of several uses of a weight to its gradient.
  ir::Expr gradient_of_a_weight(const ir::Expr& x) {
    const ir::Expr row = type_of(x).shape.size() == 2 ? x : call("nn.batch_flatten", {x});
    ir::Expr sum;
    for (int64_t count = in(2, 4); row && count > 0; --count) {
      const ir::Expr data = in(0, 1) ? row : call("tanh", {row});
      ir::Expr part = call("nn.matmul", {numbers({type_of(row).shape[0]->ivalue, 6}), data}, {{"transpose_a", true}});
      sum = sum ? call("add", {sum, part}) : part;
    }
    return sum;
  }
  // A cheap value of a small one that is used early and late, with a large value in between.
  ir::Expr late(const ir::Expr& x, int64_t c) {
    if (type_of(x).shape.size() != 4) return nullptr;
    const ir::Expr cheap = call("multiply", {x, numbers({}, 0.5, 2)});
    ir::Expr wide = call("nn.conv2d", {cheap, numbers({9, c, 1, 1})});
    ir::Expr back = wide ? call("nn.conv2d", {call("tanh", {wide}), numbers({c, 9, 1, 1})}) : nullptr;
    return back ? call("add", {back, cheap}) : nullptr;
  }

  ir::Expr convolution(const ir::Expr& x, int64_t c) {
    const int64_t window = in(0, 1) ? 3 : 1, stride = in(1, 2);
    return call("nn.conv2d", {x, numbers({in(1, 4), c, window, window})},
                {{"padding", ir::Ints{window / 2, window / 2}}, {"strides", ir::Ints{stride, stride}}});
  }
  // Several products of the same data.
  ir::Expr branches(const char* op, const ir::Expr& x, function_ref<ir::Expr()> weight, const op::AttrValues& attrs) {
    ir::Exprs parts;
    for (int64_t count = in(2, 4); count > 0; --count) {
      ir::Expr part = call(op, {x, weight()}, attrs);
      if (!part) return nullptr;
      parts.push_back(in(0, 1) ? part : call("nn.relu", {part}));
    }
    const int64_t last = static_cast<int64_t>(type_of(parts[0]).shape.size()) == 4 ? 1 : -1;
    return call("concatenate", {transform::typed_tuple(std::move(parts), {})}, {{"axis", last}});
  }
  // A convolution of data that was spread over the batch.
  ir::Expr atrous(const ir::Expr& x, int64_t c) {
    const ir::IntLists pads = {{2, 2}, {2, 2}}, crops = {{0, 0}, {0, 0}};
    const ir::Ints block = {2, 2};
    if (type_of(x).shape.size() != 4) return nullptr;
    const ir::Expr last = call("transpose", {x}, {{"axes", ir::Ints{0, 2, 3, 1}}});
    ir::Expr spread = call("nn.space_to_batch_nd", {last}, {{"block_shape", block}, {"paddings", pads}});
    const op::AttrValues layouts = {{"data_layout", std::string("NHWC")}, {"kernel_layout", std::string("HWIO")}};
    ir::Expr conv = spread ? call("nn.conv2d", {spread, numbers({3, 3, c, 3})}, layouts) : nullptr;
    ir::Expr back = conv ? call("nn.batch_to_space_nd", {conv}, {{"block_shape", block}, {"crops", crops}}) : nullptr;
    return back ? call("transpose", {back}, {{"axes", ir::Ints{0, 3, 1, 2}}}) : nullptr;
  }
  // Zeros around a convolution's data.
  ir::Expr padded(const ir::Expr& x, int64_t c) {
    if (type_of(x).shape.size() != 4) return nullptr;
    const ir::IntLists around = {{0, 0}, {0, 0}, {in(0, 2), 1}, {1, in(0, 2)}};
    return convolution(call("nn.pad", {x, numbers({}, 0, 0)}, {{"pad_width", around}}), c);
  }
  ir::Expr widened_twice(const ir::Expr& x) {
    const ir::Expr wide = call("cast", {x}, {{"dtype", DType::float64()}});
    ir::Expr sum = call("add", {call("exp", {wide}), call("tanh", {wide})});
    return call("cast", {sum}, {{"dtype", DType::float32()}});
  }
  static ir::Expr sizes(const std::vector<int64_t>& values) {
    Tensor t = Tensor::empty({static_cast<int64_t>(values.size())}, DType::int64());
    for (size_t i = 0; i < values.size(); ++i) t.set_int(static_cast<int64_t>(i), values[i]);
    ir::Expr c = ir::constant(std::move(t));
    c->type = ir::tensor_type({static_cast<int64_t>(values.size())}, DType::int64());
    return c;
  }
  op::AttrValues layouts() {
    const char* names[] = {"NCHW", "NHWC", "CHWN"};
    return {{"src_layout", std::string(names[in(0, 2)])}, {"dst_layout", std::string(names[in(0, 2)])}};
  }
  // Floats that are quantised and dequantised.
  ir::Expr fake_quantised(const ir::Expr& x) {
    const ir::Expr scale = transform::typed_scalar(0.0625, DType::float32()),
                   zero = transform::typed_scalar(0, DType::int32());
    return call("qnn.dequantize", {call("qnn.quantize", {x, scale, zero}), scale, zero});
  }

  std::mt19937_64 random_;
  ir::Exprs values_;
};

}  // namespace relay::fuzz
