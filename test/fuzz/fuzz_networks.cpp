// relay_fuzz_networks: random networks, lowered strictly for every described processor: every schedule that a rule
// makes must be buildable. Compiled only (to loops), so every target is tried on any machine.
//
//   relay_fuzz_networks --cases 1000             1,000 networks from seed 1; exit status 1 if a rule failed
//   relay_fuzz_networks --seed 77 --cases 1 -v   that network, with its program
#include <cstdio>
#include <random>

#include "cases.h"
#include "relay/driver/compile.h"
#include "relay/driver/targets.h"
#include "relay/ir/rewrite.h"
#include "relay/text/text.h"
#include "relay/typing/typing.h"

using namespace relay;
using namespace relay::fuzz;

namespace {

// The text of a network, line by line, and its current shape.
class Network {
 public:
  explicit Network(uint64_t seed) : random_(seed) {
    c_ = size(48), h_ = 5 + below(60), w_ = one_in(3) ? 5 + below(60) : h_;
    batch_ = one_in(4) ? 1 + below(4) : 1;
    input_ = shape();
    const int64_t layers = 3 + below(8);
    for (int64_t i = 0; i < layers; ++i) add_layer();
    if (one_in(2)) add_head();
  }

  std::string text() const {
    std::string params = format("%x: Tensor[({}), float32]", join(input_, ", "));
    for (size_t i = 0; i < weights_.size(); ++i)
      params += format(", %w{}: Tensor[({}), float32]", i, join(weights_[i], ", "));
    return format("#[version = \"0.0.5\"]\ndef @main({}) {{\n{}  {}\n}}\n", params, lines_, x_);
  }

  // Weights are constants.
  Result<ir::Module> module() const {
    RELAY_ASSIGN(ir::Module module, text::parse(text()));
    ir::FunctionRef& main = module.functions.at("main");
    ir::VarMap constants;
    for (size_t i = 0; i < weights_.size(); ++i) {
      Tensor value = Tensor::full(Shape(weights_[i]), DType::float32(), 0.01);
      float* v = static_cast<float*>(value.mutable_data());
      for (int64_t k = 0; k < value.elements(); ++k) v[k] = static_cast<float>(k % 19 + 1) / 256;
      constants[main->params[i + 1].get()] = ir::constant(value);
    }
    main = ir::function({main->params[0]}, ir::substitute(main->body, constants));
    return typing::infer(module);
  }

 private:
  int64_t below(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }
  bool one_in(int64_t n) { return below(n) == 0; }
  // Odd, unlike in popular networks, or a multiple of 16, as in them.
  int64_t size(int64_t most) { return one_in(2) ? 16 * (1 + below((most + 15) / 16)) : 1 + below(most); }
  Shape shape() const { return {batch_, c_, h_, w_}; }

  std::string let(const std::string& value) {
    x_ = format("%v{}", count_++);
    lines_ += format("  let {} = {};\n", x_, value);
    return x_;
  }
  std::string weight(std::vector<int64_t> dims) {
    weights_.push_back(std::move(dims));
    return format("%w{}", weights_.size() - 1);
  }

  std::string activation(const std::string& x) {
    switch (below(11)) {
      case 0: return format("nn.relu({})", x);
      case 1: return format("multiply({0}, sigmoid({0}))", x);
      case 2: return format("multiply(multiply({0}, 0.5f), add(1f, erf(multiply({0}, 0.70710678f))))", x);
      case 3: return format("multiply({0}, tanh(log(add(exp({0}), 1f))))", x);
      case 4: return format("multiply({0}, divide(clip(add({0}, 3f), a_min=0f, a_max=6f), 6f))", x);
      case 5: return format("clip({}, a_min=0f, a_max=6f)", x);
      case 6: return format("nn.leaky_relu({}, alpha=0.1f)", x);
      case 7: return format("sigmoid({})", x);
      case 8: return format("tanh({})", x);
      case 9: return format("nn.softmax({}, axis=1)", x);
      default: return x;
    }
  }

  void conv(int64_t outputs, int64_t kernel_h, int64_t kernel_w, int64_t stride, int64_t groups, int64_t dilation) {
    const int64_t ph = (kernel_h - 1) * dilation / 2, pw = (kernel_w - 1) * dilation / 2;
    let(
        format("nn.conv2d({}, {}, strides=[{}, {}], padding=[{}, {}], dilation=[{}, {}], groups={}, channels={}, "
               "kernel_size=[{}, {}])",
               x_, weight({outputs, c_ / groups, kernel_h, kernel_w}), stride, stride, ph, pw, dilation, dilation,
               groups, outputs, kernel_h, kernel_w));
    h_ = (h_ + 2 * ph - (kernel_h - 1) * dilation - 1) / stride + 1;
    w_ = (w_ + 2 * pw - (kernel_w - 1) * dilation - 1) / stride + 1;
    c_ = outputs;
  }

  void scale_and_activate() {
    if (one_in(2)) let(format("nn.bias_add({}, {})", x_, weight({c_})));
    if (one_in(4)) let(format("multiply({}, {})", x_, weight({c_, 1, 1})));
    let(activation(x_));
  }

