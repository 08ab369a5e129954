#include "relay/external/accelerator_group.h"

#include <bit>
#include <cmath>

#include "relay/accelerator/tiling.h"
#include "relay/op/common.h"
#include "relay/scalar/simplify.h"
#include "relay/transform/attributes.h"

namespace relay::external {

using accelerator::Array;
using accelerator::Layer;
using accelerator::Limits;
using accelerator::Scaling;
using ir::Call;
using ir::Expr;
using pattern::Pattern;
using transform::attribute;
using transform::call_of;
using ValueOf = function_ref<Expr(const Expr&)>;

std::optional<Array> accelerator_array(const ir::Type& type) {
  const ir::TensorType* t = ir::as<ir::TensorType>(type);
  const bool is_wide = t && t->dtype == DType::int32();
  if (!t || (t->dtype != DType::int8() && !is_wide) || (t->shape.size() != 2 && t->shape.size() != 4))
    return std::nullopt;
  std::vector<int> sizes;
  for (const ir::Dim& d : t->shape) {
    constexpr int64_t most = 1 << 20;
    if (!scalar::is_int(d) || d->ivalue < 1 || d->ivalue > most) return std::nullopt;
    sizes.push_back(static_cast<int>(d->ivalue));
  }
  sizes.resize(4, 1);
  return Array{sizes[0], sizes[1], sizes[2], sizes[3], is_wide};
}

// --- constants -------------------------------------------------------------------------------------------------------

static const Tensor* constant_of(const Expr& e, ValueOf value_of) {
  const Expr value = value_of(e);
  const ir::Constant* c = ir::as<ir::Constant>(value);
  return c ? &c->value : nullptr;
}

static std::optional<double> number_of(const Expr& e, ValueOf value_of) {
  const Tensor* t = constant_of(e, value_of);
  return t && t->elements() == 1 ? std::optional(t->at(0)) : std::nullopt;
}

static bool is_all_zero(const Expr& e, ValueOf value_of) {
  const Tensor* t = constant_of(e, value_of);
  for (int64_t k = 0; t && k < t->elements(); ++k)
    if (t->at(k) != 0) return false;
  return t != nullptr;
}

// Adds a factor as a multiplier of 31 bits and a shift to the right, exactly as qnn.requantize makes them
// (op/qnn/quantized.h). `most`: the largest number of bits by which the product may exceed its operand.
static bool add_factor(double real, int most, Scaling& s) {
  if (real == 0) {
    s.multiplier.push_back(0), s.shift.push_back(31);
    return true;
  }
  if (!(real > 0) || !std::isnormal(real)) return false;
  const uint64_t bits = std::bit_cast<uint64_t>(real);
  const int64_t fraction = static_cast<int64_t>(bits & ((uint64_t{1} << 52) - 1)) + (int64_t{1} << 52);
  int64_t multiplier = (fraction + (int64_t{1} << 21)) >> 22;
  int left = static_cast<int>(bits >> 52 & 2047) - 1022;
  if (multiplier == int64_t{1} << 31) multiplier >>= 1, ++left;
  const int shift = 31 - left;
  if (left > most || shift > 62) return false;
  s.multiplier.push_back(static_cast<int32_t>(multiplier)), s.shift.push_back(shift);
  return true;
}

// --- parts of groups -------------------------------------------------------------------------------------------------

// Removes limits from `e`. Returns false if one is unknown.
static bool read_limits(Expr& e, ValueOf value_of, Limits& limits) {
  for (int count = 0; count < 3; ++count) {
    double low = -128, high = 127;
    if (const Call* clip = call_of(e, "clip")) {
      low = attribute<double>(*clip, "a_min", low), high = attribute<double>(*clip, "a_max", high);
      e = clip->args[0];
    } else {
      const Call *greatest = call_of(e, "maximum"), *least = call_of(e, "minimum");
      const Call* call = greatest ? greatest : least;
      if (!call) return true;
      const std::optional<double> bound = number_of(call->args[1], value_of);
      if (!bound) return false;
      (greatest ? low : high) = *bound;
      e = call->args[0];
    }
    if (low < -128 || high > 127 || low > high) return false;
    limits.low = std::max(limits.low, static_cast<int8_t>(low));
    limits.high = std::min(limits.high, static_cast<int8_t>(high));
  }
  return limits.low <= limits.high;
}

static bool is_integer_requantize(const Call& call, size_t rank) {
  const std::string rounding = attribute<std::string>(call, "rounding", "None"),
                    compute = attribute<std::string>(call, "compute_dtype", "None");
  const int64_t axis = attribute<int64_t>(call, "axis", -1);
  return (rounding == "None" || rounding == "UPWARD") && (compute == "None" || compute == "int64") &&
         (axis == 1 || (rank == 2 && axis == -1));
}

// The bias of each channel; removed from `e`.
static bool read_bias(Expr& e, size_t channels, ValueOf value_of, std::vector<int32_t>& bias) {
  bias.assign(channels, 0);
  const Call *bias_add = call_of(e, "nn.bias_add"), *add = call_of(e, "add");
  const Call* call = bias_add ? bias_add : add;
  if (!call) return true;
  const Tensor* values = constant_of(call->args[1], value_of);
  if (!values || values->dtype() != DType::int32() || values->elements() != static_cast<int64_t>(channels))
    return false;
  const size_t rank = ir::as<ir::TensorType>(e->type)->shape.size();
  if (bias_add) {
    const int64_t axis = attribute<int64_t>(*call, "axis", 1);
    if (axis != 1 && !(rank == 2 && axis == -1)) return false;
  } else if (const Shape& shape = values->shape();
             shape.size() + 1 < rank || shape[shape.size() + 1 - rank] != static_cast<int64_t>(channels)) {
    return false;
  }
  for (size_t c = 0; c < channels; ++c) bias[c] = static_cast<int32_t>(values->int_at(static_cast<int64_t>(c)));
  e = call->args[0];
  return true;
}

constexpr int64_t largest_window = 512;

// True if images are NCHW, the weight has the layout `kernel_layout`, and there is one group.
static bool is_plain(const Call& conv, const char* kernel_layout) {
  const std::string out_layout = attribute<std::string>(conv, "out_layout", "");
  return attribute<std::string>(conv, "data_layout", "NCHW") == "NCHW" &&
         attribute<std::string>(conv, "kernel_layout", kernel_layout) == kernel_layout &&
         (out_layout.empty() || out_layout == "NCHW") && attribute<int64_t>(conv, "groups", 1) == 1;
}

// The window of a convolution, and its weights; false if the accelerator does not compute it.
static bool read_conv(const Call& conv, const Tensor& weight, Layer& layer) {
  if (!is_plain(conv, "OIHW")) return false;
  const ir::Ints strides = op::per_axis(attribute<ir::Ints>(conv, "strides", {1, 1}), 2),
                 dilation = op::per_axis(attribute<ir::Ints>(conv, "dilation", {1, 1}), 2),
                 padding = op::padding_sides(attribute<ir::Ints>(conv, "padding", {0, 0}), 2);
  for (size_t d = 0; d < 2; ++d) {
    const int64_t kernel = weight.shape()[d + 2], reach = (kernel - 1) * dilation[d] + 1;
    // Each window reads at least one pixel of the input.
    const int64_t most = std::min(reach - 1, largest_window);
    if (reach > largest_window || strides[d] > largest_window || padding[d] < 0 || padding[d] > most ||
        padding[d + 2] < 0 || padding[d + 2] > most)
      return false;
    layer.kernel[d] = static_cast<int>(kernel), layer.stride[d] = static_cast<int>(strides[d]);
    layer.dilation[d] = static_cast<int>(dilation[d]), layer.padding[d] = static_cast<int>(padding[d]);
  }
  const std::span<const int8_t> weights = weight.span<int8_t>();
  layer.weights.assign(weights.begin(), weights.end());
  return true;
}

// A transposed convolution as a convolution for each phase of its strides. Row m * stride + phase of the result is
//   sum(t) w[first + t * stride] * in[m + shift - t]
// with first = (phase + padding) % stride and shift = (phase + padding) / stride.
static bool read_transposed(const Call& conv, const Tensor& weight, const Array& in, const Array& out,
                            std::vector<Layer>& layers) {
  if (!is_plain(conv, "IOHW")) return false;
  const ir::Ints strides = op::per_axis(attribute<ir::Ints>(conv, "strides", {1, 1}), 2),
                 dilation = op::per_axis(attribute<ir::Ints>(conv, "dilation", {1, 1}), 2),
                 padding = op::padding_sides(attribute<ir::Ints>(conv, "padding", {0, 0}), 2);
  const Shape& kernel = weight.shape();
  for (size_t d = 0; d < 2; ++d)
    if (dilation[d] != 1 || strides[d] > kernel[d + 2] || kernel[d + 2] > largest_window || padding[d] < 0 ||
        padding[d] > largest_window)
      return false;
  const std::span<const int8_t> weights = weight.span<int8_t>();
  for (int py = 0; py < strides[0]; ++py)
    for (int px = 0; px < strides[1]; ++px) {
      Layer l;
      std::array<int, 2> first{};
      l.phase = {py, px};
      for (size_t d = 0; d < 2; ++d) {
        const int stride = static_cast<int>(strides[d]), begin = l.phase[d] + static_cast<int>(padding[d]);
        const int size = d == 0 ? out.height : out.width;
        first[d] = begin % stride;
        l.step[d] = stride;
        l.kernel[d] = (static_cast<int>(kernel[d + 2]) - first[d] + stride - 1) / stride;
        l.padding[d] = l.kernel[d] - 1 - begin / stride;
        // Each window reads at least one pixel of the input.
        if (size <= l.phase[d] || l.results(d, size) - 1 - l.padding[d] >= (d == 0 ? in.height : in.width))
          return false;
      }
      for (int64_t o = 0; o < kernel[1]; ++o)
        for (int64_t i = 0; i < kernel[0]; ++i)
          for (int y = l.kernel[0] - 1; y >= 0; --y)
            for (int x = l.kernel[1] - 1; x >= 0; --x) {
              const int64_t row = (i * kernel[1] + o) * kernel[2] + first[0] + y * strides[0];
              l.weights.push_back(weights[static_cast<size_t>(row * kernel[3] + first[1] + x * strides[1])]);
            }
      layers.push_back(std::move(l));
    }
  return true;
}

// Adds the parameters for sums of int32, and for data that are not counted from 0:
//   sum(w * (x - zero)) + bias = sum(w * x) + (bias - zero * sum(w))
static void add_biases(Layer& layer, const std::vector<int32_t>& bias, int64_t zero) {
  layer.pad = static_cast<int8_t>(zero);
  Scaling& scaling = layer.scales.emplace_back();
  const size_t each = layer.weights.size() / bias.size();
  for (size_t c = 0; c < bias.size(); ++c) {
    int64_t sum = 0;
    for (const int8_t w : std::span(layer.weights).subspan(c * each, each)) sum += w;
    scaling.bias.push_back(static_cast<int32_t>(bias[c] - zero * sum));
  }
}

// A convolution with its bias, whose sums are int32.
static std::optional<AcceleratorGroup> read_sums(Expr e, ValueOf value_of) {
  const std::optional<Array> out = accelerator_array(e->type);
  std::vector<int32_t> bias;
  if (!out || !out->is_wide || !read_bias(e, static_cast<size_t>(out->channels), value_of, bias)) return std::nullopt;
  const Call *conv = call_of(e, "qnn.conv2d"), *transposed = call_of(e, "qnn.conv2d_transpose"),
             *dense = call_of(e, "qnn.dense");
  const Call* head = conv ? conv : transposed ? transposed : dense;
  if (!head) return std::nullopt;
  const std::optional<Array> in = accelerator_array(head->args[0]->type);
  const Tensor* weight = constant_of(head->args[1], value_of);
  const std::optional<double> zero = number_of(head->args[3], value_of);
  constexpr int least_channels = 16;
  if (!in || in->is_wide || in->channels < least_channels || !weight || weight->dtype() != DType::int8() || !zero ||
      std::abs(*zero) > 128 || !is_all_zero(head->args[5], value_of))
    return std::nullopt;
  AcceleratorGroup group;
  group.data = head->args[0];
  if (transposed) {
    if (!read_transposed(*transposed, *weight, *in, *out, group.layers)) return std::nullopt;
  } else {
    Layer& layer = group.layers.emplace_back();
    if (conv && !read_conv(*conv, *weight, layer)) return std::nullopt;
    if (dense) layer.weights.assign(weight->span<int8_t>().begin(), weight->span<int8_t>().end());
  }
  const accelerator::Network network{{*in, *out}, {}};
  for (Layer& layer : group.layers) {
    add_biases(layer, bias, static_cast<int64_t>(*zero));
    layer.input = 0, layer.output = 1;
    if (!accelerator::choose_tile(accelerator::shape_of(network, layer), {})) return std::nullopt;
  }
  return group;
}

static std::optional<AcceleratorGroup> read_convolution(const Call& requantize, ValueOf value_of, Limits limits) {
  const size_t rank = ir::as<ir::TensorType>(requantize.type)->shape.size();
  const std::optional<double> out_scale = number_of(requantize.args[3], value_of),
                              out_zero = number_of(requantize.args[4], value_of);
  const Tensor* scales = constant_of(requantize.args[1], value_of);
  if (!is_integer_requantize(requantize, rank) || !scales || !out_scale || !out_zero ||
      !is_all_zero(requantize.args[2], value_of))
    return std::nullopt;
  Expr e = requantize.args[0];
  // A maximum with 0 before the factor is one with the zero point behind it.
  if (const Call* relu = call_of(e, "maximum"); relu && number_of(relu->args[1], value_of) == 0.0) {
    limits.low = std::max(limits.low, static_cast<int8_t>(*out_zero));
    e = relu->args[0];
  }
  std::optional<AcceleratorGroup> group = read_sums(e, value_of);
  if (!group) return std::nullopt;
  for (Layer& layer : group->layers) {
    Scaling& scaling = layer.scales[0];
    for (size_t c = 0; c < scaling.bias.size(); ++c) {
      scaling.offset.push_back(static_cast<int32_t>(*out_zero));
      const double scale = scales->at(scales->elements() == 1 ? 0 : static_cast<int64_t>(c));
      if (!add_factor(scale / *out_scale, 0, scaling)) return std::nullopt;
    }
    layer.limits = limits;
  }
  return group;
}

static std::optional<AcceleratorGroup> read_sum(const Call& add, ValueOf value_of, const Limits& limits) {
  std::array<double, 6> values{};  // scale and zero point of both sides and of the sum
  for (size_t k = 0; k < values.size(); ++k) {
    const std::optional<double> value = number_of(add.args[k + 2], value_of);
    if (!value) return std::nullopt;
    values[k] = *value;
  }
  const ir::TensorType *left = ir::as<ir::TensorType>(add.args[0]->type),
                       *right = ir::as<ir::TensorType>(add.args[1]->type);
  const std::optional<Array> array = accelerator_array(add.args[0]->type);
  if (!array || array->is_wide || !right || left->shape.size() != right->shape.size()) return std::nullopt;
  for (size_t d = 0; d < left->shape.size(); ++d)
    if (!scalar::prove_equal(left->shape[d], right->shape[d]).value_or(false)) return std::nullopt;
  AcceleratorGroup group{add.args[0], add.args[1], {}};
  Layer& layer = group.layers.emplace_back();
  for (size_t side : {0, 1}) {
    Scaling s;
    s.bias = {static_cast<int32_t>(-values[2 * side + 1])};
    s.offset = {side == 0 ? static_cast<int32_t>(values[5]) : 0};
    constexpr int most = 20;  // of differences of bytes
    if (!add_factor(values[2 * side] / values[4], most, s)) return std::nullopt;
    layer.scales.push_back(std::move(s));
  }
  layer.limits = limits;
  return group;
}

std::optional<AcceleratorGroup> read_accelerator_group(const Expr& root, ValueOf value_of) {
  Limits limits;
  Expr e = root;
  const std::optional<Array> out = accelerator_array(root->type);
  if (!out) return std::nullopt;
  if (out->is_wide) return read_sums(root, value_of);
  if (!read_limits(e, value_of, limits)) return std::nullopt;
  if (const Call* add = call_of(e, "qnn.add")) return read_sum(*add, value_of, limits);
  const Call* requantize = call_of(e, "qnn.requantize");
  return requantize ? read_convolution(*requantize, value_of, limits) : std::nullopt;
}

// --- patterns --------------------------------------------------------------------------------------------------------

// A call of an operator; `args` are the first arguments, and the others are constants.
static Pattern calls(const char* name, pattern::Patterns args, int constants) {
  for (int k = 0; k < constants; ++k) args.push_back(pattern::constant());
  return pattern::call(pattern::op(name), std::move(args));
}

static Pattern limited(const Pattern& p) {
  Pattern one =
      pattern::either(calls("maximum", {p}, 1), pattern::either(calls("minimum", {p}, 1), calls("clip", {p}, 0)));
  return pattern::either(one, p);
}

Pattern accelerator_wide_convolution() {
  Pattern head = calls("qnn.dense", {pattern::wildcard()}, 5);
  for (const char* name : {"qnn.conv2d", "qnn.conv2d_transpose"})
    head = pattern::either(calls(name, {pattern::wildcard()}, 5), head);
  return pattern::either(pattern::either(calls("nn.bias_add", {head}, 1), calls("add", {head}, 1)), head);
}

Pattern accelerator_convolution() {
  const Pattern biased = accelerator_wide_convolution();
  const Pattern active = pattern::either(calls("maximum", {biased}, 1), biased);
  return limited(limited(calls("qnn.requantize", {active}, 4)));
}

Pattern accelerator_sum() { return limited(limited(calls("qnn.add", {pattern::wildcard(), pattern::wildcard()}, 6))); }

}  // namespace relay::external
