// A complete importer of a made-up format, as docs/add-an-importer.md explains it, with the features of every importer.
//
// The format has one line per node: its result, "=", its operator, inputs that are names, attributes that are
// key=value.
#include <gtest/gtest.h>

#include "relay/frontend/common/conversion.h"
#include "relay/ir/expr.h"

namespace relay::frontend {
namespace {

// --- 1. the file, as written -----------------------------------------------------------------------------------------
struct Line {
  std::vector<std::string_view> results, inputs, attributes;  // one result
  std::string_view op;
  std::map<std::string_view, std::string_view> values;  // of the attributes
};

Line read_line(std::string_view text) {
  Line line;
  for (std::string_view word : split(text, ' ')) {
    size_t equals = word.find('=');
    if (line.results.empty())
      line.results.push_back(word);
    else if (word == "=")
      continue;
    else if (line.op.empty())
      line.op = word;
    else if (equals == std::string_view::npos)
      line.inputs.push_back(word);
    else
      line.attributes.push_back(word.substr(0, equals)), line.values[word.substr(0, equals)] = word.substr(equals + 1);
  }
  return line;
}

// --- 2. the interface of converters ----------------------------------------------------------------------------------
class LineConversion final : public Conversion {
 public:
  LineConversion(ImportState& import, const Span& place, const Values& inputs, const Line& line)
      : Conversion(import, place, inputs, line.inputs), line_(line) {}