  void add_layer() {
    const std::string before = x_;
    const Shape old = shape();
    switch (below(12)) {
      case 0:
      case 1: conv(size(128), 1, 1, 1, 1, 1); break;
      case 2: conv(size(96), 3, 3, 1 + below(2), 1, one_in(4) ? 2 : 1); break;
      case 3: conv(size(64), 1 + 2 * below(4), 1 + 2 * below(4), 1, 1, 1); break;
      case 4: conv(c_, 3, 3, 1 + below(2), c_, 1); break;
      case 5: conv(c_, 5 + 2 * below(2), 5, 1, c_, 1); break;
      case 6: {
        const int64_t groups = c_ % 4 == 0 ? 4 : c_ % 3 == 0 ? 3 : 1;
        conv(groups * size(24), 3, 3, 1, groups, 1);
        break;
      }
      case 7:
        if (h_ < 3 || w_ < 3) return;
        let(format("nn.{}_pool2d({}, pool_size=[3, 3], strides=[2, 2], padding=[1, 1])", one_in(2) ? "max" : "avg",
                   x_));
        h_ = (h_ - 1) / 2 + 1, w_ = (w_ - 1) / 2 + 1;
        break;
      case 8: squeeze_and_excite(); return;
      case 9: attention(); return;
      case 10:
        if (h_ * w_ > 1600) return;
        let(format("nn.upsampling({}, scale_h=2f, scale_w=2f)", x_));
        h_ *= 2, w_ *= 2;
        break;
      default: norm_over_channels(); return;
    }
    scale_and_activate();
    if (shape() == old && one_in(2))
      let(activation(format("add({}, {})", x_, before)));
    else if (shape()[2] == old[2] && shape()[3] == old[3] && one_in(3)) {
      let(format("concatenate(({}, {}), axis=1)", x_, before));
      c_ += old[1];
    }
  }

  void squeeze_and_excite() {
    const std::string x = x_;
    const int64_t c = c_, h = h_, w = w_;
    let(format("nn.global_avg_pool2d({})", x_));
    h_ = w_ = 1;
    conv(size(32), 1, 1, 1, 1, 1), let(activation(x_));
    conv(c, 1, 1, 1, 1, 1), let(format("multiply({}, sigmoid({}))", x, x_));
    h_ = h, w_ = w;
  }

  void attention() {
    if (h_ * w_ > 900) return;
    const std::string x = x_;
    let(format("transpose(reshape({}, newshape=[{}, {}, {}]), axes=[0, 2, 1])", x, batch_, c_, h_ * w_));
    const std::string rows = let(activation(x_));
    const std::string scores = let(format("nn.batch_matmul({}, {}, transpose_b=True)", rows, rows));
    let(format("nn.softmax(multiply({}, {}f))", scores, 0.125));
    let(format("nn.batch_matmul({}, {})", x_, rows));
    let(format("reshape(transpose({}, axes=[0, 2, 1]), newshape=[{}, {}, {}, {}])", x_, batch_, c_, h_, w_));
    let(format("add({}, {})", x_, x));
  }

  void norm_over_channels() {
    const std::string last = let(format("transpose({}, axes=[0, 2, 3, 1])", x_));
    let(format("nn.layer_norm({}, {}, {})", last, weight({c_}), weight({c_})));
    if (one_in(2)) {
      const int64_t outputs = size(96);
      let(format("nn.dense(reshape({}, newshape=[{}, {}]), {})", x_, batch_ * h_ * w_, c_, weight({outputs, c_})));
      c_ = outputs;
      let(format("reshape({}, newshape=[{}, {}, {}, {}])", activation(x_), batch_, h_, w_, c_));
    }
    let(format("transpose({}, axes=[0, 3, 1, 2])", x_));
  }

  void add_head() {
    let(format("mean({}, axis=[2, 3])", x_));
    const int64_t outputs = size(1000);
    let(format("nn.dense({}, {})", x_, weight({outputs, c_})));
    let(activation(x_));
  }

  std::mt19937_64 random_;
  int64_t batch_ = 1, c_ = 1, h_ = 1, w_ = 1;
  Shape input_;
  std::vector<std::vector<int64_t>> weights_;
  std::string lines_, x_ = "%x";
  int64_t count_ = 0;
};

// Returns "" if it lowers for all targets.
std::string check(const Network& network, const std::vector<TargetDesc>& targets) {
  Result<ir::Module> module = network.module();
  if (!module) return render(module.errors());
  driver::Options options;
  options.lower.strict = true;
  Result<ir::Module> optimised = driver::optimise(*module, options);
  if (!optimised) return render(optimised.errors());
  std::string wrong;
  for (const TargetDesc& target : targets) {
    options.lower.target = target;
    Result<build::LoweredProgram> lowered = driver::lower_program(*optimised, {}, options);
    if (!lowered) wrong += format("{}: {}", target.name, render(lowered.errors()));
  }
  return wrong;
}

}  // namespace

int main(int argc, char** argv) {
  const std::optional<Cases> given = cases_of(argc, argv);
  if (!given) return 2;
  const int64_t cases = given->count;
  std::vector<TargetDesc> targets;
  for (const char* name : {"haswell", "skylake", "icelake-server", "sapphirerapids", "zen2", "zen4", "zen5", "native",
                           "native,-avx512f", "native,-avx512f,-fma"})
    targets.push_back(*driver::find_target(name));
  int64_t failed = 0;
  Progress progress(cases, "networks");
  for (int64_t i = 0; i < cases; ++i) {
    progress.at(i);
    const uint64_t at = given->first_seed + static_cast<uint64_t>(i);
    const Network network(at);
    if (given->verbose) std::printf("%s", network.text().c_str());
    std::string wrong;
    try {
      wrong = check(network, targets);
    } catch (const std::exception& error) {
      wrong = error.what();
    }
    if (wrong.empty()) continue;
    std::printf("FAILED seed %llu: %s\n", static_cast<unsigned long long>(at), wrong.c_str());
    ++failed;
  }
  std::printf("%lld networks, %zu targets each: %lld failed\n", static_cast<long long>(cases), targets.size(),
              static_cast<long long>(failed));
  return failed > 0 ? 1 : 0;
}
