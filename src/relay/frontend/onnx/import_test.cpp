// Imports, and the messages of those that fail.
#include "relay/frontend/onnx/import.h"

#include <unistd.h>

#include "relay/frontend/onnx/test_model.h"
#include "relay/ir/import_notes.h"
#include "relay/ir/rewrite.h"

namespace relay::onnx {
namespace {

using namespace test;

const ir::Function& main_of(const ImportedModel& m) { return *m.module.functions.at("main"); }

TEST(OnnxImport, NamesAndDimensionsSurvive) {
  TestGraph g;
  g.input("ids", "batch,seq length:int64")
      .input("mask", "batch,seq length")
      .input("extra", "?,4")
      .output("the \"output\" 0")
      .output("two");
  g.weight("w", {4, 2}).input("w", "4,2");
  g.node("Cast", {"ids"}, {"c"}, {integer("to", 1)})
      .node("Mul", {"c", "mask"}, {"the \"output\" 0"})
      .node("MatMul", {"extra", "w"}, {"two"});
  TestFile file(g, 13);
  Result<ImportedModel> m = load(file.path);
  ASSERT_TRUE(m) << render(m.errors());
  EXPECT_EQ(m->input_names, (std::vector<std::string>{"ids", "mask", "extra"}));
  EXPECT_EQ(m->output_names, (std::vector<std::string>{"the \"output\" 0", "two"}));
  EXPECT_EQ(std::get<ir::Strings>(main_of(*m).attrs.at("output_names")), m->output_names);
  EXPECT_EQ(
      ir::str(main_of(*m).type),
      "fn (Tensor[(batch, seq_length), int64], Tensor[(batch, seq_length), float32], Tensor[(d2_0, 4), float32]) -> "
      "(Tensor[(batch, seq_length), float32], Tensor[(d2_0, 2), float32])");
  // Each node knows its origin.
  const ir::Tuple* outputs = ir::as<ir::Tuple>(main_of(*m).body);
  ASSERT_TRUE(outputs);
  EXPECT_EQ(*outputs->elements[0]->span.node, "Mul that computes 'the \"output\" 0'");
  ir::visit(main_of(*m).body,
            [](const ir::Expr& e) { EXPECT_TRUE(e->kind == ir::ExprKind::Op || e->type) << "untyped"; });
}

TEST(OnnxImport, ShapesCanBeGiven) {
  TestGraph g;
  g.input("a", "n,4").input("b", "n,4").node("Add", {"a", "b"}, {"y"}).output("y");
  TestFile file(g, 13);
  Result<ImportedModel> m = load(file.path, {.shapes = {{"b", {3, -1}}}, .dims = {}});
  ASSERT_TRUE(m) << render(m.errors());
  EXPECT_EQ(ir::str(main_of(*m).type),
            "fn (Tensor[(3, 4), float32], Tensor[(3, 4), float32]) -> Tensor[(3, 4), float32]");
  m = load(file.path, {.shapes = {}, .dims = {{"n", 7}}});
  ASSERT_TRUE(m) << render(m.errors());
  EXPECT_EQ(ir::str(main_of(*m).body->type), "Tensor[(7, 4), float32]");
  for (const ImportOptions& wrong : {ImportOptions{{{"bb", {3, 4}}}, {}}, ImportOptions{{{"b", {3}}}, {}},
                                     ImportOptions{{{"b", {5, 4}}}, {{"n", 3}}}}) {
    Result<ImportedModel> refused = load(file.path, wrong);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.errors()[0].kind, DiagnosticKind::bad_option) << render(refused.errors());
  }
  // A single name for two sizes is the exporter's mistake, unless the nodes require one size.
  m = load(file.path, {.shapes = {{"a", {3, 4}}, {"b", {1, 4}}}, .dims = {}});
  ASSERT_TRUE(m) << render(m.errors());
  ASSERT_EQ(m->warnings.size(), 1u);
  EXPECT_EQ(m->warnings[0].message, "dimension 'n' is 3 elsewhere, but 1 for input 'b'");
  Result<ImportedModel> refused = load(file.path, {.shapes = {{"a", {3, 4}}, {"b", {5, 4}}}, .dims = {}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.errors()[0].kind, DiagnosticKind::constraint) << render(refused.errors());
}

// Some converters append nodes that belong in front.
TEST(OnnxImport, NodesInAnyOrder) {
  TestGraph g;
  g.input("x", "2,3").output("y").node("Relu", {"c"}, {"y"}).node("Neg", {"b"}, {"c"}).node("Abs", {"x"}, {"b"});
  TestFile file(g, 17);
  Result<ImportedModel> m = load(file.path);
  EXPECT_TRUE(m) << render(m.errors());
}

// Nodes that do not become a call are listed with the reason.
TEST(OnnxImport, NodesThatAreLeftOut) {
  TestGraph then_graph, else_graph, g;
  then_graph.output("t").node("Neg", {"x"}, {"t"}, {}, "taken");
  else_graph.output("e").node("Abs", {"x"}, {"e"}, {}, "never");
  g.input("x", "2,3").output("y").initializer(raw_tensor<uint8_t>("yes", {}, 9, {1}));
  g.node("Shape", {"x"}, {"s"}, {}, "shape").node("Identity", {"x"}, {"same"}, {}, "same");
  g.node("If", {"yes"}, {"c"},
         {message("then_branch", 5, 6, then_graph.bytes), message("else_branch", 5, 6, else_graph.bytes)}, "if");
  g.node("Exp", {"same"}, {"unused"}, {}, "unused").node("Add", {"c", "same"}, {"y"}, {}, "sum");
  TestFile file(g, 17);
  Result<ImportedModel> m = load(file.path);
  ASSERT_TRUE(m) << render(m.errors());
  EXPECT_EQ(std::get<ir::Strings>(m->module.attrs.at(ir::imported_nodes)),
            (ir::Strings{"Shape 'shape'", "Identity 'same'", "If 'if'", "Exp 'unused'", "Abs 'never'"}));
  EXPECT_EQ(
      std::get<ir::Strings>(m->module.attrs.at(ir::imported_fates)),
      (ir::Strings{"its value is known at import", "it returns its input unchanged", "the nodes inside replace it",
                   "nothing uses its result", "it is in a branch that is never taken"}));
}

// Sizes are tracked through arithmetic, whether they are numbers or names.
TEST(OnnxImport, ShapeArithmeticDisappears) {
  for (const auto& [type, expected] :
       {std::pair{"n,3,h,8", "Tensor[(n, h * 24), float32]"}, {"2,3,4,8", "Tensor[(2, 96), float32]"}}) {
    TestGraph g;
    g.input("x", type)
        .output("y")
        .ints("zero", {0})
        .ints("minus", {-1})
        .initializer(raw_tensor<int64_t>("first", {}, 7, {0}));
    g.node("Shape", {"x"}, {"s"})
        .node("Gather", {"s", "first"}, {"n"})
        .node("Unsqueeze", {"n", "zero"}, {"n1"})
        .node("Concat", {"n1", "minus"}, {"to"}, {integer("axis", 0)});
    g.node("Reshape", {"x", "to"}, {"y"});
    TestFile file(g, 13);
    Result<ImportedModel> m = load(file.path);
    ASSERT_TRUE(m) << render(m.errors());
    EXPECT_EQ(ir::str(main_of(*m).body->type), expected);
    EXPECT_EQ(ir::as<ir::Call>(main_of(*m).body)->args[0], main_of(*m).params[0]);
  }
}

TEST(OnnxImport, SizesInFloats) {
  // floor(h * 0.5) * 2 through Cast, as in old exporters' Upsample.
  TestGraph g;
  g.input("x", "1,1,h,w").output("y").ints("two", {2}).ints("four", {4});
  g.initializer(raw_tensor<float>("half", {1}, 1, {0.5f}))
      .ints("steps", {1, 1})
      .ints("axes", {0})
      .initializer(raw_tensor<float>("none", {0}, 1, {}));
  g.node("Shape", {"x"}, {"s"})
      .node("Slice", {"s", "two", "four", "axes"}, {"hw"})
      .node("Cast", {"hw"}, {"f"}, {integer("to", 1)});
  g.node("Mul", {"f", "half"}, {"m"})
      .node("Floor", {"m"}, {"fl"})
      .node("Cast", {"fl"}, {"i"}, {integer("to", 7)})
      .node("Concat", {"steps", "i"}, {"sizes"}, {integer("axis", 0)});
  g.node("Resize", {"x", "none", "none", "sizes"}, {"y"}, {text("mode", "linear")});
  TestFile file(g, 13);
  Result<ImportedModel> m = load(file.path);
  ASSERT_TRUE(m) << render(m.errors());
  EXPECT_EQ(ir::str(main_of(*m).body->type), "Tensor[(1, 1, h // 2, w // 2), float32]");
}

// A size that is used as data is computed at run time.
TEST(OnnxImport, SizesAsData) {
  TestGraph g;
  g.input("x", "n,4").output("y");
  g.node("Shape", {"x"}, {"y"});
  TestFile file(g, 13);
  Result<ImportedModel> m = load(file.path);
  ASSERT_TRUE(m) << render(m.errors());
  EXPECT_EQ(ir::str(main_of(*m).body->type), "Tensor[(2), int64]") << ir::str(main_of(*m).body->type);
}

TEST(OnnxImport, Branches) {
  TestGraph yes, no, g;
  yes.node("Add", {"x", "w"}, {"a"}).weight("w", {4}).output("a");  // w belongs to the branch, x to the outside
  no.node("Neg", {"x"}, {"b"}).output("b");
  std::vector<Bytes> branches{message("then_branch", 5, 6, yes.bytes), message("else_branch", 5, 6, no.bytes)};
  g.input("x", "2,4").input("c", ":bool").output("y").node("If", {"c"}, {"y"}, branches);
  TestFile file(g, 13);
  Result<ImportedModel> m = load(file.path);
  ASSERT_TRUE(m) << render(m.errors());
  EXPECT_TRUE(ir::as<ir::If>(main_of(*m).body));
  // A known condition selects one branch.
  TestGraph known;
  known.input("x", "2,4")
      .initializer(raw_tensor<uint8_t>("c", {}, 9, {0}))
      .output("y")
      .node("If", {"c"}, {"y"}, branches);
  TestFile second(known, 13);
  m = load(second.path);
  ASSERT_TRUE(m) << render(m.errors());
  EXPECT_TRUE(ir::as<ir::Call>(main_of(*m).body));
}

// --- imports that fail -----------------------------------------------------------------------------------------------

TEST(OnnxImport, AllUnsupportedOperatorsAtOnce) {
  TestGraph g;
  g.input("x", "2,4").output("y");
  g.node("Frobnicate", {"x"}, {"a"}, {}, "f1")
      .node("Frobnicate", {"a"}, {"b"})
      .node("Reluu", {"b"}, {"c"})
      .node("Blend", {"c"}, {"d"}, {}, "", "my.domain");
  g.node("Relu", {"d"}, {"y"});
  TestFile file(g, 13);
  Result<ImportedModel> m = load(file.path);
  ASSERT_FALSE(m);
  std::string text = render(m.errors());
  ASSERT_EQ(m.errors().size(), 3u) << text;
  EXPECT_NE(text.find("operator Frobnicate (opset 13) cannot be imported; the model uses it 2 times"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("Frobnicate 'f1'"), std::string::npos);
  EXPECT_NE(text.find("did you mean Relu?"), std::string::npos);
  EXPECT_NE(text.find("my.domain.Blend"), std::string::npos);
  Result<CheckReport> report = check(file.path);
  ASSERT_TRUE(report);
  EXPECT_FALSE(report->importable());
  ASSERT_EQ(report->operators.size(), 4u);
  EXPECT_EQ(report->operators[0].op, "Frobnicate");
  EXPECT_EQ(report->operators[0].count, 2u);
  EXPECT_FALSE(report->operators[2].has_converter);
  EXPECT_TRUE(report->operators[3].has_converter);
}

struct Bad {
  const char* what;
  std::function<void(TestGraph&)> build;
  DiagnosticKind kind;
  const char* message;  // part of it
};

TEST(OnnxImport, Contradictions) {
  const std::vector<Bad> cases{
      {"circle", [](TestGraph& g) { g.node("Relu", {"b"}, {"a"}).node("Relu", {"a"}, {"b"}).output("a"); },
       DiagnosticKind::bad_model, "uses 'a', which is computed from its own result"},
      {"cycle", [](TestGraph& g) { g.node("Relu", {"a"}, {"a"}).output("a"); }, DiagnosticKind::bad_model,
       "uses its own result 'a'"},
      {"nowhere", [](TestGraph& g) { g.node("Relu", {"z"}, {"a"}).output("a"); }, DiagnosticKind::bad_model,
       "which is not defined"},
      {"twice", [](TestGraph& g) { g.node("Relu", {"x"}, {"a"}).node("Relu", {"x"}, {"a"}).output("a"); },
       DiagnosticKind::bad_model, "'a' is defined twice"},
      {"no output", [](TestGraph& g) { g.node("Relu", {"x"}, {"a"}).output("b"); }, DiagnosticKind::bad_model,
       "output 'b' is not computed by any node"},
      {"none at all", [](TestGraph& g) { g.node("Relu", {"x"}, {"a"}); }, DiagnosticKind::bad_model, "no outputs"},
      {"too few inputs", [](TestGraph& g) { g.node("Add", {"x"}, {"a"}).output("a"); }, DiagnosticKind::bad_model,
       "needs 2 inputs"},
      {"too many inputs", [](TestGraph& g) { g.node("Relu", {"x", "x", "x"}, {"a"}, {}, "r").output("a"); },
       DiagnosticKind::bad_model, "Relu 'r' has 3 inputs, but Relu has at most 1"},
      {"too many outputs", [](TestGraph& g) { g.node("Relu", {"x"}, {"a", "b"}).output("a"); },
       DiagnosticKind::bad_model, "has 2 outputs, but Relu has at most 1"},
      {"absent input", [](TestGraph& g) { g.node("Add", {"", "x"}, {"a"}).output("a"); }, DiagnosticKind::bad_model,
       "input 0 is missing"},
      {"attribute's kind", [](TestGraph& g) { g.node("Concat", {"x", "x"}, {"a"}, {text("axis", "one")}).output("a"); },
       DiagnosticKind::bad_model, "attribute axis should be an int"},
      {"axis", [](TestGraph& g) { g.node("Concat", {"x", "x"}, {"a"}, {integer("axis", 9)}).output("a"); },
       DiagnosticKind::bad_model, "axis 9 is out of range"},
      {"types", [](TestGraph& g) { g.weight("w", {5, 5}).node("MatMul", {"x", "w"}, {"a"}, {}, "mm").output("a"); },
       DiagnosticKind::constraint, "MatMul 'mm'"},
      {"run-time shape", [](TestGraph& g) { g.input("s", "k:int64").node("Reshape", {"x", "s"}, {"a"}).output("a"); },
       DiagnosticKind::unsupported_operator, "must be known at import"},
      {"count", [](TestGraph& g) { g.ints("s", {5, -1}).node("Reshape", {"x", "s"}, {"a"}).output("a"); },
       DiagnosticKind::bad_model, "do not fit"},
      {"input type", [](TestGraph& g) { g.input("t", "2:string").node("Relu", {"t"}, {"a"}).output("a"); },
       DiagnosticKind::unsupported_operator, "string"},
      {"second output",
       [](TestGraph& g) {
         g.weight("w", {4}).node("BatchNormalization", {"x", "w", "w", "w", "w"}, {"a", "mean"}).output("a");
       },
       DiagnosticKind::unsupported_operator, "2 outputs"},
  };
  for (const Bad& bad : cases) {
    TestGraph g;
    g.input("x", "2,4");
    bad.build(g);
    TestFile file(g, 13);
    Result<ImportedModel> m = load(file.path);
    ASSERT_FALSE(m) << bad.what;
    EXPECT_EQ(m.errors().size(), 1u) << bad.what << "\n" << render(m.errors());
    EXPECT_EQ(m.errors()[0].kind, bad.kind) << bad.what << "\n" << render(m.errors());
    EXPECT_NE(m.errors()[0].message.find(bad.message), std::string::npos) << bad.what << "\n" << render(m.errors());
  }
}

// --- strings and sparse tensors -------------------------------------------------------------------------------------

Bytes strings_tensor(const std::string& name, const std::vector<std::string>& values) {
  return tensor(name, {static_cast<int64_t>(values.size())}, 8, [&](Write& w) {
    for (const std::string& v : values) w.add_string(6, v);
  });
}

TEST(OnnxImport, StringsAreNumbersOfAList) {
  TestGraph g;
  g.input("x", "2:string").initializer(strings_tensor("w", {"cat", "dog"})).output("y").output("z");
  g.node("Equal", {"x", "w"}, {"y"}).node("Concat", {"w", "x"}, {"z"}, {integer("axis", 0)});
  TestFile file(g, 13);
  Result<ImportedModel> m = load(file.path);
  ASSERT_TRUE(m) << render(m.errors());
  const ir::FunctionRef main = m->module.functions.at("main");
  using List = std::vector<std::string>;
  EXPECT_EQ(std::get<List>(main->attrs.at("strings")), (List{"cat", "dog"}));
  EXPECT_EQ(std::get<List>(main->attrs.at("string_inputs")), List{"x"});
  EXPECT_EQ(std::get<List>(main->attrs.at("string_outputs")), List{"z"});
  EXPECT_EQ(ir::str(main->body->type), "(Tensor[(2), bool], Tensor[(4), int64])");
}

// A SparseTensorProto of float32.
Bytes sparse(const std::string& name, const std::vector<int64_t>& dims, const std::vector<float>& values,
             const std::vector<int64_t>& shape, const std::vector<int64_t>& indices) {
  Bytes out;
  Write w(out);
  w.add_message(1, raw_tensor(name, {static_cast<int64_t>(values.size())}, 1, values));
  w.add_message(2, raw_tensor("", shape, 7, indices));
  w.add_packed_int64(3, dims.begin(), dims.end());
  return out;
}

TEST(OnnxImport, SparseTensorsBecomeDense) {
  const std::vector<Bytes> forms = {sparse("w", {2, 3}, {5, 7}, {2}, {1, 5}),
                                    sparse("w", {2, 3}, {5, 7}, {2, 2}, {0, 1, 1, 2})};
  for (const Bytes& form : forms)
    for (bool is_attribute : {false, true}) {
      TestGraph g;
      if (is_attribute)
        g.node("Constant", {}, {"w"}, {message("sparse_value", 11, 22, form)});
      else
        g.add(15, form);
      TestFile file(g.input("x", "2,3").node("Add", {"x", "w"}, {"y"}).output("y"), 13);
      Result<ImportedModel> m = load(file.path);
      ASSERT_TRUE(m) << render(m.errors());
      const ir::Call* add = ir::as<ir::Call>(m->module.functions.at("main")->body);
      ASSERT_TRUE(add);
      const ir::Constant* w = ir::as<ir::Constant>(add->args[1]);
      ASSERT_TRUE(w);
      EXPECT_EQ(w->value.to_doubles(), (std::vector<double>{0, 5, 0, 0, 0, 7}));
    }
}

TEST(OnnxImport, SparseTensorsThatAreNone) {
  const std::vector<std::pair<Bytes, std::string>> cases = {
      {sparse("w", {2, 3}, {5, 7}, {2}, {1, 6}), "an index outside of [2, 3]"},
      {sparse("w", {2, 3}, {5, 7}, {2}, {-1, 5}), "an index outside of"},
      {sparse("w", {2, 3}, {5, 7}, {2, 2}, {0, 1, 0, 3}), "an index outside of"},
      {sparse("w", {2, 3}, {5, 7}, {2}, {5, 1}), "indices that are not sorted"},
      {sparse("w", {2, 3}, {5, 7}, {2}, {1, 1}), "indices that are not sorted"},
      {sparse("w", {2, 3}, {5, 7}, {3}, {1, 2, 3}), "as indices of values of shape [2]"},
      {sparse("w", {1 << 20, 1 << 20}, {5}, {1}, {1}), "would need 4398046511104 bytes"},
      {sparse("w", {-1, 3}, {5}, {1}, {1}), "negative or too large"},
      {sparse("w", std::vector<int64_t>(40, 1), {5}, {1}, {0}), "more than 32 dimensions"},
  };
  for (const auto& [form, words] : cases) {
    TestGraph g;
    TestFile file(g.add(15, form).input("x", "2,3").node("Add", {"x", "w"}, {"y"}).output("y"), 13);
    Result<ImportedModel> m = load(file.path);
    ASSERT_FALSE(m) << words;
    EXPECT_NE(m.errors()[0].message.find(words), std::string::npos) << render(m.errors());
  }
}

// Two unrelated faults are both reported; their consequences are not.
TEST(OnnxImport, EveryFaultOnce) {
  TestGraph g;
  g.input("x", "2,4").weight("w", {5, 5}).output("y").output("z");
  g.node("MatMul", {"x", "w"}, {"a"}, {}, "one")
      .node("Relu", {"a"}, {"y"})
      .node("Concat", {"x", "x"}, {"b"}, {integer("axis", 5)}, "two")
      .node("Relu", {"b"}, {"z"});
  TestFile file(g, 13);
  Result<ImportedModel> m = load(file.path);
  ASSERT_FALSE(m);
  EXPECT_EQ(m.errors().size(), 2u) << render(m.errors());
}

}  // namespace
}  // namespace relay::onnx
