// Runs the texts of testdata/: a line `# pass: a b`, options `# option: fuse_ops.max_group=2`, a program, a line `#
// ---- expect`, and the module that the passes must print. RELAY_BLESS=1 rewrites the expected module. The results of
// @main must be the same before and after; `# not run: why` is for a program that cannot be run on any arguments. For
// passes for other compilers: `# composite: NAME = fn (%x) { nn.relu(%x) }`, a pattern whose parameters match anything,
// and `# compiler: NAME takes OPERATOR ...`.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "relay/ir/rewrite.h"
#include "relay/text/text.h"
#include "relay/transform/pass.h"
#include "relay/transform/test_values.h"
#include "relay/typing/typing.h"

namespace relay::transform {
namespace {

constexpr std::string_view separator = "# ---- expect\n";

// Calls, tuples, projections and constants of a function's body; its parameters are wildcards.
pattern::Pattern pattern_of(const std::string& text) {
  Result<ir::Expr> parsed = text::parse_expr(std::make_shared<const Source>(Source{"pattern", text}));
  RELAY_CHECK(parsed, "{}", render(parsed.errors()));
  std::unordered_map<const ir::ExprNode*, pattern::Pattern> made;
  ir::visit(ir::as<ir::Function>(*parsed)->body, [&](const ir::Expr& e) {
    pattern::Patterns parts;
    ir::for_each_child(e, [&](const ir::Expr& child) { parts.push_back(made.at(child.get())); });
    switch (e->kind) {
      case ir::ExprKind::Var: made[e.get()] = pattern::wildcard(); break;
      case ir::ExprKind::Call: made[e.get()] = pattern::call(parts[0], {parts.begin() + 1, parts.end()}); break;
      case ir::ExprKind::Tuple: made[e.get()] = pattern::tuple(parts); break;
      case ir::ExprKind::TupleGetItem:
        made[e.get()] = pattern::get(parts[0], ir::as<ir::TupleGetItem>(e)->index);
        break;
      default: made[e.get()] = pattern::expr(e);
    }
  });
  return made.at(ir::as<ir::Function>(*parsed)->body.get());
}

// Parses lines about other compilers; returns false for other lines.
bool read_partitioning(std::string_view line, Partitioning* out) {
  if (starts_with(line, "# composite: ")) {
    size_t equals = line.find(" = ");
    out->composites.push_back(
        {std::string(line.substr(13, equals - 13)), pattern_of(std::string(line.substr(equals + 3))), nullptr});
    return true;
  }
  if (!starts_with(line, "# compiler: ")) return false;
  size_t takes = line.find(" takes");
  std::vector<std::string> names;
  for (std::string_view name : split(trim(line.substr(takes + 6)), ' ')) names.push_back(std::string(name));
  out->compilers.push_back({std::string(line.substr(12, takes - 12)), [names](const ir::Call& call) {
                              return std::find(names.begin(), names.end(), ir::as<ir::Op>(call.callee)->name) !=
                                     names.end();
                            }});
  return true;
}

struct PassText {
  std::string program, expected;  // with its comments; the expected output
  std::string text;               // without
  std::vector<std::string> passes;
  bool runs = true;
  PassContext context;
};

PassText read_text(const std::string& path) {
  PassText out;
  std::ifstream in(path);
  std::string file = (std::stringstream() << in.rdbuf()).str();
  size_t cut = file.find(separator);
  EXPECT_NE(cut, std::string::npos) << path << ": no line '# ---- expect'";
  if (cut == std::string::npos) return out;
  out.program = file.substr(0, cut), out.expected = file.substr(cut + separator.size());
  out.context.verify = true;
  for (std::string_view line : split(out.program, '\n')) {
    if (starts_with(line, "# pass:")) {
      for (std::string_view name : split(trim(line.substr(7)), ' ')) out.passes.push_back(std::string(name));
    } else if (starts_with(line, "# option:")) {
      std::string name(trim(line.substr(9, line.find('=') - 9))), value(line.substr(line.find('=') + 1));
      const bool is_text = starts_with(value, "\"");  // "..." or a count
      out.context.options[name] = is_text ? ir::AttrValue(value.substr(1, value.size() - 2))
                                          : ir::AttrValue(static_cast<int64_t>(std::atoll(value.c_str())));
    } else if (starts_with(line, "# not run: ")) {
      out.runs = false;
    } else if (read_partitioning(line, &out.context.partitioning)) {
      continue;
    } else if (!starts_with(line, "# ")) {
      out.text += std::string(line) + "\n";
    }
  }
  EXPECT_FALSE(out.passes.empty()) << path << ": no line '# pass: ...'";
  return out;
}

// Passes that rewrite node by node report their rewrites.
void expect_rules(const PassTrace& trace) {
  static const std::set<std::string> passes = {"backward_fold_scale_axis",
                                               "canonicalize_ops",
                                               "combine_added_matmul",
                                               "combine_parallel_batch_matmul",
                                               "combine_parallel_conv2d",
                                               "combine_parallel_dense",
                                               "common_subexpr",
                                               "div_to_mul",
                                               "dynamic_to_static",
                                               "expand_composites",
                                               "fast_math",
                                               "flatten_atrous_conv",
                                               "fold_constant",
                                               "fold_explicit_padding",
                                               "fold_scale_axis",
                                               "forward_fold_scale_axis",
                                               "legalize",
                                               "limit_width",
                                               "recognise_norms",
                                               "remove_dense_reshapes",
                                               "simplify_expr",
                                               "simplify_inference",
                                               "training_forms",
                                               "transposed_to_conv2d"};
  if (!passes.contains(trace.pass.name) || ir::equal(trace.before, trace.after)) return;
  EXPECT_FALSE(trace.applied.empty()) << trace.pass.name << " does not say what it did";
}

void run_text(const std::string& path) {
  SCOPED_TRACE(path);
  auto [program, expected, text, passes, runs, context] = read_text(path);
  Result<ir::Module> module = text::parse(text);
  ASSERT_TRUE(module) << render(module.errors());
  context.trace = expect_rules;
  Result<ir::Module> result = run_passes(*module, passes, context);
  ASSERT_TRUE(result) << render(result.errors());
  Result<ir::Module> typed = typing::infer(*module);
  ASSERT_TRUE(typed) << render(typed.errors());
  if (runs) EXPECT_EQ(difference(*typed, *result), "") << "@main computes something else";
  std::string printed = text::str(*result);
  if (std::getenv("RELAY_BLESS")) {
    std::ofstream(path) << program << separator << printed;
    return;
  }
  EXPECT_EQ(printed, expected);
  Result<ir::Module> again = text::parse(printed);
  ASSERT_TRUE(again) << render(again.errors());
  EXPECT_TRUE(ir::equal(*again, *result));
}

std::vector<std::string> files() {
  std::vector<std::string> result;
  for (const std::filesystem::directory_entry& entry :
       std::filesystem::directory_iterator("src/relay/transform/testdata"))
    if (entry.path().extension() == ".relay") result.push_back(entry.path().string());
  std::sort(result.begin(), result.end());
  return result;
}

TEST(Golden, before_and_after) {
  for (const std::string& path : files()) run_text(path);
}

// Every pass has a text in which it changes the program, and one that it must leave unchanged.
TEST(Golden, every_pass_has_both_kinds_of_text) {
  std::set<std::string> changed, left;
  for (const std::string& path : files()) {
    PassText read = read_text(path);
    Result<ir::Module> module = text::parse(read.text);
    ASSERT_TRUE(module) << path;
    read.context.trace = [&](const PassTrace& t) {
      const bool same = ir::equal(t.before, t.after);
      (same ? left : changed).insert(t.pass.name);
      if (read.passes.size() == 1 && path.ends_with("_stays.relay"))
        EXPECT_TRUE(same) << path << " does not stay:\n" << text::str(t.after);
    };
    ASSERT_TRUE(run_passes(*module, read.passes, read.context)) << path;
  }
  // The result of these is a different program by definition, and they refuse programs that they cannot handle; types
  // are not a change.
  const std::set<std::string> always_change = {"gradient", "to_cps"}, never_change = {"infer_type"};
  for (const PassInfo& pass : all_passes()) {
    EXPECT_TRUE(std::filesystem::exists(format("src/relay/transform/testdata/{}.relay", pass.name))) << pass.name;
    EXPECT_TRUE(changed.count(pass.name) || never_change.count(pass.name))
        << "no text that " << pass.name << " changes";
    EXPECT_TRUE(left.count(pass.name) || always_change.count(pass.name)) << "no text that " << pass.name << " leaves";
  }
}

}  // namespace
}  // namespace relay::transform
