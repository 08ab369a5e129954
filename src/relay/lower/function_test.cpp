// Whole functions: groups, layouts and views of arrays, prefetches, messages about user-specified schedules.
#include <gtest/gtest.h>

#include <algorithm>

#include "relay/lower/lower.h"
#include "relay/lower/schedule/schedule.h"
#include "relay/lower/schedule/test_target.h"
#include "relay/op/registry.h"

namespace relay::lower {
namespace {

using scalar::imm;

const DType f32 = DType::float32();

ir::Expr typed(ir::Expr e) {
  const ir::Call* c = ir::as<ir::Call>(e);
  ir::Types in;
  for (const ir::Expr& a : c->args) in.push_back(a->type);
  Result<ir::Type> t = ir::as<ir::Op>(c->callee)->def->infer(c->attrs, in);
  RELAY_CHECK(t, "{}", render(t.errors()));
  e->type = *t;
  return e;
}
ir::Expr weight(Shape shape) {
  ir::Expr e = ir::constant(Tensor::full(shape, f32, 0.5));
  std::vector<Expr> dims;
  for (int64_t d : shape) dims.push_back(imm(d));
  e->type = ir::tensor_type(dims, f32);
  return e;
}

// No copy between two convolutions: the first writes channels-last into an array with the halo that the second one's
// padding reads.
TEST(Function, PaddingBecomesTheBorderOfItsInput) {
  ir::VarRef x = ir::var("x", ir::tensor_type({1, 3, 32, 32}, f32));
  x->type = x->annotation;
  ir::Expr a = typed(op::make("nn.conv2d", {x, weight({64, 3, 3, 3})}, {{"padding", ir::Ints{1, 1}}}));
  ir::Expr b = typed(
      op::make("nn.conv2d", {a, weight({40, 64, 3, 3})}, {{"padding", ir::Ints{1, 1}}, {"strides", ir::Ints{2, 2}}}));
  Result<LoweredFunction> l = lower(ir::function({x}, b), "main", {.target = wide(), .schedules = {}});
  ASSERT_TRUE(l) << render(l.errors());
  ASSERT_EQ(l->groups.size(), 3u);
  EXPECT_NE(l->groups[1].schedule.find("stage padded: inline reads_halo"), std::string::npos) << l->groups[1].schedule;
  EXPECT_EQ(l->groups[2].name, "to_row_major");
  bool bordered = false;
  for (const Array& array : l->arrays) bordered |= array.layout.str() == "0,2,3,1 halo 2:1+1 3:1+1";
  EXPECT_TRUE(bordered);
  for (const LoweredGroup& g : l->groups) {  // printed schedules can be parsed
    Result<Schedule> again = parse_schedule(g.schedule, g.stages);
    ASSERT_TRUE(again) << render(again.errors());
    EXPECT_EQ(str(*again, g.stages), g.schedule);
  }
}

// Two convolutions and a copy of an input write into one array, with a halo for its reader, which the second of them
// reads at once.
TEST(Function, WhatIsConcatenatedIsComputedInItsPlace) {
  ir::VarRef x = ir::var("x", ir::tensor_type({1, 32, 30, 30}, f32));
  x->type = x->annotation;
  ir::Expr a = typed(op::make("nn.conv2d", {x, weight({40, 32, 1, 1})}, {}));
  ir::Expr b = typed(op::make("nn.conv2d", {a, weight({64, 40, 1, 1})}, {}));
  ir::Expr all = ir::tuple({a, x, b});
  all->type = ir::tuple_type({a->type, x->type, b->type});
  ir::Expr whole = typed(op::make("concatenate", {all}, {{"axis", int64_t{1}}}));
  ir::Expr y = typed(op::make("nn.conv2d", {whole, weight({16, 136, 3, 3})},
                              {{"padding", ir::Ints{1, 1}}, {"strides", ir::Ints{2, 2}}}));
  Result<LoweredFunction> l = lower(ir::function({x}, y), "main", {.target = wide(), .schedules = {}});
  ASSERT_TRUE(l) << render(l.errors());
  std::string groups, parts;
  for (const LoweredGroup& g : l->groups) groups += (groups.empty() ? "" : ", ") + g.name;
  EXPECT_EQ(groups, "nn_conv2d, nn_conv2d_1, copy, nn_conv2d_2, to_row_major");
  for (const Array& array : l->arrays)
    if (array.view)
      parts += format("{} of {}, {} ", array.view->offset, scalar::str(l->arrays[array.view->base].shape[1]),
                      array.layout.str());
  EXPECT_EQ(parts,
            "0 of 136, 0,2,3,1 halo 1:0+96 2:1+1 3:1+1 "
            "72 of 136, 0,2,3,1 halo 1:0+72 2:1+1 3:1+1 "
            "40 of 136, 0,2,3,1 halo 1:0+104 2:1+1 3:1+1 ");
}

// A result of the function is written part by part, by a copy of each input or by a producer, if runs of a part are
// long; otherwise one kernel selects for each element.
TEST(Function, ResultsAreWrittenPartByPart) {
  auto groups = [](int64_t width, bool computed) {
    ir::VarRef x = ir::var("x", ir::tensor_type({8, width}, f32)), y = ir::var("y", ir::tensor_type({8, width}, f32));
    x->type = x->annotation, y->type = y->annotation;
    ir::Expr a = computed ? typed(op::make("nn.dense", {y, weight({48, width})}, {})) : ir::Expr(y);
    ir::Expr both = ir::tuple({a, x});
    both->type = ir::tuple_type({a->type, x->type});
    ir::Expr whole = typed(op::make("concatenate", {both}, {{"axis", int64_t{1}}}));
    Result<LoweredFunction> l = lower(ir::function({x, y}, whole), "main", {.target = wide(), .schedules = {}});
    RELAY_CHECK(l, "{}", render(l.errors()));
    std::string found;
    for (const LoweredGroup& g : l->groups) found += g.name + " ";
    for (const Array& array : l->arrays)
      if (array.view) found += format("[{} of {}] ", array.view->offset, l->arrays[array.view->base].name);
    return found;
  };
  EXPECT_EQ(groups(512, true), "nn_dense copy [0 of concatenate] [48 of concatenate] ");
  EXPECT_EQ(groups(512, false), "copy copy_1 [0 of concatenate] [512 of concatenate] ");
  EXPECT_EQ(groups(64, false), "concatenate ");
}

// An elementwise result takes the place of its data if nothing else reads that later; not if it is read later or the
// caller has it.
TEST(Function, ResultsLieInThePlaceOfTheirData) {
  auto parts = [](bool again, bool returned) {
    ir::VarRef x = ir::var("x", ir::tensor_type({scalar::var("n"), imm(32), imm(14), imm(14)}, f32));
    x->type = x->annotation;
    auto conv = [&](const ir::Expr& data, int64_t channels) {
      return typed(op::make("nn.conv2d", {data, weight({48, channels, 1, 1})}, {}));
    };
    ir::Expr a = conv(x, 32), first = conv(a, 48), y = conv(typed(op::make("tanh", {a}, {})), 48);
    ir::Exprs results{first, y};
    if (again) results.push_back(conv(a, 48));
    if (returned) results.push_back(a);
    ir::Expr all = ir::tuple(results);
    ir::Types types;
    for (const ir::Expr& r : results) types.push_back(r->type);
    all->type = ir::tuple_type(types);
    Result<LoweredFunction> l = lower(ir::function({x}, all), "main", {.target = wide(), .schedules = {}});
    RELAY_CHECK(l, "{}", render(l.errors()));
    std::string found;
    for (const Array& array : l->arrays)
      if (array.view) found += format("{} in {} ", array.name, l->arrays[array.view->base].name);
    return found;
  };
  EXPECT_EQ(parts(false, false), "tanh in nn_conv2d ");
  EXPECT_EQ(parts(true, false), "");
  EXPECT_EQ(parts(false, true), "");
}

// Only the shape of %a is read: the result is computed once, when the program is built, and nothing takes its place.
TEST(Function, WhatReadsOnlyAShapeIsAConstant) {
  ir::VarRef x = ir::var("x", ir::tensor_type({8, 32}, f32));
  x->type = x->annotation;
  const ir::Expr two = ir::constant(2);
  two->type = ir::scalar_type(f32);
  const ir::Expr a = typed(op::make("nn.dense", {x, weight({32, 32})}, {}));
  const ir::Expr twos = typed(op::make("broadcast_to_like", {two, a}, {}));
  const ir::Expr b = typed(op::make("nn.dense", {a, weight({32, 32})}, {}));
  const ir::Expr sum = typed(op::make("add", {typed(op::make("exp", {twos}, {})), b}, {}));
  const ir::Expr y = typed(op::make("nn.dense", {sum, weight({4, 32})}, {}));
  Result<LoweredFunction> l = lower(ir::function({x}, y), "main", {.target = wide(), .schedules = {}});
  ASSERT_TRUE(l) << render(l.errors());
  for (const Step& step : l->steps)
    for (int read : step.constant ? step.writes : std::vector<int>{})
      for (const Array& array : l->arrays) EXPECT_FALSE(array.view && array.view->base == read) << array.name;
}

// Pixels of 512 channels would meet in a few sets of the cache where a register tile reads a column of them.
TEST(Function, PixelsThatLieTooFarApartHaveAGap) {
  auto gaps = [](int64_t given, int64_t channels) {
    ir::VarRef x = ir::var("x", ir::tensor_type({1, given, 14, 14}, f32));
    x->type = x->annotation;
    ir::Expr a = typed(op::make("nn.conv2d", {x, weight({channels, given, 1, 1})}, {}));
    ir::Expr b = typed(op::make("nn.conv2d", {a, weight({32, channels, 1, 1})}, {}));
    Result<LoweredFunction> l = lower(ir::function({x}, b), "main", {.target = wide(), .schedules = {}});
    RELAY_CHECK(l, "{}", render(l.errors()));
    std::set<std::string> found;
    for (const Array& array : l->arrays)
      if (array.layout.row_padding) found.insert(format("{} {}", scalar::str(array.shape[1]), array.layout.str()));
    return found;
  };
  EXPECT_EQ(gaps(32, 512), std::set<std::string>{"512 0,2,3,1 row_padding 16"});
  EXPECT_EQ(gaps(1024, 32), std::set<std::string>{"1024 0,2,3,1 row_padding 16"});  // a copy of an input
  EXPECT_EQ(gaps(32, 480), std::set<std::string>{});
}

// The arrays that an operator's kernels prefetch. `pays`: for weights, as the machine's description has it.
std::string fetched(const char* op, const Shape& data, const Shape& weights, const op::AttrValues& attrs, bool pays,
                    int64_t l3_bytes) {
  ir::Dims dims;
  for (int64_t d : data) dims.push_back(scalar::imm(d));
  ir::VarRef x = ir::var("x", ir::tensor_type(dims, f32));
  x->type = x->annotation;
  ir::Expr a = typed(op::make(op, {x, weight(weights)}, attrs));
  TargetDesc target = wide();
  target.prefetch_weights = pays;
  target.l3_bytes = l3_bytes;
  Result<LoweredFunction> l = lower(ir::function({x}, a), "main", {.target = target, .schedules = {}});
  RELAY_CHECK(l, "{}", render(l.errors()));
  std::set<std::string> found;
  for (const loop::Kernel& k : l->kernels) {
    const std::string text = loop::str(k);
    for (size_t at = 0; (at = text.find("prefetch ", at)) != std::string::npos; at += 9)
      found.insert(text.substr(at + 9, text.find('[', at) - at - 9));
  }
  return format("{}", join(std::vector<std::string>(found.begin(), found.end()), " "));
}
constexpr int64_t large = int64_t{1} << 30;

// Weights that do not stay in L3, or for which it pays by the machine's description, are fetched a part ahead. So are
// data and results that do not stay in L2. `data` and `copy`, if not small, are transposed between channels last and
// channels first.
TEST(Function, WeightsDataAndResultsAreFetched) {
  auto strided = [&](bool pays, int64_t l3) {
    return fetched("nn.conv2d", {1, 512, 7, 7}, {512, 512, 3, 3}, {{"strides", ir::Ints{2, 2}}}, pays, l3);
  };
  EXPECT_EQ(strided(true, large), "weight");
  EXPECT_EQ(strided(false, large), "");
  EXPECT_EQ(strided(false, 16 << 20), "weight");  // 9 MiB: more than a quarter
  EXPECT_EQ(fetched("nn.conv2d", {1, 64, 56, 56}, {256, 64, 1, 1}, {}, false, large), "conv2d_out copy data data_nhwc");
  EXPECT_EQ(fetched("nn.conv2d", {1, 64, 14, 14}, {256, 64, 1, 1}, {}, false, large), "");
  EXPECT_EQ(fetched("nn.conv2d", {1, 256, 56, 56}, {64, 256, 1, 1}, {}, false, large),
            "conv2d_out copy data data_nhwc");
  EXPECT_EQ(fetched("nn.conv2d", {1, 128, 58, 58}, {128, 1, 3, 3}, {{"groups", int64_t{128}}}, false, large),
            "conv2d_out copy data data_nhwc");
}

// A copy to channels-last storage has the axes of the convolution that reads it.
TEST(Function, CopiesAreOfImagesOrOfWeights) {
  for (const int64_t batch : {1, 3}) {
    const ir::VarRef x = ir::var("x", ir::tensor_type({batch, 32, 14, 14}, f32)),
                     w = ir::var("w", ir::tensor_type({48, 32, 3, 3}, f32));
    x->type = x->annotation, w->type = w->annotation;
    const ir::Expr a = typed(op::make("nn.conv2d", {x, w}, {{"strides", ir::Ints{2, 2}}}));
    Result<LoweredFunction> l = lower(ir::function({x, w}, a), "main", {.target = wide(), .schedules = {}});
    ASSERT_TRUE(l) << render(l.errors());
    std::string text;
    for (const LoweredGroup& g : l->groups) text += te::str(g.stages);
    EXPECT_NE(text.find("weight_packed[o, c, ky, kx] = "), std::string::npos) << text;
    EXPECT_NE(text.find(batch == 1 ? "data_nhwc[i0, c, y, x] = " : "data_nhwc[n, c, y, x] = "), std::string::npos)
        << text;
  }
}

// Tests of one algorithm have its name: dev/without skips them.
TEST(Function, WinogradFetchesWhatItReads) {
  EXPECT_EQ(fetched("nn.conv2d", {1, 256, 16, 16}, {256, 256, 3, 3}, {}, true, large),
            "conv2d_weight data data_nhwc weight");  // includes those of the direct form
  EXPECT_EQ(fetched("nn.conv2d", {1, 64, 114, 114}, {64, 64, 3, 3}, {}, false, large),
            "conv2d conv2d_out copy data data_nhwc");
  EXPECT_EQ(fetched("nn.conv2d", {1, 256, 58, 58}, {256, 256, 3, 3}, {}, false, large),
            "conv2d conv2d_input conv2d_out copy data data_nhwc");
}

TEST(Function, StrassenFetchesWhatItReads) {
  EXPECT_EQ(fetched("nn.dense", {128, 768}, {768, 768}, {}, true, large), "dense_quarters dense_weight");
  EXPECT_EQ(fetched("nn.dense", {128, 768}, {768, 768}, {}, false, large), "");
}

// Queries, keys and values of attention are products of one array, whose sums for Strassen's form are computed once.
TEST(Function, StrassenMakesSumsOfOneArrayOnce) {
  ir::VarRef x = ir::var("x", ir::tensor_type({128, 768}, f32));
  x->type = x->annotation;
  ir::Exprs products;
  for (int i = 0; i < 3; ++i) products.push_back(typed(op::make("nn.dense", {x, weight({768, 768})}, {})));
  ir::Expr all = ir::tuple(products);
  all->type = ir::tuple_type({products[0]->type, products[1]->type, products[2]->type});
  Result<LoweredFunction> l = lower(ir::function({x}, all), "main", {.target = wide(), .schedules = {}});
  ASSERT_TRUE(l) << render(l.errors());
  std::map<std::string, int> calls;  // by the end of their kernels' names
  for (const Step& step : l->steps)
    for (const char* what : {"_sums", "_weights"})
      if (l->kernels[step.kernel].name.find(what) != std::string::npos) ++calls[what];
  EXPECT_EQ(calls["_sums"], 1);
  EXPECT_EQ(calls["_weights"], 3);
}

// Channels-last inputs keep their storage, in any order of the weights: only padding is copied.
TEST(Function, ChannelsLastStaysAsItIs) {
  for (const char* order : {"HWIO", "OHWI"}) {
    ir::VarRef x = ir::var("x", ir::tensor_type({1, 30, 30, 64}, f32));
    x->type = x->annotation;
    const Shape sizes = order[0] == 'H' ? Shape{3, 3, 64, 64} : Shape{64, 3, 3, 64};
    ir::Expr conv = typed(op::make("nn.conv2d", {x, weight(sizes)},
                                   {{"padding", ir::Ints{1, 1}}, {"data_layout", "NHWC"}, {"kernel_layout", order}}));
    ir::Expr pool = typed(op::make("nn.max_pool2d", {conv},
                                   {{"pool_size", ir::Ints{2, 2}}, {"strides", ir::Ints{2, 2}}, {"layout", "NHWC"}}));
    Result<LoweredFunction> l = lower(ir::function({x}, pool), "main", {.target = wide(), .schedules = {}});
    ASSERT_TRUE(l) << render(l.errors());
    std::string rules;
    for (const LoweredGroup& g : l->groups) rules += g.name + ": " + g.rule + "\n";
    EXPECT_EQ(rules.find("transposed along"), std::string::npos) << rules;
    EXPECT_EQ(rules.find("to_row_major"), std::string::npos) << rules;
  }
}

// A vector of channels has its own axis only, whatever its rank.
TEST(Function, ImagesStayChannelsLastBesideVectors) {
  ir::VarRef x = ir::var("x", ir::tensor_type({1, 64, 30, 30}, f32)),
             v = ir::var("v", ir::tensor_type({64, 1, 1}, f32));
  x->type = x->annotation, v->type = v->annotation;
  const op::AttrValues padding = {{"padding", ir::Ints{1, 1}}};
  ir::Expr first = typed(op::make("nn.conv2d", {x, weight({64, 64, 3, 3})}, padding));
  ir::Expr second =
      typed(op::make("nn.conv2d", {typed(op::make("subtract", {first, v}, {})), weight({64, 64, 3, 3})}, padding));
  Result<LoweredFunction> l = lower(ir::function({x, v}, second), "main", {.target = wide(), .schedules = {}});
  ASSERT_TRUE(l) << render(l.errors());
  const auto between = std::ranges::find(l->groups, "subtract", [](const LoweredGroup& g) { return g.name; });
  ASSERT_NE(between, l->groups.end());
  EXPECT_EQ(between->rule.find("transposed along"), std::string::npos) << between->rule;
}

// Lanes run along the channels in any storage order of the caller's data, which is copied first.
TEST(Function, PoolingRunsOverChannels) {
  ir::VarRef x = ir::var("x", ir::tensor_type({1, 40, 32, 32}, f32));
  x->type = x->annotation;
  ir::Expr pool = typed(op::make(
      "nn.max_pool2d", {x}, {{"pool_size", ir::Ints{3, 3}}, {"strides", ir::Ints{2, 2}}, {"padding", ir::Ints{1, 1}}}));
  Result<LoweredFunction> l = lower(ir::function({x}, pool), "main", {.target = wide(), .schedules = {}});
  ASSERT_TRUE(l) << render(l.errors());
  EXPECT_NE(l->groups[0].rule.find("window, 2 x 2 outputs x 2 vectors of 16 along c"), std::string::npos)
      << l->groups[0].rule;
  EXPECT_NE(l->groups[0].rule.find("padded: elementwise, squares of 16 transposed along x and c"), std::string::npos)
      << l->groups[0].rule;
}

TEST(Function, UnknownScheduleNameIsReported) {
  ir::VarRef x = ir::var("x", ir::tensor_type({4, 4}, f32));
  x->type = x->annotation;
  Result<LoweredFunction> l = lower(ir::function({x}, typed(op::make("nn.relu", {x}))), "main",
                                    {.target = wide(), .schedules = {{"nn_rel", "rule x"}}});
  ASSERT_FALSE(l);
  EXPECT_NE(render(l.errors()).find("did you mean 'nn_relu'?"), std::string::npos) << render(l.errors());
}

// nn.rnn of `units` units along a sequence.
Result<LoweredFunction> lower_rnn(int64_t units, const Expr& steps) {
  ir::VarRef x = ir::var("x", ir::tensor_type({steps, imm(1), imm(8)}, f32));
  x->type = x->annotation;
  ir::Expr weights = ir::tuple({weight({units, 8}), weight({units, units})});
  ir::Expr state = ir::tuple({weight({1, 1, units})});
  for (const ir::Expr& e : {weights, state}) {
    ir::Types fields;
    for (const ir::Expr& f : ir::as<ir::Tuple>(e)->elements) fields.push_back(f->type);
    e->type = ir::tuple_type(fields);
  }
  TargetDesc target = wide();
  target.cores = 2;
  return lower(ir::function({x}, typed(op::make("nn.rnn", {x, weights, state}, {{"bias", false}}))), "main",
               {.target = target, .schedules = {}});
}

// The product of all inputs is computed in front; a short step is in a loop of one kernel.
TEST(Function, ShortStepsOfARecurrenceAreOneKernel) {
  for (const Expr& steps : {imm(7), scalar::var("n")}) {
    Result<LoweredFunction> l = lower_rnn(16, steps);
    ASSERT_TRUE(l) << render(l.errors());
    std::vector<std::string> groups;
    for (const LoweredGroup& g : l->groups) groups.push_back(g.name);
    EXPECT_EQ(groups, (std::vector<std::string>{"nn_rnn_hidden", "nn_rnn_input_product", "nn_rnn_steps", "nn_rnn",
                                                "nn_rnn_1"}));
    int recurrences = 0;
    for (const Step& s : l->steps) {
      if (!s.recurrence) continue;
      ++recurrences;
      EXPECT_EQ(scalar::str(l->kernels[static_cast<size_t>(s.kernel)].tasks), "1");
      EXPECT_TRUE(loop::verify(l->kernels[static_cast<size_t>(s.kernel)]).empty());
    }
    EXPECT_EQ(recurrences, 1);
    EXPECT_TRUE(l->repeats.empty());
  }
}

// A long step is repeated, so that threads share its kernels; packing the weight is not part of it.
TEST(Function, LongStepsOfARecurrenceAreRepeated) {
  const Expr steps = scalar::var("n");
  Result<LoweredFunction> l = lower_rnn(1024, steps);
  ASSERT_TRUE(l) << render(l.errors());
  ASSERT_EQ(l->repeats.size(), 1u);
  const Repeat& repeat = l->repeats[0];
  EXPECT_EQ(repeat.times, steps);
  int repeated = 0;
  for (const Step& s : std::span(l->steps).subspan(repeat.first, repeat.count)) {
    ++repeated;
    ASSERT_FALSE(s.sizes.empty());
    EXPECT_EQ(l->kernels[static_cast<size_t>(s.kernel)].shape_vars[0]->name, "t");
    EXPECT_TRUE(loop::verify(l->kernels[static_cast<size_t>(s.kernel)]).empty());
    bool weights = false;
    for (int r : s.reads) weights |= l->arrays[static_cast<size_t>(r)].kind == Array::Kind::Constant;
    EXPECT_EQ(weights, repeated == 1);
  }
  EXPECT_GE(repeated, 1);
}

}  // namespace
}  // namespace relay::lower
