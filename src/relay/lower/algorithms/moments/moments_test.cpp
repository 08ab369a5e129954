// Mean and variance in blocks: recognition, profitability, and kernels against sums in float64.
#include "relay/lower/algorithms/moments/moments.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <numeric>

#include "relay/lower/nest/nest.h"
#include "relay/lower/rules/rules.h"
#include "relay/lower/schedule/test_target.h"
#include "relay/scalar/simplify.h"

namespace relay::lower {
namespace {

using scalar::imm;

const DType f32 = DType::float32();

struct Norm {
  Exprs shape;           // of the data
  size_t rows = 1;       // axes in front, which are not summed over
  bool of_first = true;  // squares of distances from a value of the first sum
  bool of_same = true;   // of the elements that it adds up
  DType dtype = f32;

  te::Tensors make() const {
    const te::Tensor x = te::placeholder("x", shape, dtype);
    const Exprs outer(shape.begin(), shape.begin() + static_cast<int64_t>(rows)),
        inner(shape.begin() + static_cast<int64_t>(rows), shape.end());
    auto at = [](Exprs i, const Exprs& k) {
      i.insert(i.end(), k.begin(), k.end());
      return i;
    };
    int64_t count = 1;
    for (const Expr& e : inner) count *= scalar::is_int(e) ? e->ivalue : 1;
    const Expr share = scalar::fimm(1 / static_cast<double>(count), f32);
    auto read = [&](const Exprs& i, const Exprs& k) { return cast(f32, (*x)(at(i, k))); };
    const te::Tensor sum = te::reduce("sum", outer, inner, te::Combiner::Sum, read);
    const te::Tensor mean = te::compute("mean", outer, [&](const Exprs& i) { return (*sum)(i)*share; });
    const te::Tensor squares =
        te::reduce("squares", outer, inner, te::Combiner::Sum, [&](const Exprs& i, const Exprs& k) {
          const Expr element = of_same ? read(i, k) : read(i, k) + scalar::fimm(1);
          const Expr distance = of_first ? element - (*mean)(i) : element - scalar::fimm(1);
          return distance * distance;
        });
    return unique_names({te::compute("out", shape, [&](const Exprs& i) {
      const Exprs row(i.begin(), i.begin() + static_cast<int64_t>(rows));
      const Expr variance = (*squares)(row)*share;
      return (cast(f32, (*x)(i)) - (*mean)(row)) * scalar::unary(scalar::UnaryOp::Rsqrt, variance + scalar::fimm(1e-5));
    })});
  }
};

TEST(Moments, AreFoundByStructure) {
  auto found = [](const Norm& norm) { return find_moments(norm.make()).has_value(); };
  EXPECT_TRUE(found({.shape = {imm(3), imm(500)}}));
  EXPECT_TRUE(found({.shape = {imm(2), imm(3), imm(20), imm(30)}, .rows = 2}));
  EXPECT_TRUE(found({.shape = {scalar::var("n"), imm(500)}}));
  EXPECT_TRUE(found({.shape = {imm(3), imm(500)}, .dtype = DType::float16()}));
  EXPECT_FALSE(found({.shape = {imm(3), scalar::var("n")}}));  // the number of blocks is unknown
  EXPECT_FALSE(found({.shape = {imm(3), imm(5), imm(0)}}));
  EXPECT_FALSE(found({.shape = {imm(3), imm(500)}, .of_first = false}));
  EXPECT_FALSE(found({.shape = {imm(3), imm(500)}, .of_same = false}));
}

TEST(Moments, PayWhereRowsDoNotStayInL1) {
  auto gain = [](int64_t row) {
    return estimate_moments(*find_moments(Norm{.shape = {imm(8), imm(row)}}.make()), small());
  };
  EXPECT_FALSE(gain(1024));
  EXPECT_FALSE(gain(1000003));  // a prime
  EXPECT_TRUE(gain(1 << 20));
  EXPECT_GT(gain(1 << 22)->saved_ns, gain(1 << 20)->saved_ns);
}

// Mean and squares of channels in two groups: images, summed over batch, rows and columns.
struct OfChannels {
  te::Tensor x, mean, param;  // the second group's placeholder for the mean
  te::Tensors first, second;

