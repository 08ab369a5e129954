// Pools over the axes behind (N, C).
#include <numeric>

#include "relay/frontend/onnx/window.h"

namespace relay::onnx::convert {

using ir::Expr;
using ir::Ints;

// One axis is pooled as a picture of one line.
static Values pool(Convert& c, Expr x, const char* two_dimensional, const char* three_dimensional, bool average,
                   bool count_padding) {
  Ints kernel = c.ints("kernel_shape");
  if (kernel.empty()) return c.bad("kernel_shape is missing");
  if (kernel.size() > 3) return c.unsupported("the window has {} axes; 1 to 3 can be imported", kernel.size());
  std::optional<Window> w = read_window(c, x, kernel);
  if (!w) return {};
  if (c.integer("storage_order", 0)) return c.unsupported("storage_order is 1 (column major indices)");
  const bool line = kernel.size() == 1;
  if (line) {
    w->kernel.insert(w->kernel.begin(), 1), w->strides.insert(w->strides.begin(), 1),
        w->dilations.insert(w->dilations.begin(), 1);
    w->pads = {0, w->pads[0], 0, w->pads[1]};
    x = c.reshape(x, {c.shape(x)[0], c.shape(x)[1], scalar::imm(1), c.shape(x)[2]});
  }
  EmitAttrs attrs{{"pool_size", w->kernel},
                  {"strides", w->strides},
                  {"dilation", w->dilations},
                  {"padding", w->pads},
                  {"ceil_mode", c.integer("ceil_mode", 0) != 0}};
  if (average) attrs.push_back({"count_include_pad", count_padding});
  Expr result = c.emit(kernel.size() == 3 ? three_dimensional : two_dimensional, {x}, attrs);
  if (line && result) result = c.reshape(result, {c.shape(result)[0], c.shape(result)[1], c.shape(result)[3]});
  return {result};
}

Values MaxPool(Convert& c) { return pool(c, c.input(0), "nn.max_pool2d", "nn.max_pool3d", false, false); }
Values AveragePool(Convert& c) {
  return pool(c, c.input(0), "nn.avg_pool2d", "nn.avg_pool3d", true, c.integer("count_include_pad", 0) != 0);
}

static Values global_pool(Convert& c, const char* two_dimensional, const char* reduction) {
  Expr x = c.input(0);
  if (!c.expect_rank(x, 2, 32, "the data")) return {};
  if (c.rank(x) == 4) return {c.emit(two_dimensional, {x})};
  if (c.rank(x) == 2) return {x};
  Ints axes(static_cast<size_t>(c.rank(x) - 2));
  std::iota(axes.begin(), axes.end(), 2);
  return {c.reduce(reduction, x, axes, true)};
}
Values GlobalAveragePool(Convert& c) { return global_pool(c, "nn.global_avg_pool2d", "mean"); }
Values GlobalMaxPool(Convert& c) { return global_pool(c, "nn.global_max_pool2d", "max"); }

namespace {

// |x|^p, and the p-th root.
Expr power(Convert& c, const Expr& x, double p) {
  if (p == 2) return c.multiply(x, x);
  Expr size = c.emit("abs", {x});
  return p == 1 ? size : c.emit("power", {size, c.scalar(p, c.dtype(x))});
}
Expr root(Convert& c, const Expr& x, double p) {
  if (p == 1) return x;
  return p == 2 ? c.emit("sqrt", {x}) : c.emit("power", {x, c.scalar(1 / p, c.dtype(x))});
}

double exponent(Convert& c) { return c.opset < 2 ? c.real("p", 2) : static_cast<double>(c.integer("p", 2)); }

}  // namespace

// The p-norm of each window: the mean of the powers, zeros of the padding counted, times their number.
Values LpPool(Convert& c) {
  Expr x = c.input(0);
  const double p = exponent(c);
  if (!(p > 0)) return c.bad("p is {}", p);
  double count = 1;
  for (int64_t k : c.ints("kernel_shape")) count *= static_cast<double>(k);
  Values mean = pool(c, power(c, x, p), "nn.avg_pool2d", "nn.avg_pool3d", true, true);
  return mean.empty() ? mean : Values{root(c, c.multiply(mean[0].expr, count), p)};
}

Values GlobalLpPool(Convert& c) {
  Expr x = c.input(0);
  if (!c.expect_rank(x, 2, 32, "the data")) return {};
  const double p = exponent(c);
  if (!(p > 0)) return c.bad("p is {}", p);
  Ints axes(static_cast<size_t>(c.rank(x) - 2));
  std::iota(axes.begin(), axes.end(), 2);
  return {axes.empty() ? x : root(c, c.reduce("sum", power(c, x, p), axes, true), p)};
}

}  // namespace relay::onnx::convert
