#include "relay/external/dnnl/builder.h"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <tuple>

namespace relay::onednn {

using ::dnnl::algorithm;
using ::dnnl::memory;
using ::dnnl::post_ops;
using ::dnnl::primitive_attr;
using ::dnnl::prop_kind;

static constexpr memory::data_type f32 = memory::data_type::f32;
static Desc any(const Dims& dims) { return {dims, f32, memory::format_tag::any}; }

static int64_t product(Dims::const_iterator begin, Dims::const_iterator end) {
  int64_t all = 1;
  for (; begin != end; ++begin) all *= *begin;
  return all;
}

// Operations on the result of a contraction.
// The bounds of relu and clip; unset for other activations.
static std::optional<std::pair<float, float>> limits_of(const Json& j) {
  const std::string name = j.value("activation", "");
  if (name == "relu") return std::pair(0.0f, std::numeric_limits<float>::infinity());
  if (name == "clip") return std::pair(j.at("low").get<float>(), j.at("high").get<float>());
  return std::nullopt;
}

static primitive_attr attributes(const Json& j) {
  post_ops after;
  if (j.contains("sum")) after.append_sum(1.0f);
  if (j.contains("activation") && !limits_of(j)) {
    const std::string name = j.at("activation");
    const std::pair<const char*, algorithm> known[] = {{"logistic", algorithm::eltwise_logistic},
                                                       {"tanh", algorithm::eltwise_tanh},
                                                       {"gelu", algorithm::eltwise_gelu_erf},
                                                       {"swish", algorithm::eltwise_swish}};
    const auto* found =
        std::find_if(std::begin(known), std::end(known), [&](const auto& one) { return name == one.first; });
    if (found == std::end(known)) throw std::runtime_error("an activation is unknown: " + name);
    after.append_eltwise(1.0f, found->second, name == "swish" ? 1.0f : 0.0f, 0.0f);
  }
  primitive_attr attr;
  attr.set_post_ops(after);
  attr.set_scratchpad_mode(::dnnl::scratchpad_mode::user);
  return attr;
}

static primitive_attr plain_attributes() {
  primitive_attr attr;
  attr.set_scratchpad_mode(::dnnl::scratchpad_mode::user);
  return attr;
}

Builder::Builder(Plan& plan, PackedConstants& constants, const std::vector<Dims>& inputs)
    : plan_(plan), constants_(constants) {
  for (size_t i = 0; i < inputs.size(); ++i) at_.push_back(add_value({Value::Kind::Input, i, row_major(inputs[i])}));
  for (size_t c = 0; c < constants.size(); ++c)
    at_.push_back(add_value({Value::Kind::Constant, c, row_major(constants.dims(c))}));
}

Dims Builder::dims(size_t number) const { return plan_.values_[at_.at(number)].desc.dims(); }

size_t Builder::add_value(Value value) {
  plan_.values_.push_back(std::move(value));
  return plan_.values_.size() - 1;
}

void Builder::define(const Json& step, size_t value) {
  if (step.at("out").get<size_t>() != at_.size()) throw std::runtime_error("steps are not in order");
  at_.push_back(value);
}

void Builder::add(::dnnl::primitive primitive, const Desc& scratchpad, Step step) {
  step.primitive = std::move(primitive);
  if (scratchpad.get_size() > plan_.scratchpad_.get_size()) plan_.scratchpad_ = scratchpad;
  plan_.steps_.push_back(std::move(step));
}

void Builder::limit(size_t value, std::optional<std::pair<float, float>> limits) {
  if (!limits) return;
  Step step{{}, {{DNNL_ARG_DST, value, plan_.values_[value].desc}}, {}};
  step.limits = limits;
  plan_.steps_.push_back(std::move(step));
}

// --- layouts ---------------------------------------------------------------------------------------------------------

size_t Builder::reordered(size_t value, const Desc& wanted) {
  const Desc from = plan_.values_[value].desc;
  if (from == wanted) return value;
  for (const Reordered& known : reordered_)
    if (known.from == value && plan_.values_[known.to].desc == wanted) return known.to;
  const size_t made = add_value({Value::Kind::Inside, 0, wanted});
  const ::dnnl::reorder::primitive_desc pd(engine(), from, engine(), wanted, plain_attributes());
  add(::dnnl::reorder(pd), pd.scratchpad_desc(), {{}, {{DNNL_ARG_FROM, value, from}, {DNNL_ARG_TO, made, wanted}}, {}});
  reordered_.push_back({value, made});
  return made;
}

// A separate copy, which a primitive may add to.
size_t Builder::copied(size_t number, const Desc& wanted) {
  const size_t made = add_value({Value::Kind::Inside, 0, wanted});
  const Desc from = plan_.values_[at_.at(number)].desc;
  Step step;
  const ::dnnl::reorder::primitive_desc pd(engine(), from, engine(), wanted, plain_attributes());
  arg(step, DNNL_ARG_FROM, number, row_major(from.dims()), from);
  step.args.push_back({DNNL_ARG_TO, made, wanted});
  add(::dnnl::reorder(pd), pd.scratchpad_desc(), std::move(step));
  return made;
}

void Builder::arg(Step& step, int name, size_t number, const Desc& as, const Desc& wanted) {
  const size_t value = at_.at(number);
  const Value& v = plan_.values_[value];
  if (v.kind == Value::Kind::Constant) {
    step.constants.emplace_back(name, constants_.packed(v.index, as, wanted));
    return;
  }
  if (v.desc.dims() == wanted.dims() && as == row_major(as.dims())) {
    step.args.push_back({name, reordered(value, wanted), wanted});
    return;
  }
  // Viewed with other dimensions or transposed, it is row-major.
  const size_t plain = reordered(value, row_major(v.desc.dims()));
  if (as == wanted) {
    step.args.push_back({name, plain, as});
    return;
  }
  const size_t made = add_value({Value::Kind::Inside, 0, wanted});
  const ::dnnl::reorder::primitive_desc pd(engine(), as, engine(), wanted, plain_attributes());
  add(::dnnl::reorder(pd), pd.scratchpad_desc(), {{}, {{DNNL_ARG_FROM, plain, as}, {DNNL_ARG_TO, made, wanted}}, {}});
  step.args.push_back({name, made, wanted});
}

void Builder::output(size_t number, size_t index, const Dims& expected) {
  if (dims(number) != expected) throw std::runtime_error("a result has another shape than the program says");
  const size_t value = at_.at(number);
  const Desc wanted = row_major(expected);
  if (plan_.values_[value].kind == Value::Kind::Inside && plan_.values_[value].desc == wanted) {
    plan_.values_[value].kind = Value::Kind::Output, plan_.values_[value].index = index;
    return;
  }
  const size_t made = copied(number, wanted);
  plan_.values_[made].kind = Value::Kind::Output, plan_.values_[made].index = index;
}

// --- steps -----------------------------------------------------------------------------------------------------------

void Builder::step(const Json& j) {
  const std::string op = j.at("op");
  if (op == "conv2d") return convolution(j);
  if (op == "matmul" || op == "batch_matmul") return matmul(j);
  if (op == "relu") return relu(j);
  if (op == "add") return sum(j);
  if (op == "avg_pool" || op == "avg_pool_with_padding" || op == "global_avg_pool") return pool(j);
  throw std::runtime_error("a step is unknown: " + op);
}

// Pads before and after, from padding with all befores first.
static std::pair<Dims, Dims> sides(const Dims& padding) {
  return {{padding.at(0), padding.at(1)}, {padding.at(2), padding.at(3)}};
}

static int64_t places(int64_t in, int64_t k, int64_t stride, int64_t before, int64_t after, int64_t dilation) {
  return (in + before + after - dilation * (k - 1) - 1) / stride + 1;
}

// oneDNN counts the elements between two taps.
static Dims gaps(Dims dilation) {
  for (int64_t& d : dilation) --d;
  return dilation;
}

void Builder::convolution(const Json& j) {
  const size_t data = j.at("in").at(0), weight = j.at("in").at(1);
  const Dims strides = j.at("strides"), dilation = j.at("dilation");
  const auto [before, after] = sides(j.at("padding"));
  const int64_t groups = j.at("groups");
  const Dims in = dims(data), w = dims(weight);
  Dims out{in.at(0), w.at(0)};
  for (size_t d = 0; d < 2; ++d)
    out.push_back(places(in.at(2 + d), w.at(2 + d), strides[d], before[d], after[d], dilation[d]));
  const Dims w_view = groups == 1 ? w : Dims{groups, w[0] / groups, w[1], w[2], w[3]};
  const Desc bias_desc = row_major({w[0]});
  const primitive_attr attr = attributes(j);
  const auto desc = [&] {
    using Forward = ::dnnl::convolution_forward;
    return j.contains("bias") ? Forward::desc(prop_kind::forward_inference, algorithm::convolution_direct, any(in),
                                              any(w_view), bias_desc, any(out), strides, gaps(dilation), before, after)
                              : Forward::desc(prop_kind::forward_inference, algorithm::convolution_direct, any(in),
                                              any(w_view), any(out), strides, gaps(dilation), before, after);
  }();
  const ::dnnl::convolution_forward::primitive_desc pd(desc, attr, engine());
  Step step;
  arg(step, DNNL_ARG_SRC, data, row_major(in), pd.src_desc());
  arg(step, DNNL_ARG_WEIGHTS, weight, row_major(w_view), pd.weights_desc());
  if (j.contains("bias")) arg(step, DNNL_ARG_BIAS, j.at("bias"), bias_desc, bias_desc);
  const size_t result =
      j.contains("sum") ? copied(j.at("sum"), pd.dst_desc()) : add_value({Value::Kind::Inside, 0, pd.dst_desc()});
  step.args.push_back({DNNL_ARG_DST, result, pd.dst_desc()});
  add(::dnnl::convolution_forward(pd), pd.scratchpad_desc(), std::move(step));
  limit(result, limits_of(j));
  define(j, result);
}

void Builder::matmul(const Json& j) {
  const size_t a = j.at("in").at(0), b = j.at("in").at(1);
  const bool ta = j.at("transpose_a"), tb = j.at("transpose_b"), batched = j.at("op") == "batch_matmul";
  const Dims da = dims(a), db = dims(b);
  // Rows of all leading axes are one axis, except for batches.
  const Dims batch_a = batched ? Dims{da.at(0)} : Dims(), batch_b = batched ? Dims{db.at(0)} : Dims();
  const int64_t columns = da.back(), rows = batched ? da.at(1) : product(da.begin(), da.end() - 1);
  const int64_t m = ta ? columns : rows, k = ta ? rows : columns;
  const int64_t n = tb ? db.at(db.size() - 2) : db.back();
  const auto view = [](const Dims& batch, int64_t y, int64_t x, bool transposed) {
    Dims d = batch, strides;
    if (!batch.empty()) strides.push_back(y * x);
    d.insert(d.end(), {y, x});
    const Dims inner = transposed ? Dims{1, y} : Dims{x, 1};
    strides.insert(strides.end(), inner.begin(), inner.end());
    return Desc(d, f32, strides);
  };
  const Desc a_desc = view(batch_a, m, k, ta), b_desc = view(batch_b, k, n, tb);
  Dims batch;
  if (batched) batch = {std::max(batch_a[0], batch_b[0])};
  const Desc out_desc = view(batch, m, n, false);
  const Desc wanted_b = is_constant(b) ? any(b_desc.dims()) : b_desc;
  const Desc bias_desc = row_major({1, n});
  const auto desc = j.contains("bias") ? ::dnnl::matmul::desc(a_desc, wanted_b, bias_desc, out_desc)
                                       : ::dnnl::matmul::desc(a_desc, wanted_b, out_desc);
  const ::dnnl::matmul::primitive_desc pd(desc, attributes(j), engine());
  Step step;
  arg(step, DNNL_ARG_SRC, a, a_desc, a_desc);
  arg(step, DNNL_ARG_WEIGHTS, b, b_desc, pd.weights_desc());
  if (j.contains("bias")) arg(step, DNNL_ARG_BIAS, j.at("bias"), bias_desc, bias_desc);
  Dims out = batch;
  if (!batched && !ta) out.assign(da.begin(), da.end() - 1);
  if (batched || ta) out.push_back(m);
  out.push_back(n);
  const size_t result =
      j.contains("sum") ? copied(j.at("sum"), row_major(out)) : add_value({Value::Kind::Inside, 0, row_major(out)});
  step.args.push_back({DNNL_ARG_DST, result, out_desc});
  add(::dnnl::matmul(pd), pd.scratchpad_desc(), std::move(step));
  limit(result, limits_of(j));
  define(j, result);
}

void Builder::pool(const Json& j) {
  const size_t data = j.at("in").at(0);
  const std::string op = j.at("op");
  const Dims in = dims(data);
  Dims kernel{in.at(2), in.at(3)}, strides{1, 1}, dilation{1, 1}, before{0, 0}, after{0, 0};
  if (op != "global_avg_pool") {
    kernel = j.at("kernel").get<Dims>(), strides = j.at("strides").get<Dims>();
    dilation = j.at("dilation").get<Dims>();
    std::tie(before, after) = sides(j.at("padding"));
  }
  Dims out{in[0], in[1]};
  for (size_t d = 0; d < 2; ++d)
    out.push_back(places(in[2 + d], kernel[d], strides[d], before[d], after[d], dilation[d]));
  const algorithm how =
      op == "avg_pool_with_padding" ? algorithm::pooling_avg_include_padding : algorithm::pooling_avg_exclude_padding;
  Desc src = plan_.values_[at_.at(data)].desc;
  const ::dnnl::pooling_v2_forward::desc desc(prop_kind::forward_inference, how, src, any(out), strides, kernel,
                                              gaps(dilation), before, after);
  const ::dnnl::pooling_v2_forward::primitive_desc pd(desc, plain_attributes(), engine());
  Step step;
  arg(step, DNNL_ARG_SRC, data, row_major(in), src);
  const size_t result = add_value({Value::Kind::Inside, 0, pd.dst_desc()});
  step.args.push_back({DNNL_ARG_DST, result, pd.dst_desc()});
  add(::dnnl::pooling_v2_forward(pd), pd.scratchpad_desc(), std::move(step));
  define(j, result);
}

void Builder::relu(const Json& j) {
  const size_t data = j.at("in").at(0);
  const size_t result = copied(data, plan_.values_[at_.at(data)].desc);
  limit(result, std::pair(0.0f, std::numeric_limits<float>::infinity()));
  define(j, result);
}

void Builder::sum(const Json& j) {
  const size_t a = j.at("in").at(0), b = j.at("in").at(1);
  // Stored like the operand that oneDNN has computed, which then needs no reorder.
  const size_t first = plan_.values_[at_.at(a)].kind == Value::Kind::Inside ? a : b;
  const Desc as = plan_.values_[at_.at(first)].desc;
  const ::dnnl::binary::desc desc(algorithm::binary_add, as, as, as);
  const ::dnnl::binary::primitive_desc pd(desc, plain_attributes(), engine());
  Step step;
  arg(step, DNNL_ARG_SRC_0, a, row_major(as.dims()), as);
  arg(step, DNNL_ARG_SRC_1, b, row_major(as.dims()), as);
  const size_t result = add_value({Value::Kind::Inside, 0, as});
  step.args.push_back({DNNL_ARG_DST, result, as});
  add(::dnnl::binary(pd), pd.scratchpad_desc(), std::move(step));
  define(j, result);
}

Plan::Plan(const Json& program, PackedConstants& constants, const std::vector<Dims>& inputs,
           const std::vector<Dims>& outputs) {
  Builder builder(*this, constants, inputs);
  for (const Json& step : program.at("steps")) builder.step(step);
  const Json& results = program.at("outputs");
  if (results.size() != outputs.size()) throw std::runtime_error("it has another number of results");
  for (size_t i = 0; i < outputs.size(); ++i) builder.output(results[i], i, outputs[i]);
  place();
}

}  // namespace relay::onednn
