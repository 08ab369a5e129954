// Small networks that together use every schedule rule, for the tests of lowering.
#pragma once

#include <cmath>
#include <vector>

#include "relay/ir/rewrite.h"
#include "relay/text/text.h"
#include "relay/typing/typing.h"

namespace relay::driver {

struct Network {
  const char* name;
  Shape input;
  std::vector<Shape> weights;  // constants
  const char* body;            // of %x and %w0, %w1
  int of_bytes = -1;           // the weight of uint8; the others are floats
};

// Together they use every rule.
inline const std::vector<Network> networks = {
    {"winograd",
     {1, 64, 16, 16},
     {{64, 64, 3, 3}},
     "nn.relu(nn.conv2d(%x, %w0, padding=[1, 1], channels=64, kernel_size=[3, 3]))"},
    {"strassen", {512, 1024}, {{1024, 1024}}, "nn.dense(%x, %w0)"},
    {"attention", {8, 512, 64}, {}, "nn.batch_matmul(nn.softmax(nn.batch_matmul(%x, %x, transpose_b=True)), %x)"},
    {"silu",
     {1, 64, 80, 80},
     {{64, 64, 1, 1}},
     "let %c = nn.conv2d(%x, %w0, channels=64, kernel_size=[1, 1]); multiply(%c, sigmoid(%c))"},
    {"sliding",
     {1, 16, 112, 112},
     {{96, 16, 1, 1}, {96, 1, 3, 3}, {24, 96, 1, 1}},
     "let %a = nn.relu(nn.conv2d(%x, %w0, channels=96, kernel_size=[1, 1])); let %b = nn.relu(nn.conv2d(%a, %w1, "
     "padding=[1, 1], channels=96, groups=96, kernel_size=[3, 3])); nn.conv2d(%b, %w2, channels=24, kernel_size=[1, "
     "1])"},
    {"planar", {1, 12, 24, 64}, {{3, 12, 3, 3}}, "nn.conv2d(%x, %w0, padding=[1, 1], channels=3, kernel_size=[3, 3])"},
    {"moments", {1, 4, 96, 96}, {{4}, {4}}, "nn.relu(nn.instance_norm(%x, %w0, %w1))"},
    {"moments of channels",
     {4, 8, 12, 1024},
     {},
     "let %m = mean(%x, axis=[0, 1, 2], keepdims=True); (%m, variance(%x, %m, axis=[0, 1, 2]))"},
    {"rows", {32, 300}, {}, "nn.softmax(%x)"},
    {"block dots",
     {20, 256},
     {{64, 128}, {64, 8}},
     "let %s = add(max(reshape(abs(%x), newshape=[20, 8, 32]), axis=[2]), 0.1f); "
     "nn.dense(qnn.dequantize(cast(multiply(%x, 64f), dtype=\"int8\"), %s, 0, axis=1, block=32), "
     "qnn.dequantize(storage.unpack(%w0, dtype=\"int4\", axis=1), %w1, 0, axis=1, block=32))",
     0},
    {"inner product", {1, 2, 600}, {}, "nn.batch_matmul(%x, %x, transpose_b=True)"},
    {"dot products",
     {20, 256},
     {{64, 256}},
     "nn.dense(cast(multiply(%x, 64f), dtype=\"int8\"), cast(multiply(%w0, 64f), dtype=\"int8\"), "
     "out_dtype=\"int32\")"},
    {"dot products with a rest",
     {1, 30, 10, 11},
     {{33, 30, 3, 3}},
     "nn.conv2d(cast(multiply(%x, 64f), dtype=\"int8\"), cast(multiply(%w0, 64f), dtype=\"int8\"), padding=[1, 1], "
     "channels=33, kernel_size=[3, 3], out_dtype=\"int32\")"},
    {"winograd of bytes",
     {1, 40, 16, 16},
     {{48, 40, 3, 3}},
     "nn.conv2d(cast(multiply(%x, 64f), dtype=\"int8\"), cast(multiply(%w0, 64f), dtype=\"int8\"), padding=[1, 1], "
     "channels=48, kernel_size=[3, 3], out_dtype=\"int32\")"},
    {"pool", {1, 16, 28, 28}, {}, "nn.max_pool2d(%x, pool_size=[3, 3], strides=[2, 2])"},
    {"tap sums",
     {2, 32, 24, 28},
     {{2, 32, 24, 28}},
     "nn.conv2d_backward_weight(%w0, %x, kernel_size=[5, 5], padding=[2, 2], groups=32)"},
    {"tap sums of channels",
     {2, 32, 24, 28},
     {{32, 32, 1, 1}},
     "let %d = nn.conv2d(%x, %w0); nn.conv2d_backward_weight(%d, nn.relu(%d), kernel_size=[3, 3], padding=[1, 1], "
     "groups=8)"},
    {"long row", {1, 512, 1024}, {}, "exp(max(%x))"},
    {"row reduction", {20, 1000}, {}, "sum(%x, axis=[1])"},
    {"argmax", {64, 1000}, {}, "argmax(%x, axis=[1])"},
    {"argmax of channels", {1, 21, 64, 64}, {}, "argmax(%x, axis=[1])"},
    {"outer product", {5, 1500}, {}, "nn.matmul(%x, %x, transpose_a=True)"},
    {"groups of channels", {2, 6, 26, 32}, {{6}, {6}}, "nn.group_norm(%x, %w0, %w1, num_groups=3)"},
    {"several results", {64, 300}, {}, "(nn.relu(%x), sigmoid(%x))"},
    {"several results of rows", {64, 300}, {}, "let %s = sigmoid(%x); (%s, nn.softmax(%s))"},
    {"transposition", {100, 130}, {}, "transpose(exp(%x))"},
    {"programs", {3, 100}, {}, "cumsum(sort(%x, axis=-1), axis=0)"},
};

// Small numbers of both signs, different for each `step`.
inline Tensor values(const Shape& shape, int64_t step) {
  Tensor t = Tensor::full(shape, DType::float32(), 0);
  float* v = static_cast<float*>(t.mutable_data());
  for (int64_t i = 0; i < t.elements(); ++i) v[i] = static_cast<float>(i * step % 113) / 64 - 0.9f;
  return t;
}

inline Tensor bytes(const Shape& shape, int64_t step) {
  Tensor t = Tensor::full(shape, DType::uint8(), 0);
  for (int64_t i = 0; i < t.elements(); ++i) t.set(i, static_cast<double>(i * step % 251));
  return t;
}

// A typed module with @main of %x.
inline ir::Module module_of(const Network& c) {
  auto type = [](const Shape& shape, DType dtype) {
    return format("Tensor[({}), {}]", join(shape, ", "), dtype.str());
  };
  auto is_bytes = [&](size_t i) { return static_cast<int>(i) == c.of_bytes; };
  std::string params = "%x: " + type(c.input, DType::float32());
  for (size_t i = 0; i < c.weights.size(); ++i)
    params += format(", %w{}: {}", i, type(c.weights[i], is_bytes(i) ? DType::uint8() : DType::float32()));
  Result<ir::Module> module = text::parse(format("#[version = \"0.0.5\"]\ndef @main({}) {{ {} }}\n", params, c.body));
  RELAY_CHECK(module, "{}", render(module.errors()));
  ir::FunctionRef& main = module->functions.at("main");
  ir::VarMap constants;
  for (size_t i = 0; i < c.weights.size(); ++i)
    constants[main->params[i + 1].get()] =
        ir::constant(is_bytes(i) ? bytes(c.weights[i], 31) : values(c.weights[i], 31));
  main = ir::function({main->params[0]}, ir::substitute(main->body, constants), {});
  Result<ir::Module> typed = typing::infer(*module);
  RELAY_CHECK(typed, "{}", render(typed.errors()));
  return *typed;
}

// The largest difference, relative to the largest value.
inline double largest_difference(const Tensor& a, const Tensor& b) {
  double most = 0, largest = 0;
  for (int64_t i = 0; i < a.elements(); ++i) {
    most = std::max(most, std::fabs(a.at(i) - b.at(i)));
    largest = std::max(largest, std::fabs(b.at(i)));
  }
  return most / largest;
}

}  // namespace relay::driver