  OfChannels(const Shape& images, bool channels_last) {
    Exprs shape;
    for (int64_t e : images) shape.push_back(imm(e));
    const size_t axis = channels_last ? 3 : 1;
    x = te::placeholder("x", shape, f32);
    Exprs summed = shape;
    summed.erase(summed.begin() + static_cast<int64_t>(axis));
    const Exprs kept = {imm(1), shape[axis]};
    auto read = [&](const Expr& c, Exprs k) {
      k.insert(k.begin() + static_cast<int64_t>(axis), c);
      return (*x)(k);
    };
    int64_t count = 1;
    for (const Expr& e : summed) count *= e->ivalue;
    const te::Tensor sum = te::reduce("sum", kept, summed, te::Combiner::Sum,
                                      [&](const Exprs& i, const Exprs& k) { return read(i[1], k); });
    mean = te::compute("mean", kept,
                       [&](const Exprs& i) { return (*sum)(i)*scalar::fimm(1 / static_cast<double>(count), f32); });
    param = te::placeholder("param", kept, f32);
    const te::Tensor squares =
        te::reduce("squares", {shape[axis]}, summed, te::Combiner::Sum, [&](const Exprs& i, const Exprs& k) {
          const Expr distance = read(i[0], k) - (*param)({imm(0), i[0]});
          return distance * distance;
        });
    first = {mean}, second = {copy_stage(squares, "out")};
  }
};

TEST(Moments, AreFoundInTwoGroups) {
  const OfChannels groups({2, 3, 4, 5}, false);
  EXPECT_TRUE(find_moments(groups.first, groups.second, groups.param));
  EXPECT_FALSE(find_moments(groups.first, groups.second, groups.x));  // of another array
  EXPECT_FALSE(find_moments(OfChannels({2, 3, 4, 5}, false).first, groups.second, groups.param));
}

// Data in L3 is read faster in blocks only for channels-last images.
TEST(Moments, OfTwoGroupsPayWhereDataDoNotStayInTheCache) {
  auto gain = [](int64_t images, const BlockLanes& lanes) {
    const OfChannels groups({images, 64, 32, 32}, false);
    TargetDesc target = small();
    target.l2_bytes = 1 << 20, target.l3_bytes = 16 << 20;
    return estimate_pair(find_moments(groups.first, groups.second, groups.param)->moments, lanes, target).has_value();
  };
  const BlockLanes channels{.axis = 0}, rows{};
  EXPECT_FALSE(gain(2, channels));  // half a megabyte
  EXPECT_TRUE(gain(8, channels));
  EXPECT_FALSE(gain(8, rows));
  EXPECT_TRUE(gain(64, channels));
  EXPECT_TRUE(gain(64, rows));
}

// Runs the rules' schedule in the loop interpreter. terms 0: not in blocks.
std::vector<double> run(const Norm& norm, int64_t terms, const Tensor& x, std::string* rule = nullptr) {
  ScheduleDraft draft;
  const TargetDesc target = small();
  draft.target = &target;
  draft.set_outputs(norm.make());
  if (terms > 0) draft.form = {.schedule = &moments_schedule, .stages = terms};
  apply_rules(draft);
  if (rule) *rule = draft.schedule.rule;
  Result<std::vector<BuiltKernel>> kernels = build_kernels(draft.stages(), draft.schedule, draft.layouts, target, "k");
  RELAY_CHECK(kernels, "{}", render(kernels.errors()));
  RELAY_CHECK(kernels->size() == 1, "{} kernels", kernels->size());
  Tensor in = x, out = Tensor::full(x.shape(), f32, 0);
  std::vector<void*> params;
  std::vector<int64_t> bytes;
  for (const loop::BufferRef& p : (*kernels)[0].kernel.params) {
    Tensor& t = p->name == "x" ? in : out;
    params.push_back(t.mutable_data()), bytes.push_back(static_cast<int64_t>(t.bytes()));
  }
  const loop::Kernel& k = (*kernels)[0].kernel;
  const Status s = loop::interpret(k, params, bytes, {}, 0, k.tasks->ivalue);
  RELAY_CHECK(s, "{}", render(s.errors()));
  std::vector<double> values;
  for (int64_t i = 0; i < out.elements(); ++i) values.push_back(out.at(i));
  return values;
}

// The largest difference from the float64 result.
double error(const std::vector<double>& got, const Tensor& x, int64_t row) {
  double most = 0;
  for (int64_t begin = 0; begin < x.elements(); begin += row) {
    double sum = 0, squares = 0;
    for (int64_t i = begin; i < begin + row; ++i) sum += x.at(i);
    const double mean = sum / static_cast<double>(row);
    for (int64_t i = begin; i < begin + row; ++i) squares += (x.at(i) - mean) * (x.at(i) - mean);
    const double scale = 1 / std::sqrt(squares / static_cast<double>(row) + 1e-5);
    for (int64_t i = begin; i < begin + row; ++i)
      most = std::max(most, std::abs((x.at(i) - mean) * scale - got[static_cast<size_t>(i)]));
  }
  return most;
}

Tensor data(const Norm& norm, double mean, double drift) {
  Shape shape;
  for (const Expr& e : norm.shape) shape.push_back(e->ivalue);
  Tensor x = Tensor::empty(shape, f32);
  for (int64_t i = 0; i < x.elements(); ++i)
    x.set(i, mean + drift * static_cast<double>(i) + static_cast<double>(i * 7919 % 1009) / 504.5 - 1);
  return x;
}

const Norm cases[] = {{.shape = {imm(3), imm(1000)}},
                      {.shape = {imm(2), imm(3), imm(24), imm(40)}, .rows = 2},
                      {.shape = {imm(2), imm(5), imm(7), imm(90)}, .rows = 1},
                      {.shape = {imm(2), imm(3), imm(200)}, .rows = 1}};

// Cases: the mean as large as the deviation, a thousand times as large, and blocks with different means.
TEST(Moments, KernelsAreAsAccurateAsTwoPasses) {
  for (const Norm& norm : cases)
    for (double mean : {0.5, 1000.0})
      for (double drift : {0.0, 0.01}) {
        const Tensor x = data(norm, mean, drift);
        int64_t row = 1;
        for (size_t d = norm.rows; d < norm.shape.size(); ++d) row *= norm.shape[d]->ivalue;
        const double largest = mean + drift * static_cast<double>(x.elements());
        const double two = error(run(norm, 0, x), x, row);
        for (int64_t terms : {50, 64, 200}) {
          SCOPED_TRACE(format("rows of {}, mean {}, drift {}, blocks of {}", row, mean, drift, terms));
          std::string rule;
          const double one = error(run(norm, terms, x, &rule), x, row);
          EXPECT_NE(rule.find("in one pass"), std::string::npos) << rule;
          // Both round the mean once, as well as results of up to 4.
          EXPECT_LE(one, two + largest * std::ldexp(1, -24) + 4 * std::ldexp(1, -23));
        }
      }
}

TEST(Moments, FetchTheNextBlockFromBeyondL3) {
  for (const bool beyond : {false, true}) {
    ScheduleDraft draft;
    TargetDesc target = small();
    if (beyond) target.l3_bytes = 16 << 10;  // of 23 KB
    draft.target = &target;
    draft.set_outputs(cases[1].make());
    draft.form = {.schedule = &moments_schedule, .stages = int64_t{80}};
    apply_rules(draft);
    EXPECT_EQ(str(draft.schedule, draft.stages()).find("prefetch x") != std::string::npos, beyond);
  }
}

// Runs the kernels of a draft in the loop interpreter: arrays by name, with `x` as input.
std::map<std::string, Tensor> arrays_of(const ScheduleDraft& draft, const Tensor& x) {
  Result<std::vector<BuiltKernel>> kernels =
      build_kernels(draft.stages(), draft.schedule, draft.layouts, *draft.target, "k");
  RELAY_CHECK(kernels, "{}", render(kernels.errors()));
  std::map<std::string, Tensor> arrays{{"x", x}};
  for (const BuiltKernel& built : *kernels) {
    std::vector<void*> params;
    std::vector<int64_t> bytes;
    for (const loop::BufferRef& p : built.kernel.params) {
      Shape shape;
      for (const Expr& e : p->shape) shape.push_back(e->ivalue);
      Tensor& t = arrays.try_emplace(p->name, Tensor::full(shape, f32, 0)).first->second;
      params.push_back(t.mutable_data()), bytes.push_back(static_cast<int64_t>(t.bytes()));
    }
    const Status s = loop::interpret(built.kernel, params, bytes, {}, 0, built.kernel.tasks->ivalue);
    RELAY_CHECK(s, "{}", render(s.errors()));
  }
  return arrays;
}

// A single kernel for the sums of blocks, along rows or channels, against float64. 37 channels do not fill whole
// vectors.
TEST(Moments, BlocksOfTwoGroupsAreOneKernel) {
  for (const bool channels_last : {false, true})
    for (int64_t terms : {10, 40, 100}) {
      SCOPED_TRACE(format("channels {}, blocks of {}", channels_last ? "last" : "first", terms));
      const Shape shape = channels_last ? Shape{3, 8, 12, 37} : Shape{3, 37, 8, 12};
      const OfChannels groups(shape, channels_last);
      const BlockLanes lanes = channels_last ? BlockLanes{.axis = 0} : BlockLanes{};
      const std::optional<BlocksForTwo> made =
          in_blocks(*find_moments(groups.first, groups.second, groups.param), terms, lanes);
      ASSERT_TRUE(made);
      ScheduleDraft draft;
      const TargetDesc target = small();
      draft.target = &target, draft.set_outputs(unique_names(made->blocks));
      draft.form = {.schedule = &block_sums_schedule, .stages = lanes};
      apply_rules(draft);
      EXPECT_TRUE(draft.used.count(Rule::Moments));
      ASSERT_EQ(build_kernels(draft.stages(), draft.schedule, draft.layouts, target, "k")->size(), 1u);
      const Tensor x = data({.shape = {imm(shape[0]), imm(shape[1]), imm(shape[2]), imm(shape[3])}}, 1000, 0.01);
      std::map<std::string, Tensor> arrays = arrays_of(draft, x);
      const Tensor &sums = arrays.at(draft.outputs()[0]->name), &squares = arrays.at(draft.outputs()[1]->name);
      const int64_t blocks = sums.elements() / 37, elements = 3 * 8 * 12 / blocks;
      for (int64_t c = 0; c < 37; ++c) {
        double sum = 0, want = 0, around = 0;
        auto each = [&](const std::function<void(double)>& visit) {
          for (int64_t i = 0; i < x.elements(); ++i)
            if ((channels_last ? i % 37 : i / (8 * 12) % 37) == c) visit(x.at(i));
        };
        each([&](double v) { sum += v; });
        const double mean = sum / (3 * 8 * 12);
        each([&](double v) { want += (v - mean) * (v - mean); });
        for (int64_t b = 0; b < blocks; ++b) {
          const int64_t at = channels_last ? b * 37 + c : c * blocks + b;
          const double apart = sums.at(at) / static_cast<double>(elements) - mean;
          around += squares.at(at) + apart * apart * static_cast<double>(elements);
        }
        EXPECT_NEAR(around, want, want * 1e-4 + 1e-2);
      }
    }
}

// Data that is not contiguous along rows keeps the ordinary loops.
TEST(Moments, OtherLoopsStayAsTheyAre) {
  ScheduleDraft draft;
  const TargetDesc target = small();
  draft.target = &target;
  draft.set_outputs(cases[1].make());
  draft.form = {.schedule = &moments_schedule, .stages = int64_t{50}};
  draft.layouts["x"] = draft.layouts["out"] = Layout::channels_last(4);
  apply_rules(draft);
  EXPECT_NE(draft.schedule.rule.find("not in blocks"), std::string::npos) << draft.schedule.rule;
  EXPECT_FALSE(draft.used.count(Rule::Moments));  // so that no saving is reported
  EXPECT_TRUE(build_kernels(draft.stages(), draft.schedule, draft.layouts, target, "k"));
}

}  // namespace
}  // namespace relay::lower
