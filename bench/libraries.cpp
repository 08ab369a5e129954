#include "libraries.h"

#include <cblas.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <numeric>
#include <oneapi/dnnl/dnnl.hpp>

#include "relay/op/common.h"
#include "relay/op/reduce/axes.h"

namespace relay::bench {
namespace {

using dnnl::algorithm;
using dnnl::memory;
using dnnl::prop_kind;
using op::per_axis;

constexpr memory::data_type f32 = memory::data_type::f32;

// Row-major strides.
ir::Ints dense_strides(const Shape& shape) {
  ir::Ints strides(shape.size(), 1);
  for (size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * shape[d];
  return strides;
}

memory::desc plain(const Shape& shape) { return {shape, f32, dense_strides(shape)}; }
memory::desc any(const memory::desc& d) { return {d.dims(), f32, memory::format_tag::any}; }

// A row-major array whose axes are written as letters, as oneDNN names them: shape (1, 8, 8, 3) of "NHWC" as "NCHW" is
// (1, 3, 8, 8) with the strides of the stored array. Without H it has one row.
struct Named {
  std::map<char, int64_t> extent{{'H', 1}}, stride{{'H', 1}};
  Named(const Shape& shape, const std::string& letters) {
    ir::Ints strides = dense_strides(shape);
    for (size_t d = 0; d < shape.size(); ++d) extent[letters[d]] = shape[d], stride[letters[d]] = strides[d];
  }
  memory::desc as(std::string_view order) const {
    memory::dims dims, strides;
    for (char c : order) dims.push_back(extent.at(c)), strides.push_back(stride.at(c));
    return {dims, f32, strides};
  }
};

// Orders for primitives of oneDNN that need an explicit one: those that suit images, along two axes and along three.
struct PictureOrder {
  memory::format_tag two, three;
  const char* name;
};
const PictureOrder picture_orders[] = {
    {memory::format_tag::nchw, memory::format_tag::ncdhw, " channels first"},
    {memory::format_tag::nhwc, memory::format_tag::ndhwc, " channels last"},
    {memory::format_tag::nChw8c, memory::format_tag::nCdhw8c, " blocks of 8 channels"},
    {memory::format_tag::nChw16c, memory::format_tag::nCdhw16c, " blocks of 16 channels"}};

// The only engine and its queue.
dnnl::engine& engine() {
  static dnnl::engine it(dnnl::engine::kind::cpu, 0);
  return it;
}
dnnl::stream& queue() {
  static dnnl::stream it(engine());
  return it;
}

// The tensor's values in the order that `wanted` describes; `given` describes that of the tensor.
memory stored(const Tensor& tensor, const memory::desc& given, const memory::desc& wanted) {
  memory from(given, engine(), const_cast<void*>(tensor.data())), to(wanted, engine());
  dnnl::reorder(from, to).execute(queue(), from, to);
  queue().wait();
  return to;
}

Tensor read_back(memory from, const memory::desc& order, const Shape& shape) {
  Tensor out = Tensor::empty(shape, DType::float32());
  memory to(order, engine(), out.mutable_data());
  dnnl::reorder(from, to).execute(queue(), from, to);
  queue().wait();
  return out;
}

// Collects the calls of oneDNN: each is a primitive with its arguments.
struct Calls {
  const OperatorCall& call;
  memory::desc out;  // the storage of the caller's result
  std::vector<LibraryCall> found{};

  struct Argument {
    int name;  // DNNL_ARG_...
    const Tensor* tensor;
    memory::desc given, wanted;
  };

  // The primitive that `desc` describe; adds no call if oneDNN does not have it or has already offered it. `how`, in
  // the name: the explicit order.
  template <class Primitive, class... Desc>
  void add(const char* how,
           const std::function<std::vector<Argument>(const typename Primitive::primitive_desc&)>& arguments,
           const Desc&... desc) {
    try {
      typename Primitive::primitive_desc chosen(desc..., engine());
      std::string name = std::string("oneDNN ") + chosen.impl_info_str() + how;
      bool untuned = std::strstr(chosen.impl_info_str(), "ref") != nullptr;
      for (const LibraryCall& other : found) untuned |= other.name == name;  // the same implementation
      if (untuned) return;
      std::unordered_map<int, memory> bound;
      for (const Argument& a : arguments(chosen)) bound[a.name] = stored(*a.tensor, a.given, a.wanted);
      memory result(chosen.dst_desc(), engine());
      bound[DNNL_ARG_DST] = result;
      found.push_back({name,
                       [primitive = Primitive(chosen), bound] {
                         primitive.execute(queue(), bound);
                         queue().wait();
                       },
                       [result, order = out, shape = call.output] { return read_back(result, order, shape); }});
    } catch (const dnnl::error& e) {
      RELAY_CHECK(e.status == dnnl_unimplemented, "{}: oneDNN says: {}", call.def->name, e.what());
    }
  }
};

// Values along the axes that a window moves along: all of them but N and C.
struct Window {
  memory::dims strides, dilates, before, after;
};

// `many` windows, of `extents`, in `whole`. The padding after the data is that of the attributes, or more if the last
// window extends beyond it (ceil_mode). A transposed convolution has its windows in the result, which they cover
// exactly.
Window window(const OperatorCall& call, const memory::desc& many, const memory::dims& extents,
              const memory::desc& whole, bool transposed) {
  size_t real = static_cast<size_t>(call.inputs[0].rank()) - 2,
         added = extents.size() - real;  // of one row: H before W
  Window w;
  w.strides = per_axis(call.get<ir::Ints>("strides"), real);
  w.strides.insert(w.strides.begin(), added, 1);
  w.dilates = per_axis(call.get<ir::Ints>("dilation"), real);
  w.dilates.insert(w.dilates.begin(), added, 1);
  ir::Ints padding = op::padding_sides(call.get<ir::Ints>("padding"), real);
  w.before.assign(added, 0), w.after.assign(added, 0);
  w.before.insert(w.before.end(), padding.begin(), padding.begin() + static_cast<std::ptrdiff_t>(real));
  w.after.insert(w.after.end(), padding.begin() + static_cast<std::ptrdiff_t>(real), padding.end());
  for (size_t d = 0; d < extents.size(); ++d) {
    w.dilates[d] -= 1;  // oneDNN counts the elements between two taps
    int64_t end = (many.dims()[d + 2] - 1) * w.strides[d] + (extents[d] - 1) * (w.dilates[d] + 1) + 1;
    int64_t covered = end - w.before[d] - whole.dims()[d + 2];
    w.after[d] = transposed ? covered : std::max(covered, w.after[d]);
  }
  return w;
}

std::string out_layout(const OperatorCall& call, const char* data_layout) {
  std::string out = call.get<std::string>("out_layout");
  return out.empty() ? call.get<std::string>(data_layout) : out;
}

// `order`: NCHW, or NCW; data with one such axis may be treated as images of one row, for which oneDNN has more
// implementations.
void convolution(Calls& to, const std::string& order, bool transposed) {
  const OperatorCall& call = to.call;
  int64_t groups = call.get<int64_t>("groups");
  std::string spatial = order.substr(2);
  const char* how = static_cast<size_t>(call.inputs[0].rank()) < order.size() ? " one row" : "";
  Named data(call.inputs[0].shape(), call.get<std::string>("data_layout"));
  Named weight(call.inputs[1].shape(), call.get<std::string>("kernel_layout"));
  memory::desc given = data.as(order), out = Named(call.output, out_layout(call, "data_layout")).as(order);
  to.out = out;

  // The weight with an axis G for the groups, which is a part of the axis with the channels of all groups.
  memory::dims extents;
  for (char c : spatial) extents.push_back(weight.extent[c]);
  char all = transposed ? 'I' : 'O';
  bool multiplied = !transposed && groups > 1 && weight.extent['O'] == groups && data.extent['C'] == groups;
  if (multiplied) {  // (C, M): M output channels of each input channel, along I
    weight.stride['G'] = weight.stride['O'], weight.stride['O'] = weight.stride['I'];
    weight.extent['O'] = weight.extent['I'], weight.extent['I'] = 1;
  } else {
    weight.extent[all] /= groups;
    weight.stride['G'] = weight.stride[all] * weight.extent[all];
  }
  weight.extent['G'] = groups;
  memory::desc weights = weight.as((groups > 1 ? "GOI" : "OI") + spatial);
  Window w = transposed ? window(call, given, extents, out, true) : window(call, out, extents, given, false);
  auto arguments = [&](const dnnl::primitive_desc_base& chosen) {
    return std::vector<Calls::Argument>{{DNNL_ARG_SRC, &call.inputs[0], given, chosen.src_desc(0)},
                                        {DNNL_ARG_WEIGHTS, &call.inputs[1], weights, chosen.weights_desc(0)}};
  };
  if (transposed) {
    to.add<dnnl::deconvolution_forward>(
        "", arguments,
        dnnl::deconvolution_forward::desc(prop_kind::forward_inference, algorithm::deconvolution_direct, any(given),
                                          any(weights), any(out), w.strides, w.dilates, w.before, w.after));
    return;
  }
  for (algorithm way : {algorithm::convolution_auto, algorithm::convolution_direct, algorithm::convolution_winograd})
    to.add<dnnl::convolution_forward>(
        how, arguments,
        dnnl::convolution_forward::desc(prop_kind::forward_inference, way, any(given), any(weights), any(out),
                                        w.strides, w.dilates, w.before, w.after));
}

void pooling(Calls& to, algorithm kind, bool global) {
  const OperatorCall& call = to.call;
  const size_t axes = static_cast<size_t>(call.inputs[0].rank()) - 2;
  const std::string letters = axes == 2 ? "NCHW" : "NCDHW";
  memory::desc given = Named(call.inputs[0].shape(), call.get<std::string>("layout")).as(letters);
  to.out = Named(call.output, out_layout(call, "layout")).as(letters);
  memory::dims extents = given.dims();
  extents.erase(extents.begin(), extents.begin() + 2);
  const memory::dims zeros(axes, 0);
  Window w{memory::dims(axes, 1), zeros, zeros, zeros};
  if (!global) {
    extents = per_axis(call.get<ir::Ints>("pool_size"), axes);
    w = window(call, to.out, extents, given, false);
  }
  if (kind != algorithm::pooling_max && !global) {
    if (call.get<bool>("ceil_mode")) return;  // another divisor if the last window extends beyond the data
    if (call.get<bool>("count_include_pad")) kind = algorithm::pooling_avg_include_padding;
  }
  for (const PictureOrder& order : picture_orders) {
    memory::desc data(given.dims(), f32, axes == 2 ? order.two : order.three);
    to.add<dnnl::pooling_v2_forward>(
        order.name,
        [&](const dnnl::primitive_desc_base&) {
          return std::vector<Calls::Argument>{{DNNL_ARG_SRC, &call.inputs[0], given, data}};
        },
        dnnl::pooling_v2_forward::desc(prop_kind::forward_inference, kind, data, any(to.out), w.strides, extents,
                                       w.dilates, w.before, w.after));
  }
}

// A matrix product, row-major, of OpenBLAS: (m, k) with (k, n), each optionally stored transposed.
void multiply(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, const float* a, const float* b,
              float* c) {
  if (m == 1)  // c = op(b)' a
    cblas_sgemv(CblasRowMajor, transpose_b ? CblasNoTrans : CblasTrans, static_cast<int>(transpose_b ? n : k),
                static_cast<int>(transpose_b ? k : n), 1, b, static_cast<int>(transpose_b ? k : n), a, 1, 0, c, 1);
  else
    cblas_sgemm(CblasRowMajor, transpose_a ? CblasTrans : CblasNoTrans, transpose_b ? CblasTrans : CblasNoTrans,
                static_cast<int>(m), static_cast<int>(n), static_cast<int>(k), 1, a,
                static_cast<int>(transpose_a ? m : k), b, static_cast<int>(transpose_b ? k : n), 0, c,
                static_cast<int>(n));
}

// (batch, m, k) with (batch, k, n), or with one (k, n) for all if the second is a matrix. Also as oneDNN's inner
// product if the second is a weight, (n, k).
void contraction(Calls& to, bool transpose_a, bool transpose_b, bool weight) {
  const OperatorCall& call = to.call;
  const Shape &a = call.inputs[0].shape(), &b = call.inputs[1].shape();
  bool batched = b.size() == 3;
  if (transpose_a && !batched && a.size() > 2) return;
  int64_t n = call.output.back(), k = b[b.size() - (transpose_b ? 1 : 2)], batch = batched ? call.output[0] : 1;
  int64_t m = batched ? call.output[1] : call.inputs[0].elements() / k;
  if (batched && (a[0] != batch || b[0] != batch)) return;  // a single one for all

  Named left({batch, transpose_a ? k : m, transpose_a ? m : k}, transpose_a ? "BKM" : "BMK");
  Named right({batch, transpose_b ? n : k, transpose_b ? k : n}, transpose_b ? "BNK" : "BKN");
  Named result({batch, m, n}, "BMN");
  std::string group = batched ? "B" : "";
  memory::desc given = left.as(group + "MK"), other = right.as(group + "KN"), out = result.as(group + "MN");
  to.out = out;
  auto arguments = [&](const memory::desc& second) {
    return [&call, given, second](const dnnl::primitive_desc_base& chosen) {
      return std::vector<Calls::Argument>{{DNNL_ARG_SRC, &call.inputs[0], given, chosen.src_desc(0)},
                                          {DNNL_ARG_WEIGHTS, &call.inputs[1], second, chosen.weights_desc(0)}};
    };
  };
  to.add<dnnl::matmul>("", arguments(other), dnnl::matmul::desc(given, weight ? any(other) : other, out));
  if (weight)
    to.add<dnnl::inner_product_forward>(
        "", arguments(right.as("NK")),
        dnnl::inner_product_forward::desc(prop_kind::forward_inference, any(given), any(right.as("NK")), any(out)));

  Tensor c = Tensor::empty(call.output, DType::float32());
  to.found.push_back({m == 1 ? "OpenBLAS sgemv" : "OpenBLAS sgemm",
                      [=, x = call.inputs[0], y = call.inputs[1]] {
                        Tensor z = c;
                        for (int64_t i = 0; i < batch; ++i)
                          multiply(transpose_a, transpose_b, m, n, k, x.span<float>().data() + i * m * k,
                                   y.span<float>().data() + i * k * n, z.mutable_span<float>().data() + i * m * n);
                      },
                      [c] { return c; }});
}

// A call with one input and one output, in the caller's order.
template <class Primitive, class... Desc>
void in_place_of(Calls& to, const Desc&... desc) {
  memory::desc data = plain(to.call.inputs[0].shape());
  to.add<Primitive>(
      "",
      [&](const dnnl::primitive_desc_base&) {
        return std::vector<Calls::Argument>{{DNNL_ARG_SRC, &to.call.inputs[0], data, data}};
      },
      desc...);
}

int axis_of(const OperatorCall& call) {
  int64_t axis = call.get<int64_t>("axis");
  return static_cast<int>(axis < 0 ? axis + call.inputs[0].rank() : axis);
}

void layer_norm(Calls& to) {
  const OperatorCall& call = to.call;
  const Shape& shape = call.inputs[0].shape();
  bool whole = call.get<bool>("center") && call.get<bool>("scale");
  if (axis_of(call) != call.inputs[0].rank() - 1 || !whole) return;
  memory::desc data = plain(shape), row = plain({shape.back()});
  to.add<dnnl::layer_normalization_forward>(
      "",
      [&](const dnnl::primitive_desc_base&) {
        return std::vector<Calls::Argument>{{DNNL_ARG_SRC, &call.inputs[0], data, data},
                                            {DNNL_ARG_SCALE, &call.inputs[1], row, row},
                                            {DNNL_ARG_SHIFT, &call.inputs[2], row, row}};
      },
      dnnl::layer_normalization_forward::desc(
          prop_kind::forward_inference, data, static_cast<float>(call.get<double>("epsilon")),
          dnnl::normalization_flags::use_scale | dnnl::normalization_flags::use_shift));
}

void reduction(Calls& to, algorithm kind) {
  Shape left = to.call.inputs[0].shape();
  Result<ir::Ints> axes =
      op::reduce::axes("C1", to.call.get<ir::OptInts>("axis"), to.call.get<bool>("exclude"), to.call.inputs[0].rank());
  RELAY_CHECK(bool(axes), "the example has a type");
  for (int64_t axis : *axes) left[static_cast<size_t>(axis)] = 1;
  to.out = plain(left);
  in_place_of<dnnl::reduction>(to, dnnl::reduction::desc(kind, plain(to.call.inputs[0].shape()), to.out, 0, 0));
}

void binary(Calls& to, algorithm kind) {
  const OperatorCall& call = to.call;
  if (call.inputs[0].shape() != call.output) return;  // it broadcasts only the second
  Shape second = call.inputs[1].shape();
  second.insert(second.begin(), call.output.size() - second.size(), 1);
  to.add<dnnl::binary>(
      "",
      [&](const dnnl::primitive_desc_base&) {
        return std::vector<Calls::Argument>{{DNNL_ARG_SRC_0, &call.inputs[0], to.out, to.out},
                                            {DNNL_ARG_SRC_1, &call.inputs[1], plain(second), plain(second)}};
      },
      dnnl::binary::desc(kind, to.out, plain(second), to.out));
}

// A copy from one order to another. The tensor belongs to both the caller and the library.
void transpose(Calls& to) {
  const OperatorCall& call = to.call;
  const Shape& shape = call.inputs[0].shape();
  ir::OptInts given = call.get<ir::OptInts>("axes");
  ir::Ints axes(shape.size());
  std::iota(axes.rbegin(), axes.rend(), 0);
  if (given && !given->empty()) axes = *given;
  ir::Ints strides(shape.size()), dense = dense_strides(shape);
  for (size_t d = 0; d < axes.size(); ++d)
    strides[d] = dense[static_cast<size_t>(axes[d] < 0 ? axes[d] + call.inputs[0].rank() : axes[d])];
  memory from({call.output, f32, strides}, engine(), const_cast<void*>(call.inputs[0].data())),
      result(to.out, engine());
  dnnl::reorder::primitive_desc chosen(from, result);
  if (std::strstr(chosen.impl_info_str(), "ref")) return;
  to.found.push_back({std::string("oneDNN ") + chosen.impl_info_str(),
                      [reorder = dnnl::reorder(chosen), from, result, owner = call.inputs[0]] {
                        memory source = from, destination = result;
                        reorder.execute(queue(), source, destination);
                        queue().wait();
                      },
                      [result, order = to.out, shape = call.output] { return read_back(result, order, shape); }});
}

void concatenate(Calls& to) {
  const OperatorCall& call = to.call;
  auto add = [&](const char* how, const std::function<memory::desc(const Shape&)>& order) {
    std::vector<memory::desc> parts;
    for (const Tensor& t : call.inputs) parts.push_back(order(t.shape()));
    to.add<dnnl::concat>(
        how,
        [&](const dnnl::primitive_desc_base&) {
          std::vector<Calls::Argument> out;
          for (size_t i = 0; i < parts.size(); ++i)
            out.push_back({DNNL_ARG_MULTIPLE_SRC + static_cast<int>(i), &call.inputs[i], plain(call.inputs[i].shape()),
                           parts[i]});
          return out;
        },
        axis_of(call), parts);
  };
  add("", plain);
  if (call.output.size() != 4) return;
  for (const PictureOrder& order : picture_orders)
    add(order.name, [&](const Shape& shape) { return memory::desc(shape, f32, order.two); });
}

const std::map<std::string, algorithm> unary_functions = {
    {"nn.relu", algorithm::eltwise_relu}, {"tanh", algorithm::eltwise_tanh}, {"sigmoid", algorithm::eltwise_logistic},
    {"exp", algorithm::eltwise_exp},      {"log", algorithm::eltwise_log},   {"sqrt", algorithm::eltwise_sqrt},
    {"abs", algorithm::eltwise_abs},
};
const std::map<std::string, algorithm> binary_functions = {
    {"add", algorithm::binary_add},    {"subtract", algorithm::binary_sub}, {"multiply", algorithm::binary_mul},
    {"divide", algorithm::binary_div}, {"maximum", algorithm::binary_max},  {"minimum", algorithm::binary_min},
};
const std::map<std::string, algorithm> reductions = {
    {"sum", algorithm::reduction_sum},
    {"mean", algorithm::reduction_mean},
    {"max", algorithm::reduction_max},
    {"min", algorithm::reduction_min},
};

}  // namespace

std::vector<LibraryCall> library_calls(const OperatorCall& call) {
  for (const Tensor& t : call.inputs)
    if (t.dtype() != DType::float32()) return {};
  const std::string& name = call.def->name;
  memory::desc data = plain(call.inputs[0].shape());
  Calls to{call, plain(call.output)};
  if (name == "nn.conv1d") convolution(to, "NCW", false);
  if (name == "nn.conv1d" || name == "nn.conv2d") convolution(to, "NCHW", false);
  if (name == "nn.conv3d") convolution(to, "NCDHW", false);
  if (name == "nn.conv2d_transpose") convolution(to, "NCHW", true);
  if (name == "nn.conv3d_transpose") convolution(to, "NCDHW", true);
  if (name == "nn.max_pool2d" || name == "nn.max_pool3d") pooling(to, algorithm::pooling_max, false);
  if (name == "nn.avg_pool2d" || name == "nn.avg_pool3d") pooling(to, algorithm::pooling_avg_exclude_padding, false);
  if (name == "nn.global_max_pool2d") pooling(to, algorithm::pooling_max, true);
  if (name == "nn.global_avg_pool2d") pooling(to, algorithm::pooling_avg_include_padding, true);
  if (name == "nn.dense") contraction(to, false, true, true);
  if (name == "nn.matmul" || name == "nn.batch_matmul")
    contraction(to, call.get<bool>("transpose_a"), call.get<bool>("transpose_b"), false);
  if (name == "nn.softmax" || name == "nn.fast_softmax")
    in_place_of<dnnl::softmax_forward>(to,
                                       dnnl::softmax_forward::desc(prop_kind::forward_inference, data, axis_of(call)));
  if (name == "nn.log_softmax")
    in_place_of<dnnl::logsoftmax_forward>(
        to, dnnl::logsoftmax_forward::desc(prop_kind::forward_inference, data, axis_of(call)));
  if (name == "nn.layer_norm") layer_norm(to);
  if (name == "transpose") transpose(to);
  if (name == "concatenate") concatenate(to);
  if (unary_functions.contains(name))
    in_place_of<dnnl::eltwise_forward>(
        to, dnnl::eltwise_forward::desc(prop_kind::forward_inference, unary_functions.at(name), data));
  if (binary_functions.contains(name)) binary(to, binary_functions.at(name));
  if (reductions.contains(name)) reduction(to, reductions.at(name));
  return std::move(to.found);
}

void prepare_libraries(int vector_bytes, char** argv) {
  std::map<std::string, std::string> wanted = {{"OMP_NUM_THREADS", "1"}, {"OPENBLAS_NUM_THREADS", "1"}};
  if (vector_bytes == 16) wanted["DNNL_MAX_CPU_ISA"] = "SSE41", wanted["OPENBLAS_CORETYPE"] = "Nehalem";
  if (vector_bytes == 32) wanted["DNNL_MAX_CPU_ISA"] = "AVX2", wanted["OPENBLAS_CORETYPE"] = "Haswell";
  bool same = true;
  for (const auto& [name, value] : wanted) {
    const char* there = std::getenv(name.c_str());
    same &= there && value == there;
    setenv(name.c_str(), value.c_str(), 1);
  }
  if (same) return;
  execv("/proc/self/exe", argv);
  RELAY_CHECK(false, "/proc/self/exe could not be started again: {}", std::strerror(errno));
}

std::string libraries_text() {
  const char* isa = std::getenv("DNNL_MAX_CPU_ISA");
  const dnnl::version_t* v = dnnl::version();
  std::string blas = openblas_get_config();  // "OpenBLAS 0.3.21 NO_LAPACKE ..."
  return format("oneDNN {}.{}.{}{}, {} ({})", v->major, v->minor, v->patch, isa ? format(" (at most {})", isa) : "",
                blas.substr(0, blas.find(' ', blas.find(' ') + 1)), openblas_get_corename());
}

}  // namespace relay::bench
