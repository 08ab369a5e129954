#include "relay/driver/recording.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "relay/base/test_golden.h"
#include "relay/driver/compilation_json.h"
#include "relay/driver/targets.h"
#include "relay/ir/rewrite.h"
#include "relay/text/text.h"
#include "relay/typing/typing.h"

namespace relay::driver {
namespace {

// A module made of the differences of a recording.
struct Replayed {
  std::map<int, Row> rows;
  std::map<std::string, int> functions;
  void apply(const Step& step) {
    for (int number : step.removed) EXPECT_EQ(rows.erase(number), 1u) << step.pass << " removes what is not there";
    for (size_t i = 0; i < step.added.size(); ++i) rows[step.first + static_cast<int>(i)] = step.added[i];
    for (const auto& [number, row] : step.changed) {
      EXPECT_TRUE(rows.contains(number)) << step.pass << " changes what is not there";
      EXPECT_FALSE(rows[number] == row) << step.pass << " lists row " << number << ", which it did not change";
      rows[number] = row;
    }
    for (const std::string& name : step.gone_functions) functions.erase(name);
    for (const auto& [name, row] : step.functions) functions[name] = row;
  }
};

std::string told(const Recording& recording, const Row& row) {
  auto label = [&](int number) { return number < 0 ? "" : recording.labels()[static_cast<size_t>(number)]; };
  return format("{} {} {} {}", row.kind, label(row.label), label(row.attrs),
                row.type < 0 ? "" : recording.types()[static_cast<size_t>(row.type)].text);
}

// Compares the replayed rows with those of a recording of the module alone.
void expect_same(const Recording& recording, const Replayed& replayed, const ir::Module& module,
                 const std::string& pass) {
  const Recording alone(module);
  ASSERT_EQ(replayed.rows.size(), alone.steps()[0].added.size()) << pass;
  const std::map<std::string, int>& functions = alone.steps()[0].functions;
  ASSERT_EQ(replayed.functions.size(), functions.size()) << pass;
  std::map<int, int> of;  // replayed, by number in the other
  std::vector<std::pair<int, int>> work;
  for (const auto& [name, row] : functions) work.emplace_back(row, replayed.functions.at(name));
  while (!work.empty()) {
    const auto [a, b] = work.back();
    work.pop_back();
    const auto [place, added] = of.emplace(a, b);
    EXPECT_EQ(place->second, b) << pass << ": a shared node is two rows";
    if (!added) continue;
    const Row &x = alone.steps()[0].added[static_cast<size_t>(a)], &y = replayed.rows.at(b);
    EXPECT_EQ(told(alone, x), told(recording, y)) << pass;
    ASSERT_EQ(x.args.size(), y.args.size()) << pass;
    ASSERT_EQ(x.owner < 0, y.owner < 0) << pass;
    if (x.owner >= 0) work.emplace_back(x.owner, y.owner);
    for (size_t i = 0; i < x.args.size(); ++i) {
      if (x.args[i] < 0)
        EXPECT_EQ(x.args[i], y.args[i]);
      else
        work.emplace_back(x.args[i], y.args[i]);
    }
  }
}

struct Recorded {
  Recording recording;
  std::vector<std::pair<std::string, ir::Module>> modules;
  Compiled compiled;
};

Recorded record(const ir::Module& module, const char* target = "haswell") {
  Recorded out;
  Options options;
  options.lower.target = *find_target(target);
  options.run.threads = 1, options.run.make_executable = false;
  options.passes.trace = [&](const transform::PassTrace& trace) {
    if (out.modules.empty()) out.modules.emplace_back("input", trace.before);
    out.modules.emplace_back(trace.pass.name, trace.after);
    out.recording.see(trace);
  };
  Result<Compiled> compiled = compile(module, options);
  EXPECT_TRUE(compiled) << render(compiled.errors());
  out.compiled = *std::move(compiled);
  return out;
}

ir::Module example(const char* name) {
  Result<ir::Module> module = text::load(format("{}/examples/{}", RELAY_SOURCE_DIR, name));
  EXPECT_TRUE(module) << render(module.errors());
  return *module;
}

ir::Module parsed(const char* text) {
  Result<ir::Module> module = text::parse(std::string("#[version = \"0.0.5\"]\n") + text);
  EXPECT_TRUE(module) << render(module.errors());
  return *module;
}

TEST(Recording, DifferencesMakeEachModule) {
  for (const char* name : {"tour/dense.relay", "tour/residual.relay", "tree_lstm.relay", "char_rnn.relay",
                           "interpreter.relay", "state.relay", "rnn_cells.relay"}) {
    const Recorded recorded = record(example(name));
    Replayed replayed;
    ASSERT_EQ(recorded.recording.steps().size(), recorded.modules.size());
    for (size_t i = 0; i < recorded.modules.size(); ++i) {
      const Step& step = recorded.recording.steps()[i];
      EXPECT_EQ(step.pass, recorded.modules[i].first);
      replayed.apply(step);
      expect_same(recorded.recording, replayed, recorded.modules[i].second, format("{}: {}", name, step.pass));
    }
  }
}

// The number of the row with a label after a step; -1 if none or several have it.
int row_with(const Recording& recording, size_t steps, const std::string& label) {
  Replayed replayed;
  for (size_t i = 0; i < steps; ++i) replayed.apply(recording.steps()[i]);
  int found = -1;
  for (const auto& [number, row] : replayed.rows)
    if (recording.labels()[static_cast<size_t>(row.label)] == label) {
      if (found >= 0) return -1;
      found = number;
    }
  return found;
}

TEST(Recording, KeepsTheRowsOfOperationsThatStay) {
  const Recorded recorded = record(example("tour/dense.relay"));
  const size_t last = recorded.recording.steps().size();
  for (const char* label : {"nn.dense", "nn.relu"}) {
    const int row = row_with(recorded.recording, 1, label);
    EXPECT_GE(row, 0);
    EXPECT_EQ(row_with(recorded.recording, last, label), row) << label;
  }
}

TEST(Recording, TellsRemovedFromRewired) {
  const Recorded recorded = record(parsed(
      "def @main(%x: Tensor[(2, 4), float32]) { nn.relu(reshape(reshape(tanh(%x), newshape=[8]), newshape=[2, 4])) }"));
  const int relu = row_with(recorded.recording, 1, "nn.relu");
  bool is_removed = false, is_rewired = false;
  for (const Step& step : recorded.recording.steps()) {
    if (step.pass != "simplify_expr") continue;
    EXPECT_FALSE(step.applied.empty());
    EXPECT_FALSE(step.removed.empty());
    is_removed = true;
    for (const auto& [number, row] : step.changed) is_rewired |= number == relu;
    EXPECT_TRUE(step.added.empty());
  }
  EXPECT_TRUE(is_removed && is_rewired);
}

// The value of a batch norm is read by the same rows after it has become arithmetic.
TEST(Recording, TheLastOfItsReplacementsTakesTheRow) {
  const Recorded recorded =
      record(parsed("def @main(%x: Tensor[(1, 2, 4, 4), float32], %a: Tensor[(2), float32]) { "
                    "nn.relu(nn.batch_norm(nn.max_pool2d(%x), %a, %a, %a, %a).0) }"));
  const int norm = row_with(recorded.recording, 1, "nn.batch_norm"), relu = row_with(recorded.recording, 1, "nn.relu");
  ASSERT_GE(norm, 0);
  bool is_seen = false;
  for (const Step& step : recorded.recording.steps()) {
    if (step.pass != "simplify_inference") continue;
    for (const auto& [number, row] : step.changed) {
      if (number == norm) EXPECT_EQ(recorded.recording.labels()[static_cast<size_t>(row.label)], "add");
      if (number == relu) EXPECT_EQ(row.args, std::vector<int>{norm});
      is_seen |= number == norm;
    }
  }
  EXPECT_TRUE(is_seen);
}

TEST(Recording, NamesAreEscapedAndCut) {
  ir::VarRef x =
      ir::var("a\xE2\x80\xAE" + std::string(1 << 20, 'b') + "</script>", ir::tensor_type({2}, DType::float32()));
  ir::Module module;
  module.functions["main"] = ir::function({x}, x);
  const Recording recording(*typing::infer(module));
  for (const std::string& label : recording.labels()) {
    EXPECT_LE(label.size(), 4 * Texts::longest);
    EXPECT_EQ(label.find("\xE2\x80\xAE"), std::string::npos);
  }
}

TEST(CompilationJson, OfDenseIsAsRecorded) {
  const Recorded recorded = record(example("tour/dense.relay"));
  Result<CompilationJson> json = compilation_json(
      {.model = "dense.relay", .recording = recorded.recording, .compiled = recorded.compiled, .texts = false});
  ASSERT_TRUE(json) << render(json.errors());
  nlohmann::ordered_json object = nlohmann::ordered_json::parse(json->all());
  for (auto& step : object["steps"]) step["ms"] = 0;
  std::string text;
  for (const auto& [key, value] : object.items()) {
    text += key + ": ";
    if (!value.is_array() || !value.size() || !value[0].is_object())
      text += value.dump() + "\n";
    else
      for (const auto& one : value) text += "\n  " + one.dump();
    if (text.back() != '\n') text += "\n";
  }
  test::expect_golden(format("{}/src/relay/driver/golden/dense.compilation", RELAY_SOURCE_DIR), text);
}

TEST(CompilationJson, WeightsAreNotPartOfIt) {
  ir::Module module =
      parsed("def @main(%x: Tensor[(2, 64), float32], %w: Tensor[(64, 64), float32]) { nn.dense(%x, %w) }");
  const Tensor weight = Tensor::full({64, 64}, DType::float32(), 1234.5678);
  const ir::FunctionRef main = module.functions["main"];
  const ir::Expr body = ir::substitute(main->body, {{main->params[1].get(), ir::constant(weight)}});
  module.functions["main"] = ir::function({main->params[0]}, body);
  const Recorded recorded = record(module);
  Result<CompilationJson> json = compilation_json(
      {.model = "weights", .recording = recorded.recording, .compiled = recorded.compiled, .texts = true});
  ASSERT_TRUE(json) << render(json.errors());
  EXPECT_EQ(json->all().find("1234.5"), std::string::npos);
  EXPECT_LT(json->graph.size(), 20000u);
}

}  // namespace
}  // namespace relay::driver