 private:
  std::optional<AttributeView> attribute(std::string_view name) const override {
    auto found = line_.values.find(name);
    if (found == line_.values.end()) return std::nullopt;
    if (found->second.find('.') == std::string_view::npos)
      return AttributeView{"int", std::stoll(std::string(found->second))};
    return AttributeView{"float", std::stod(std::string(found->second))};
  }
  const Line& line_;
};

// --- 3. the converters, and their list -------------------------------------------------------------------------------
Values leaky(LineConversion& c) { return {c.emit("nn.leaky_relu", {c.input(0)}, {{"alpha", c.real("slope", 0.01)}})}; }
Values add(LineConversion& c) { return {c.add(c.input(0), c.input(1))}; }
Values rows(LineConversion& c) { return {known_ints({c.shape(c.input(0))[0], scalar::imm(-1)})}; }

// The data in the shape of its second input, which must be known at import; -1 takes the remaining elements.
Values reshape(LineConversion& c) {
  ir::Expr x = c.input(0);
  std::optional<ir::Dims> shape = c.dims(1, "the new shape");
  if (!shape) return {};
  if (shape->size() != 2 || c.rank(x) != 3) return c.unsupported("only three axes become two");
  return {c.reshape(x, {(*shape)[0], c.shape(x)[1] * c.shape(x)[2]})};
}

struct LineOperator {
  size_t min_inputs;
  std::vector<std::string> attributes;
  Values (*convert)(LineConversion&);
};
const std::map<std::string_view, LineOperator> operators = {
    {"add", {2, {}, add}}, {"leaky", {1, {"slope"}, leaky}}, {"reshape", {2, {}, reshape}}, {"rows", {1, {}, rows}}};

// --- 4. the importer -------------------------------------------------------------------------------------------------
// The last line is the output. `path` is for messages.
Result<ImportedModel> import_lines(const std::string& path, const std::vector<TensorInfo>& inputs,
                                   std::string_view text, const ImportOptions& options = {}) {
  std::vector<Line> lines;
  for (std::string_view line : split(text, '\n')) lines.push_back(read_line(line));
  ImportState import(path, options);
  auto place_of = [&](const Line& line) { return import.span(format("{} '{}'", line.op, line.results[0])); };
  OperatorUses uses;
  for (const Line& line : lines)
    uses.add("", line.op, 0, operators.count(line.op) != 0, [&] { return place_of(line); });
  import.report_missing(uses, "",
                        [](std::string_view, std::string_view, Diagnostic& d) { d.help = "add a converter"; });
  import.add_inputs(inputs);
  for (const Line& line : lines) {
    const Span place = place_of(line);
    auto convert = [&]() -> Values {
      auto op = operators.find(line.op);
      if (op == operators.end()) return {};  // reported with all the others
      std::optional<Values> inputs = import.operands(line.inputs, [&](std::string_view name) {
        import.report({DiagnosticKind::bad_model, format("'{}' is defined by no line before", name), place});
      });
      if (!inputs || !import.expect_inputs(*inputs, op->second.min_inputs, place)) return {};
      if (!import.check_attributes(line.op, line.attributes, op->second.attributes, place)) return {};
      LineConversion c(import, place, *inputs, line);
      return c.finish(op->second.convert(c), line.results);
    };
    import.define_results(line.results, convert(), place);
  }
  const Span place = import.span("the text");
  std::optional<Values> outputs = import.outputs(lines.back().results, place);
  std::optional<ImportedModel> model =
      outputs ? import.finish(lines.back().results, *outputs, {}, place) : std::nullopt;
  if (!model) return import.problems();
  return *std::move(model);
}

// --- features of every importer --------------------------------------------------------------------------------------

// x: (n, 4, 2)
std::vector<TensorInfo> one_input() {
  return {{.name = "x",
           .dtype = DType::float32(),
           .element = "float32",
           .shape = {{DimInfo{std::nullopt, "n"}, DimInfo{4, ""}, DimInfo{2, ""}}}}};
}

std::string type_of(const Result<ImportedModel>& m) {
  return m ? ir::str(m->module.functions.at("main")->type) : render(m.errors());
}

TEST(Lines, ImportsTypedModules) {
  Result<ImportedModel> m = import_lines("net.lines", one_input(), "a = leaky x slope=0.5\ny = add a x");
  EXPECT_EQ(type_of(m), "fn (Tensor[(n, 4, 2), float32]) -> Tensor[(n, 4, 2), float32]");
  EXPECT_EQ(m->input_names, std::vector<std::string>{"x"});
  EXPECT_EQ(m->output_names, std::vector<std::string>{"y"});
  EXPECT_EQ(*m->module.functions.at("main")->body->span.node, "add 'y'");
}

TEST(Lines, SizesAreKnownAtImport) {
  std::string_view text = "s = rows x\ny = reshape x s";
  EXPECT_EQ(type_of(import_lines("net.lines", one_input(), text)),
            "fn (Tensor[(n, 4, 2), float32]) -> Tensor[(n, 8), float32]");
  EXPECT_EQ(type_of(import_lines("net.lines", one_input(), text, {.shapes = {{"x", {3, -1, -1}}}, .dims = {}})),
            "fn (Tensor[(3, 4, 2), float32]) -> Tensor[(3, 8), float32]");
  EXPECT_EQ(type_of(import_lines("net.lines", one_input(), text, {.shapes = {}, .dims = {{"n", 7}}})),
            "fn (Tensor[(7, 4, 2), float32]) -> Tensor[(7, 8), float32]");
  // Used as data, they are computed at run time.
  EXPECT_EQ(type_of(import_lines("net.lines", one_input(), "s = rows x")),
            "fn (Tensor[(n, 4, 2), float32]) -> Tensor[(2), int64]");
}

TEST(Lines, AllProblemsAtOnce) {
  Result<ImportedModel> m = import_lines("net.lines", one_input(),
                                         "a = swirl x\nb = swirl a\nc = leaky x slop=0.5\nd = leaky x slope=1\n"
                                         "e = add x\nf = add x z\ng = add f f");
  ASSERT_FALSE(m);
  std::vector<std::string> said;
  for (const Diagnostic& d : m.errors())
    said.push_back(format("{} {}: {} ({})", info(d.kind).code, d.span.node ? *d.span.node : "", d.message, d.help));
  EXPECT_EQ(
      said,
      (std::vector<std::string>{
          "R0403 swirl 'a': operator swirl cannot be imported; the model uses it 2 times (add a converter)",
          "R0404 leaky 'c': leaky 'c': leaky has no attribute 'slop' (did you mean 'slope'?)",
          "R0404 leaky 'd': leaky 'd': attribute slope should be a float, but is of kind int (export the model again: "
          "this node contradicts the definition of its operator)",
          "R0404 add 'e': add 'e' needs 2 inputs, but input 1 is missing "
          "(the model is incomplete: export it again)",
          "R0404 add 'f': 'z' is defined by no line before ()"}));
}

TEST(Lines, WhatIsGivenMustFit) {
  for (const auto& [options, message] : std::vector<std::pair<ImportOptions, std::string>>{
           {{{{"y", {1}}}, {}}, "a shape is given for 'y', but the model has no such input"},
           {{{{"x", {1}}}, {}}, "input 'x' has 3 axes, but the shape given for it, [1], has 1"},
           {{{{"x", {5, 4, 2}}}, {{"n", 6}}}, "dimension 'n' is 6 elsewhere, but 5 for input 'x'"},
           {{{{"x", {-2, 4, 2}}}, {}}, "the shape given for input 'x', [-2, 4, 2], has a negative size"}}) {
    Result<ImportedModel> m = import_lines("net.lines", one_input(), "y = leaky x", options);
    ASSERT_FALSE(m);
    ASSERT_EQ(m.errors().size(), 1u) << render(m.errors());
    EXPECT_EQ(m.errors()[0].kind, DiagnosticKind::bad_option);
    EXPECT_EQ(m.errors()[0].message, message);
  }
}

TEST(Lines, TypesAreCheckedWhereTheyAreMade) {
  std::vector<TensorInfo> two = one_input();
  two.push_back({.name = "w", .dtype = DType::float32(), .element = "float32", .shape = {{DimInfo{3, ""}}}});
  Result<ImportedModel> m = import_lines("net.lines", two, "a = add x w\ny = leaky a");
  ASSERT_FALSE(m);
  ASSERT_EQ(m.errors().size(), 1u) << render(m.errors());
  EXPECT_EQ(m.errors()[0].kind, DiagnosticKind::constraint);
  EXPECT_EQ(m.errors()[0].notes.back(), "inputs: Tensor[(n, 4, 2), float32], Tensor[(3), float32]");
}

// --- helpers of Conversion -------------------------------------------------------------------------------------------

struct Helpers : ::testing::Test {
  ImportOptions options;
  ImportState import{"net.lines", options};
  Line line;
  Values inputs;
  LineConversion c{import, import.span("node"), inputs, line};
  ir::Expr x = c.constant(Tensor::full({2, 3}, DType::float32(), 1));
};

TEST_F(Helpers, ChangeNothingWhereNothingChanges) {
  EXPECT_EQ(c.cast(x, DType::float32()), x);
  EXPECT_EQ(c.reshape(x, c.shape(x)), x);
  EXPECT_EQ(c.transpose(x, {0, 1}), x);
  EXPECT_EQ(c.broadcast_to(x, c.shape(x)), x);
  EXPECT_EQ(c.multiply(x, 1.0), x);
  EXPECT_EQ(c.add(x, 0.0), x);
  ir::Expr zero = c.scalar(0, DType::float32());
  EXPECT_EQ(c.pad(x, {{0, 0}, {0, 0}}, zero, "constant"), x);
}

TEST_F(Helpers, GiveTypes) {
  ir::Expr zero = c.scalar(0, DType::float32());
  EXPECT_EQ(ir::str(c.reduce("sum", x, {1}, true)->type), "Tensor[(2, 1), float32]");
  EXPECT_EQ(ir::str(c.reduce("max", x, {}, false)->type), "float32");
  EXPECT_EQ(ir::str(c.pad(x, {{1, 0}, {0, -2}}, zero, "constant")->type), "Tensor[(3, 1), float32]");
  EXPECT_EQ(ir::str(c.transpose(x, {1, 0})->type), "Tensor[(3, 2), float32]");
  EXPECT_EQ(c.axis(-1, 2), 1);
  EXPECT_FALSE(c.failed());
}

TEST_F(Helpers, FailOnceAndThenQuietly) {
  EXPECT_FALSE(c.pad(x, {{0, 0}, {-2, -2}}, c.scalar(0, DType::float32()), "constant"));
  EXPECT_TRUE(c.failed());
  EXPECT_FALSE(c.axis(2, 2));
  EXPECT_FALSE(c.emit("nn.relu", {nullptr}));
  ASSERT_EQ(import.problems().size(), 1u);
  EXPECT_EQ(import.problems()[0].message,
            "node: padding axis 1 by -2 and -2 cuts off more than all of Tensor[(2, 3), float32]");
  EXPECT_TRUE(c.finish({x}, {"y"}).empty());
}

TEST_F(Helpers, LimitWhatIsMade) {
  EXPECT_TRUE(c.may_make(options.limits.constants / 8, DType::float32()));
  EXPECT_FALSE(c.may_make(options.limits.constants / 4, DType::float32()));
  EXPECT_EQ(import.problems()[0].kind, DiagnosticKind::limit_exceeded);
}

TEST_F(Helpers, LimitHowManyCallsAreMade) {
  options.limits.calls = 3;
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(c.emit("nn.relu", {x}));
  EXPECT_FALSE(c.emit("nn.relu", {x}));
  EXPECT_FALSE(c.emit("nn.relu", {x}));
  ASSERT_EQ(import.problems().size(), 1u);
  EXPECT_EQ(import.problems()[0].kind, DiagnosticKind::limit_exceeded);
}

TEST_F(Helpers, NameWhatIsNotThere) {
  EXPECT_TRUE(c.finish({x}, {"y", "z"}).empty());
  EXPECT_EQ(import.problems()[0].message, "node: it has 2 outputs, but only 1 can be imported");
  EXPECT_FALSE(c.emit("nn.no_such", {x}));
}

}  // namespace
}  // namespace relay::frontend
