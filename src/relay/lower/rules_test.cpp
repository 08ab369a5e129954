// The choices of single rules, and the correctness of their results.
#include "relay/lower/rules/rules.h"

#include <gtest/gtest.h>

#include "relay/lower/nest/nest.h"
#include "relay/lower/schedule/schedule_rules.h"

namespace relay::lower {
namespace {

using scalar::imm;

const DType f32 = DType::float32();

TargetDesc vectors(int bytes, int registers, double fma_per_cycle) {
  TargetDesc t;
  t.vector_bytes = bytes, t.vector_registers = registers, t.fma_per_cycle = fma_per_cycle, t.has_fma = true;
  return t;
}

// Runs the kernels of the plan on ramps; arrays by name.
std::map<std::string, std::vector<float>> results(const ScheduleDraft& draft) {
  Result<std::vector<BuiltKernel>> kernels =
      build_kernels(draft.stages(), draft.schedule, draft.layouts, *draft.target, "kernel");
  RELAY_CHECK(kernels, "{}", render(kernels.errors()));
  std::map<std::string, std::vector<float>> arrays;
  for (const BuiltKernel& built : *kernels) {
    std::vector<void*> params;
    std::vector<int64_t> bytes;
    for (const loop::BufferRef& p : built.kernel.params) {
      int64_t n = 1;
      for (const Expr& e : p->shape) n *= e->ivalue;
      std::vector<float>& values = arrays[p->name];
      for (int64_t i = static_cast<int64_t>(values.size()); i < n; ++i)
        values.push_back(static_cast<float>(i * 7 % 5 - 2));
      params.push_back(values.data()), bytes.push_back(n * 4);
    }
    Status s = loop::interpret(built.kernel, params, bytes, {}, 0, built.kernel.tasks->ivalue);
    RELAY_CHECK(s, "{}", render(s.errors()));
  }
  return arrays;
}

// If a tile of one vector would wait for its loads, narrower ones of more vectors are better, and rows are split
// evenly.
TEST(RegisterTile, LoadsAndRows) {
  auto text = [](const TargetDesc& target, int64_t n, int64_t rows) {
    const RegisterTile t = choose_tile(target, target.vector_bytes / 4, n, 4, {rows}, {rows});
    return format("{} x {}", t.tx * t.ty, t.nb);
  };
  const TargetDesc avx2 = vectors(32, 16, 2), avx512 = vectors(64, 32, 1);
  EXPECT_EQ(text(avx2, 512, 7), "4 x 3");
  EXPECT_EQ(text(avx2, 256, 14), "5 x 2");
  EXPECT_EQ(text(avx2, 128, 28), "6 x 2");
  EXPECT_EQ(text(avx2, 256, 56), "4 x 3");
  EXPECT_EQ(text(avx512, 256, 14), "14 x 2");
}

// A sum over windows in parts: each is a run of channels, so that data and weights are read in one order.
TEST(LongSum, PartsAreRunsOfTheInnermostLoop) {
  const int64_t pixels = 3, channels = 256, outputs = 16;
  te::Tensor x = te::placeholder("x", {imm(pixels + 2), imm(channels)}, f32),
             w = te::placeholder("w", {imm(3), imm(channels), imm(outputs)}, f32);
  te::Tensor c =
      te::reduce("c", {imm(pixels), imm(outputs)}, {imm(3), imm(channels)}, te::Combiner::Sum,
                 [&](const Exprs& i, const Exprs& r) { return (*x)({i[0] + r[0], r[1]}) * (*w)({r[0], r[1], i[1]}); });
  const TargetDesc target = vectors(64, 32, 1);
  ScheduleDraft draft;
  draft.target = &target, draft.set_outputs({c});
  apply_rules(draft);
  const te::Tensors stages = draft.stages();
  auto part = std::find_if(stages.begin(), stages.end(), [](const te::Tensor& t) { return t->name == "c_part"; });
  ASSERT_NE(part, stages.end()) << str(draft.schedule, stages);
  ASSERT_EQ((*part)->reduce_axes.size(), 1u);
  EXPECT_TRUE(scalar::is_int((*part)->reduce_axes[0].extent, channels / 2));
  EXPECT_EQ(draft.schedule.stages.at("c_part").level, 2);

  std::map<std::string, std::vector<float>> arrays = results(draft);
  for (int64_t i = 0; i < pixels; ++i)
    for (int64_t o = 0; o < outputs; ++o) {
      float sum = 0;
      for (int64_t k = 0; k < 3 * channels; ++k) sum += arrays["x"][i * channels + k] * arrays["w"][k * outputs + o];
      EXPECT_EQ(arrays[draft.outputs()[0]->name][i * outputs + o], sum) << i << ", " << o;
    }
}

// Sums and maxima over overlapping windows: along columns first, for any distance of the taps. Not for windows that do
// not share columns.
TEST(SplitWindow, ColumnsFirst) {
  struct Case {
    te::Combiner combiner;
    int64_t height, width, stride, dilation;
    bool split;
  };
  const int64_t channels = 20, rows = 4, places = 11;
  for (const Case& c : {Case{te::Combiner::Sum, 3, 3, 1, 1, true}, Case{te::Combiner::Max, 2, 13, 1, 1, true},
                        Case{te::Combiner::Min, 5, 5, 1, 2, true}, Case{te::Combiner::Max, 3, 3, 2, 1, false},
                        Case{te::Combiner::Sum, 1, 7, 1, 1, false}}) {
    SCOPED_TRACE(format("{} {} x {}", te::name(c.combiner), c.height, c.width));
    const int64_t across = (places - 1) * c.stride + (c.width - 1) * c.dilation + 1;
    te::Tensor x = te::placeholder("x", {imm(rows + c.height - 1), imm(across), imm(channels)}, f32);
    te::Tensor pool = te::reduce(
        "pool", {imm(rows), imm(places), imm(channels)}, {imm(c.height), imm(c.width)}, c.combiner,
        [&](const Exprs& i, const Exprs& k) { return (*x)({i[0] + k[0], i[1] * c.stride + k[1] * c.dilation, i[2]}); });
    for (const TargetDesc& target : {vectors(64, 32, 1), vectors(32, 16, 2)}) {
      ScheduleDraft draft;
      draft.target = &target, draft.set_outputs({pool});
      apply_rules(draft);
      EXPECT_EQ(draft.schedule.stages.count("pool_columns"), c.split ? 1u : 0u) << str(draft.schedule, draft.stages());
      std::map<std::string, std::vector<float>> arrays = results(draft);
      for (int64_t y = 0; y < rows; ++y)
        for (int64_t p = 0; p < places; ++p)
          for (int64_t o = 0; o < channels; ++o) {
            float sum = 0, max = -10, min = 10;
            for (int64_t ky = 0; ky < c.height; ++ky)
              for (int64_t kx = 0; kx < c.width; ++kx) {
                const float v = arrays["x"][((y + ky) * across + p * c.stride + kx * c.dilation) * channels + o];
                sum += v, max = std::max(max, v), min = std::min(min, v);
              }
            EXPECT_EQ(arrays[draft.outputs()[0]->name][(y * places + p) * channels + o],
                      c.combiner == te::Combiner::Sum   ? sum
                      : c.combiner == te::Combiner::Max ? max
                                                        : min);
          }
    }
  }
}

// Rows are computed together if their windows read the same rows: not across a dilation, nor if registers cannot hold
// the tile of columns.
TEST(Window, RowsThatOverlap) {
  struct Case {
    int64_t window, stride, dilation;  // of rows
    int64_t width, stride_x;
    std::vector<int64_t> tile;  // rows, places, lanes
  };
  for (const Case& c :
       {Case{3, 1, 1, 3, 1, {2, 4, 16}}, Case{3, 1, 2, 3, 1, {1, 8, 16}}, Case{3, 2, 1, 3, 2, {2, 2, 32}},
        Case{3, 1, 1, 3, 2, {4, 2, 16}}, Case{2, 2, 1, 2, 2, {1, 2, 64}}, Case{13, 1, 1, 13, 1, {1, 8, 16}}}) {
    SCOPED_TRACE(format("{} x {}, {} x {} apart, dilation {}", c.window, c.width, c.stride, c.stride_x, c.dilation));
    te::Tensor x = te::placeholder("x", {imm(200), imm(200), imm(64)}, f32);
    te::Tensor pool = te::reduce("pool", {imm(32), imm(32), imm(64)}, {imm(c.window), imm(c.width)}, te::Combiner::Sum,
                                 [&](const Exprs& i, const Exprs& k) {
                                   return (*x)({i[0] * c.stride + k[0] * c.dilation, i[1] * c.stride_x + k[1], i[2]});
                                 });
    const TargetDesc target = vectors(64, 32, 1);
    ScheduleDraft draft;
    draft.target = &target, draft.set_outputs({pool});
    apply_rules(draft);
    std::vector<int64_t> tile;
    for (size_t d = 0; d < 3; ++d)
      for (const Loop& l : draft.schedule.stages.at(draft.outputs()[0]->name).loops)
        if (l.axis == draft.outputs()[0]->axes[d].var->name) {
          tile.push_back(l.step);
          break;
        }
    EXPECT_EQ(tile, c.tile) << str(draft.schedule, draft.stages());
  }
}

// Gradients of the weights of convolutions in groups. An array of images is stored by channels or channels-last.
struct TapSumsCase {
  int64_t groups, of_group, window, stride, rows, columns;
  bool channels_last;
  std::string lanes;
  int64_t taps;  // taps of a tile on vectors of 16
};

ScheduleDraft tap_sums(const TapSumsCase& c, const TargetDesc& target) {
  constexpr int64_t images = 2;
  const int64_t channels = c.groups * c.of_group, pad = c.window / 2;
  auto image = [&](const char* name, int64_t rows, int64_t columns) {
    return te::placeholder(name,
                           c.channels_last ? Exprs{imm(images), imm(rows), imm(columns), imm(channels)}
                                           : Exprs{imm(images), imm(channels), imm(rows), imm(columns)},
                           f32);
  };
  auto at = [&](const te::Tensor& t, const Expr& n, const Expr& o, const Expr& y, const Expr& x) {
    return c.channels_last ? (*t)({n, y, x, o}) : (*t)({n, o, y, x});
  };
  const int64_t height = c.rows * c.stride, width = c.columns * c.stride;
  const te::Tensor g = image("g", c.rows, c.columns), x = image("x", height, width);
  const te::Tensor padded = te::compute(
      "padded", {imm(images), imm(channels), imm(height + 2 * pad), imm(width + 2 * pad)}, [&](const Exprs& i) {
        const Expr y = i[2] - pad, x_at = i[3] - pad;
        const Expr inside =
            scalar::logical_and(scalar::logical_and(scalar::le(imm(0), y), scalar::lt(y, imm(height))),
                                scalar::logical_and(scalar::le(imm(0), x_at), scalar::lt(x_at, imm(width))));
        return scalar::select(inside, at(x, i[0], i[1], y, x_at), scalar::fimm(0, f32));
      });
  const te::Tensor sum =
      te::reduce("sum", {imm(channels), imm(c.of_group), imm(c.window), imm(c.window)},
                 {imm(images), imm(c.rows), imm(c.columns)}, te::Combiner::Sum, [&](const Exprs& i, const Exprs& k) {
                   const Expr channel = c.of_group == 1 ? i[0] : floordiv(i[0], imm(c.of_group)) * c.of_group + i[1];
                   return at(g, k[0], i[0], k[1], k[2]) *
                          (*padded)({k[0], channel, k[1] * c.stride + i[2], k[2] * c.stride + i[3]});
                 });
  ScheduleDraft draft;
  draft.target = &target, draft.set_outputs({sum});
  apply_rules(draft);
  return draft;
}

float tap_sum(const TapSumsCase& c, std::map<std::string, std::vector<float>>& arrays, int64_t o, int64_t i, int64_t ky,
              int64_t kx) {
  const int64_t channels = c.groups * c.of_group, pad = c.window / 2, height = c.rows * c.stride,
                width = c.columns * c.stride, from = o / c.of_group * c.of_group + i;
  auto at = [&](const char* name, int64_t rows, int64_t columns, int64_t n, int64_t channel, int64_t y, int64_t x) {
    return arrays[name][c.channels_last ? ((n * rows + y) * columns + x) * channels + channel
                                        : ((n * channels + channel) * rows + y) * columns + x];
  };
  float sum = 0;
  for (int64_t n = 0; n < 2; ++n)
    for (int64_t y = 0; y < c.rows; ++y)
      for (int64_t x = 0; x < c.columns; ++x) {
        const int64_t at_y = y * c.stride + ky - pad, at_x = x * c.stride + kx - pad;
        if (at_y >= 0 && at_y < height && at_x >= 0 && at_x < width)
          sum += at("g", c.rows, c.columns, n, o, y, x) * at("x", height, width, n, from, at_y, at_x);
      }
  return sum;
}

// Lanes are adjacent elements; as many taps are summed together as registers hold; rows shorter than a vector have
// shorter ones.
TEST(TapSums, OfRowsAndOfChannels) {
  for (const TapSumsCase& c :
       {TapSumsCase{3, 1, 3, 1, 9, 20, false, "k2", 9}, TapSumsCase{2, 1, 5, 1, 8, 7, false, "k2", 25},
        TapSumsCase{2, 1, 7, 1, 10, 16, false, "k2", 28}, TapSumsCase{2, 1, 3, 2, 8, 120, false, "k2", 9},
        TapSumsCase{40, 1, 3, 1, 5, 6, true, "i0", 9}, TapSumsCase{40, 1, 5, 2, 12, 12, true, "i0", 25},
        TapSumsCase{12, 2, 3, 1, 6, 5, true, "i0", 18}}) {
    SCOPED_TRACE(format("{} groups of {}, {} x {} by {}, {} x {}{}", c.groups, c.of_group, c.window, c.window, c.stride,
                        c.rows, c.columns, c.channels_last ? ", channels last" : ""));
    for (const TargetDesc& target : {vectors(64, 32, 1), vectors(32, 16, 2), vectors(16, 32, 2)}) {
      ScheduleDraft draft = tap_sums(c, target);
      const std::string& rule = draft.schedule.rule;
      if (target.vector_bytes == 64)
        EXPECT_NE(rule.find(format("sums of {} taps, lanes along {}", c.taps, c.lanes)), std::string::npos) << rule;
      else if (c.of_group == 1 && (c.stride == 1 || c.channels_last))
        EXPECT_NE(rule.find(format("taps, lanes along {}", c.lanes)), std::string::npos) << rule;
      std::map<std::string, std::vector<float>> arrays = results(draft);
      const std::vector<float> given = arrays[draft.outputs()[0]->name];
      size_t at = 0;
      for (int64_t o = 0; o < c.groups * c.of_group; ++o)
        for (int64_t i = 0; i < c.of_group; ++i)
          for (int64_t ky = 0; ky < c.window; ++ky)
            for (int64_t kx = 0; kx < c.window; ++kx, ++at)
              ASSERT_EQ(given[at], tap_sum(c, arrays, o, i, ky, kx)) << o << ", " << i << ", " << ky << ", " << kx;
    }
  }
}

// Refused if there are no taps, or if their number is unknown.
TEST(TapSums, NeedsTaps) {
  for (const Expr& taps : {imm(0), scalar::var("taps")}) {
    const te::Tensor g = te::placeholder("g", {imm(4), imm(40)}, f32),
                     x = te::placeholder("x", {imm(4), scalar::simplify(taps + 40)}, f32);
    const te::Tensor sum =
        te::reduce("sum", {imm(4), taps}, {imm(40)}, te::Combiner::Sum,
                   [&](const Exprs& i, const Exprs& k) { return (*g)({i[0], k[0]}) * (*x)({i[0], k[0] + i[1]}); });
    const TargetDesc target = vectors(64, 32, 1);
    ScheduleDraft draft;
    draft.target = &target, draft.set_outputs({sum});
    apply_rules(draft);
    EXPECT_EQ(draft.used.count(Rule::TapSums), 0u) << str(draft.schedule, draft.stages());
  }
}

// Refused if both factors are read along the axis of the tap.
TEST(TapSums, NeedsTapsOfOneFactor) {
  const te::Tensor g = te::placeholder("g", {imm(4), imm(40)}, f32), x = te::placeholder("x", {imm(43)}, f32);
  const te::Tensor sum = te::reduce("sum", {imm(4)}, {imm(40)}, te::Combiner::Sum, [&](const Exprs& i, const Exprs& k) {
    return (*g)({i[0], k[0]}) * (*x)({k[0] + i[0]});
  });
  const TargetDesc target = vectors(64, 32, 1);
  ScheduleDraft draft;
  draft.target = &target, draft.set_outputs({sum});
  apply_rules(draft);
  EXPECT_EQ(draft.used.count(Rule::TapSums), 0u) << str(draft.schedule, draft.stages());
}

// Height and width become one axis, also for other readers of the data.
TEST(MergeSums, HeightAndWidth) {
  const int64_t channels = 3, height = 5, width = 7;
  te::Tensor x = te::placeholder("x", {imm(channels), imm(height), imm(width)}, f32);
  te::Tensor sum = te::reduce("sum", {imm(channels)}, {imm(height), imm(width)}, te::Combiner::Sum,
                              [&](const Exprs& i, const Exprs& r) { return (*x)({i[0], r[0], r[1]}); });
  te::Tensor rows = te::reduce("rows", {imm(channels), imm(height)}, {imm(width)}, te::Combiner::Sum,
                               [&](const Exprs& i, const Exprs& r) { return (*x)({i[0], i[1], r[0]}); });
  const TargetDesc target = vectors(32, 16, 2);
  ScheduleDraft draft;
  draft.target = &target, draft.set_outputs({sum, rows});
  apply_rules(draft);
  bool merged = false;
  for (const te::Tensor& t : draft.stages())
    if (t->is_placeholder()) merged = t->shape.size() == 2 && scalar::is_int(t->shape[1], height * width);
  EXPECT_TRUE(merged) << str(draft.schedule, draft.stages());
  std::map<std::string, std::vector<float>> arrays = results(draft);
  for (int64_t c = 0; c < channels; ++c) {
    float all = 0;
    for (int64_t h = 0; h < height; ++h) {
      float row = 0;
      for (int64_t w = 0; w < width; ++w) row += arrays["x"][(c * height + h) * width + w];
      EXPECT_EQ(arrays[draft.outputs()[1]->name][c * height + h], row);
      all += row;
    }
    EXPECT_EQ(arrays[draft.outputs()[0]->name][c], all);
  }
}

// All sums over both are merged, whatever else they read.
TEST(MergeSums, AllOfThem) {
  const int64_t channels = 3, height = 5, width = 7, plane = height * width;
  const Exprs shape = {imm(channels), imm(height), imm(width)};
  const te::Tensor x = te::placeholder("x", shape, f32), y = te::placeholder("y", shape, f32);
  auto sum = [&](const char* name, const std::function<Expr(const Exprs&)>& body) {
    return te::reduce(name, {imm(channels)}, {imm(height), imm(width)}, te::Combiner::Sum,
                      [&](const Exprs& i, const Exprs& r) { return body({i[0], r[0], r[1]}); });
  };
  const TargetDesc target = vectors(32, 16, 2);
  ScheduleDraft draft;
  draft.target = &target;
  draft.set_outputs({sum("sum", [&](const Exprs& i) { return (*x)(i); }),
                     sum("squares", [&](const Exprs& i) { return (*x)(i) * (*x)(i); }),
                     sum("products", [&](const Exprs& i) { return (*x)(i) * (*y)(i); }),
                     sum("of_other", [&](const Exprs& i) { return (*y)(i); })});
  apply_rules(draft);
  for (const te::Tensor& t : draft.stages()) {
    if (t->is_placeholder()) EXPECT_EQ(t->shape.size(), 2u) << t->name;
    if (t->combiner != te::Combiner::None) EXPECT_EQ(t->reduce_axes.size(), 1u) << t->name;
  }
  std::map<std::string, std::vector<float>> arrays = results(draft);
  for (int64_t c = 0; c < channels; ++c) {
    float want[4] = {};
    for (int64_t i = c * plane; i < (c + 1) * plane; ++i) {
      const float a = arrays["x"][i], b = arrays["y"][i];
      want[0] += a, want[1] += a * a, want[2] += a * b, want[3] += b;
    }
    for (size_t o = 0; o < 4; ++o) EXPECT_EQ(arrays[draft.outputs()[o]->name][c], want[o]) << draft.outputs()[o]->name;
  }
}

// Results of one row of unknown length are stored together by each task.
TEST(SeveralResults, TasksOfALongRow) {
  const Expr n = scalar::var("n");
  const te::Tensor x = te::placeholder("x", {n}, f32);
  const te::Tensor first = te::compute("first", {n}, [&](const Exprs& i) { return (*x)(i) * (*x)(i); });
  const te::Tensor second = te::compute("second", {n}, [&](const Exprs& i) { return (*first)(i) + (*x)(i); });
  const TargetDesc target = vectors(32, 16, 2);
  ScheduleDraft draft;
  draft.target = &target, draft.set_outputs({first, second});
  apply_rules(draft);
  const std::string text = str(draft.schedule, draft.stages());
  EXPECT_NE(text.find("/4096:parallel"), std::string::npos) << text;
  EXPECT_NE(text.find("stage first: at second"), std::string::npos) << text;
  Result<std::vector<BuiltKernel>> kernels =
      build_kernels(draft.stages(), draft.schedule, draft.layouts, target, "kernel");
  ASSERT_TRUE(kernels) << render(kernels.errors());
  ASSERT_EQ(kernels->size(), 1u);
}

// Channels-last images are concatenated as rows of channels: the result is viewed with channels as an axis, and squares
// are transposed.
TEST(Elementwise, FlattensChannelsLastImages) {
  const int64_t images = 2, channels = 37, height = 7, width = 5, pixels = height * width, row = channels * pixels;
  te::Tensor x = te::placeholder("x", {imm(images), imm(channels), imm(height), imm(width)}, f32);
  te::Tensor flat = te::compute("flat", {imm(images), imm(row)}, [&](const Exprs& i) {
    const Expr column = scalar::floordiv(i[1], imm(width));
    return (*x)({i[0], scalar::floordiv(column, imm(height)), scalar::floormod(column, imm(height)),
                 scalar::floormod(i[1], imm(width))});
  });
  te::Tensor twice =
      te::compute("twice", {imm(images), imm(row)}, [&](const Exprs& i) { return (*flat)(i) + (*flat)(i); });
  const TargetDesc target = vectors(64, 32, 1);
  ScheduleDraft draft;
  draft.target = &target, draft.set_outputs({twice});
  draft.layouts["x"] = Layout::channels_last(4);
  apply_rules(draft);
  EXPECT_NE(draft.schedule.rule.find("transposed along"), std::string::npos) << str(draft.schedule, draft.stages());
  std::map<std::string, std::vector<float>> arrays = results(draft);
  for (int64_t n = 0; n < images; ++n)
    for (int64_t c = 0; c < channels; ++c)
      for (int64_t p = 0; p < pixels; ++p)
        ASSERT_EQ(arrays["twice"][n * row + c * pixels + p], 2 * arrays["x"][(n * pixels + p) * channels + c])
            << n << ", " << c << ", " << p;
}

// Two images, one stored by channels and one channels-last, concatenated and enlarged: the first is copied, transposed.
TEST(Elementwise, CopiesWhatWouldBeGathered) {
  const int64_t channels = 19, height = 3, width = 21, both = 2 * channels;
  te::Tensor x = te::placeholder("x", {imm(1), imm(channels), imm(height), imm(width)}, f32),
             y = te::placeholder("y", {imm(1), imm(channels), imm(height), imm(width)}, f32);
  te::Tensor joined = te::compute("joined", {imm(1), imm(both), imm(height), imm(width)}, [&](const Exprs& i) {
    return scalar::select(scalar::lt(i[1], imm(channels)), (*x)(i), (*y)({i[0], i[1] - imm(channels), i[2], i[3]}));
  });
  te::Tensor large = te::compute("large", {imm(1), imm(both), imm(2 * height), imm(2 * width)}, [&](const Exprs& i) {
    return (*joined)({i[0], i[1], scalar::floordiv(i[2], imm(2)), scalar::floordiv(i[3], imm(2))});
  });
  const TargetDesc target = vectors(64, 32, 1);
  ScheduleDraft draft;
  draft.target = &target, draft.set_outputs({large});
  draft.layouts["y"] = draft.layouts["large"] = Layout::channels_last(4);
  apply_rules(draft);
  const std::string schedule = str(draft.schedule, draft.stages());
  EXPECT_NE(schedule.find("stage x_transposed: root"), std::string::npos) << schedule;
  EXPECT_EQ(schedule.find("stage y_transposed"), std::string::npos) << schedule;
  std::map<std::string, std::vector<float>> arrays = results(draft);
  for (int64_t c = 0; c < both; ++c)
    for (int64_t h = 0; h < 2 * height; ++h)
      for (int64_t w = 0; w < 2 * width; ++w) {
        const int64_t pixel = h / 2 * width + w / 2;
        const float expected =
            c < channels ? arrays["x"][c * height * width + pixel] : arrays["y"][pixel * channels + c - channels];
        ASSERT_EQ(arrays["large"][(h * 2 * width + w) * both + c], expected) << c << ", " << h << ", " << w;
      }
}

// Short rows are joined, except those of a step, which are part of a larger array.
TEST(Elementwise, StepsKeepTheirAxes) {
  const TargetDesc target = vectors(64, 32, 1);
  for (bool is_step : {false, true}) {
    te::Tensor x = te::placeholder("x", {imm(2), imm(5)}, f32);
    ScheduleDraft draft;
    draft.target = &target, draft.is_step = is_step;
    draft.set_outputs({te::compute("y", x->shape, [&](const Exprs& i) { return (*x)(i) + (*x)(i); })});
    apply_rules(draft);
    EXPECT_EQ(draft.outputs()[0]->axes.size(), is_step ? 2 : 1) << str(draft.schedule, draft.stages());
  }
}

// Rows that do not fill whole vectors are joined if all indices then repeat their pattern after a block, so that each
// vector of it has known lanes; others are unchanged.
TEST(LaneBlocks, PeriodsOfIndices) {
  using Body = std::function<Expr(const te::Tensor&, const te::Tensor&, const Exprs&)>;
  struct Case {
    const char* name;
    int64_t rows, row;
    Body body;
    size_t axes;
    std::string loop;  // the one around the written-out vectors
  };
  using scalar::floordiv, scalar::floormod, scalar::select;
  const Expr zero = scalar::fimm(0);
  const std::vector<Case> cases{
      {"a number for each row", 90, 3, [](auto& x, auto& s, auto& i) { return (*x)(i) * (*s)({i[0]}); }, 1, "i0_i1/48"},
      {"rows backwards", 90, 3, [](auto& x, auto&, auto& i) { return (*x)({imm(89) - i[0], i[1]}); }, 1, "i0_i1/48"},
      {"elements backwards", 64, 5, [](auto& x, auto&, auto& i) { return (*x)({i[0], imm(4) - i[1]}); }, 1, "i0_i1/80"},
      {"a diagonal", 32, 5,
       [&](auto& x, auto& s, auto& i) {
         return select(scalar::eq(floormod(i[0], imm(4)), i[1]), (*s)({floormod(i[0], imm(4)) + i[1]}), (*x)(i));
       },
       1, "i0_i1/80"},
      {"every third of a long row", 4, 1000,
       [&](auto& x, auto&, auto& i) {
         return select(scalar::eq(floormod(i[1], imm(3)), imm(0)), (*x)({i[0], floordiv(i[1], imm(3))}), zero);
       },
       2, "i1/48"},
      {"copies of rows", 90, 3,
       [](auto& x, auto& s, auto& i) { return (*x)({floormod(i[0], imm(45)), i[1]}) + (*s)({i[1]}); }, 2,
       "i0_part_i1/48"},
      {"a quotient that nothing knows", 90, 3,
       [](auto& x, auto& s, auto& i) {
         return (*x)({floordiv(i[0], imm(2)), floormod(scalar::cast(DType::int64(), (*s)({i[0]})) + 2 + i[1], imm(3))});
       },
       2, ""},
      {"more vectors than are written out", 90, 50, [](auto& x, auto& s, auto& i) { return (*x)(i) * (*s)({i[1]}); }, 2,
       ""},
      {"squares", 50, 7, [](auto& x, auto&, auto& i) { return (*x)({i[1], i[0]}); }, 2, ""}};
  const TargetDesc target = vectors(64, 32, 1);
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    te::Tensor x = te::placeholder("x", {imm(90), imm(1000)}, f32), s = te::placeholder("s", {imm(100)}, f32);
    if (c.axes == 1) x = te::placeholder("x", {imm(c.rows), imm(c.row)}, f32);
    ScheduleDraft draft;
    draft.target = &target;
    draft.set_outputs({te::compute("y", {imm(c.rows), imm(c.row)}, [&](const Exprs& i) { return c.body(x, s, i); })});
    ScheduleDraft plain = draft;
    apply_rules(draft);
    const std::string schedule = str(draft.schedule, draft.stages());
    EXPECT_EQ(draft.outputs()[0]->axes.size(), c.axes) << schedule;
    EXPECT_NE(schedule.find(c.loop), std::string::npos) << schedule;
    schedule_plainly(plain);
    EXPECT_EQ(results(draft)["y"], results(plain)["y"]);
  }
}

// Sums over short rows are computed one per lane; for long rows the lanes are along the row.
TEST(Window, ShortRowsAreSummedSideBySide) {
  const TargetDesc target = vectors(64, 32, 1);
  for (const auto& [terms, near] : {std::pair(4, true), std::pair(40, false)}) {
    te::Tensor x = te::placeholder("x", {imm(6), imm(37), imm(terms)}, f32);
    ScheduleDraft draft;
    draft.target = &target;
    draft.set_outputs({te::reduce("sum", {imm(37)}, {imm(6), imm(terms)}, te::Combiner::Sum,
                                  [&](const Exprs& i, const Exprs& k) { return (*x)({k[0], i[0], k[1]}); })});
    apply_rules(draft);
    EXPECT_EQ(draft.schedule.rule.find("window") != std::string::npos, near) << draft.schedule.rule;
    std::map<std::string, std::vector<float>> arrays = results(draft);
    for (int64_t i = 0; i < 37; ++i) {
      float sum = 0;
      for (int64_t k = 0; k < 6; ++k)
        for (int64_t t = 0; t < terms; ++t) sum += arrays["x"][(k * 37 + i) * terms + t];
      EXPECT_EQ(arrays[draft.outputs()[0]->name][i], sum);
    }
  }
}

// A sum over whole images that are stored channels-last is added in parts; one over a small window is not.
TEST(Window, SumsOfWholeImagesAreAddedInParts) {
  const TargetDesc target = vectors(32, 16, 2);
  for (const auto& [side, parts] : {std::pair(4, false), std::pair(48, true)}) {
    te::Tensor x = te::placeholder("x", {imm(side), imm(side), imm(64)}, f32);
    ScheduleDraft draft;
    draft.target = &target;
    draft.set_outputs({te::reduce("sum", {imm(64)}, {imm(side), imm(side)}, te::Combiner::Sum,
                                  [&](const Exprs& i, const Exprs& k) { return (*x)({k[0], k[1], i[0]}); })});
    apply_rules(draft);
    EXPECT_NE(draft.schedule.rule.find("window"), std::string::npos) << draft.schedule.rule;
    EXPECT_EQ(draft.parts.count("sum"), parts ? 1u : 0u);
    std::map<std::string, std::vector<float>> arrays = results(draft);
    for (int64_t c = 0; c < 64; ++c) {
      float sum = 0;
      for (int64_t p = 0; p < side * side; ++p) sum += arrays["x"][p * 64 + c];
      EXPECT_EQ(arrays[draft.outputs()[0]->name][c], sum);
    }
  }
}

// Arrays in the same order become one row, whatever their shapes; other stages keep their axes.
TEST(JoinRows, OrderOfElements) {
  const TargetDesc target = vectors(64, 32, 1);
  const Expr n = scalar::var("n"), m = scalar::var("m"), k = scalar::var("k");
  const te::Tensor x = te::placeholder("x", {imm(6), imm(7)}, f32), y = te::placeholder("y", {n, m}, f32);
  auto axes_of = [&](const te::Tensors& outputs) {
    ScheduleDraft draft;
    draft.target = &target, draft.set_outputs(outputs);
    apply_rules(draft);
    return draft.outputs()[0]->axes.size();
  };
  const te::Tensor reshaped = te::compute("reshaped", {n, m, k}, [&](const Exprs& i) {
    const Expr place = (i[0] * m + i[1]) * k + i[2];
    return (*x)({scalar::floordiv(place, imm(7)), scalar::floormod(place, imm(7))});
  });
  EXPECT_EQ(axes_of({reshaped}), 1);
  const te::Tensor twice = te::compute("twice", y->shape, [&](const Exprs& i) { return (*y)(i) + (*y)(i); });
  EXPECT_EQ(axes_of({te::compute("after", y->shape, [&](const Exprs& i) { return (*twice)(i) * (*y)(i); })}), 1);
  EXPECT_EQ(axes_of({twice, te::compute("other", {m}, [&](const Exprs& i) { return (*y)({imm(0), i[0]}); })}), 2);

  auto is_kept = [&](const Exprs& shape, const std::function<Expr(const Exprs&)>& body) {
    return axes_of({te::compute("out", shape, body)}) == 2;
  };
  EXPECT_TRUE(is_kept({m, n}, [&](const Exprs& i) { return (*y)({i[1], i[0]}); }));
  EXPECT_TRUE(is_kept({n, k}, [&](const Exprs& i) { return (*y)(i); })) << "the front of each row";
  EXPECT_TRUE(is_kept({n, m}, [&](const Exprs& i) { return (*y)(i) + (*y)({imm(0), i[1]}); })) << "one row for all";
  EXPECT_TRUE(is_kept({n, m}, [&](const Exprs& i) { return (*y)(i)*scalar::cast(f32, i[1]); })) << "its place";
  EXPECT_TRUE(is_kept({n, m}, [&](const Exprs& i) { return (*y)(i) - (*y)({imm(0), imm(0)}); })) << "one for all";
}

// A copy for one kernel leaves the schedules of others unchanged: `y` reads x in place, squares transposed.
TEST(Elementwise, CopiesForOneKernelOnly) {
  const int64_t channels = 19, height = 3, width = 21;
  const Exprs shape{imm(1), imm(channels), imm(height), imm(width)};
  te::Tensor x = te::placeholder("x", shape, f32), z = te::placeholder("z", shape, f32);
  te::Tensor y = te::compute("y", shape, [&](const Exprs& i) { return (*x)(i) + (*x)(i); });
  te::Tensor sum = te::compute("sum", shape, [&](const Exprs& i) { return (*x)(i) + (*z)(i); });
  const TargetDesc target = vectors(64, 32, 1);
  ScheduleDraft draft;
  draft.target = &target, draft.set_outputs({y, sum}), draft.is_step = true;
  for (const char* name : {"y", "z", "sum"}) draft.layouts[name] = Layout::channels_last(4);
  apply_rules(draft);
  const std::string schedule = str(draft.schedule, draft.stages());
  EXPECT_NE(schedule.find("stage x_transposed: root"), std::string::npos) << schedule;
  EXPECT_TRUE(te::inputs(draft.stage("y_tile")).at(0)->is_placeholder()) << schedule;
  std::map<std::string, std::vector<float>> arrays = results(draft);
  for (int64_t c = 0; c < channels; ++c)
    for (int64_t p = 0; p < height * width; ++p) {
      const float value = arrays["x"][c * height * width + p];
      ASSERT_EQ(arrays["y"][p * channels + c], 2 * value) << c << ", " << p;
      ASSERT_EQ(arrays["sum"][p * channels + c], value + arrays["z"][p * channels + c]) << c << ", " << p;
    }
}

}  // namespace
}  // namespace relay::lower
