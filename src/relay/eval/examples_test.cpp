// Every operator's examples and rejects: the relation, the shapes and types of the tensor expressions, and that the
// symbolic form has the values of the static one. test/python/test_operators.py compares the values with each
// operator's oracle.
#include "relay/eval/examples.h"

#include <gtest/gtest.h>

#include <functional>

#include "relay/scalar/simplify.h"

namespace relay::eval {
namespace {

ir::Types outputs_of(const ir::Type& type) {
  const ir::TupleType* tuple = ir::as<ir::TupleType>(type);
  return tuple ? tuple->fields : ir::Types{type};
}

// The expressions have the inferred types, and each output is a stage.
void expect_typed(const ExampleCase& c) {
  ir::Types types = outputs_of(c.output);
  te::Tensors outputs = expressions(c).outputs;
  ASSERT_EQ(outputs.size(), types.size()) << c.name;
  for (size_t k = 0; k < types.size(); ++k) {
    const ir::TensorType& type = *ir::as<ir::TensorType>(types[k]);
    EXPECT_FALSE(outputs[k]->is_placeholder()) << c.name;
    EXPECT_EQ(outputs[k]->dtype, type.dtype) << c.name << "\n" << te::str(outputs[k]);
    ASSERT_EQ(outputs[k]->shape.size(), type.shape.size()) << c.name;
    for (size_t d = 0; d < type.shape.size(); ++d)
      EXPECT_EQ(scalar::prove_equal(outputs[k]->shape[d], type.shape[d]), std::optional(true))
          << c.name << ": " << ir::str(types[k]);
  }
}

class Operator : public testing::TestWithParam<const op::OpDef*> {};

TEST_P(Operator, Examples) {
  const op::OpDef& def = *GetParam();
  EXPECT_FALSE(def.examples.empty());
  EXPECT_FALSE(def.oracle.empty());
  for (size_t i = 0; i < def.examples.size(); ++i) {
    Result<ExampleCase> c = example_case(def, i);
    ASSERT_TRUE(c) << def.name << "/" << i << "\n" << render(c.errors());
    expect_typed(*c);
    if (c->example->bench) continue;
    std::vector<Tensor> inputs = example_inputs(*c);
    Result<std::vector<Tensor>> values = evaluate_case(*c, inputs);
    ASSERT_TRUE(values) << c->name << "\n" << render(values.errors());
    if (c->example->symbolic.empty()) continue;
    Result<ExampleCase> symbolic = symbolic_case(def, i);
    ASSERT_TRUE(symbolic) << def.name << "/" << i << "\n" << render(symbolic.errors());
    expect_typed(*symbolic);
    Result<std::vector<Tensor>> same = evaluate_case(*symbolic, inputs);
    ASSERT_TRUE(same) << symbolic->name << "\n" << render(same.errors());
    for (size_t k = 0; k < values->size(); ++k) {
      ASSERT_EQ((*same)[k].shape(), (*values)[k].shape()) << symbolic->name << ": " << ir::str(symbolic->output);
      // A symbolic cumsum adds in another order.
      for (int64_t n = 0; n < (*values)[k].elements(); ++n)
        ASSERT_NEAR((*same)[k].at(n), (*values)[k].at(n), 1e-5 * (1 + std::abs((*values)[k].at(n))))
            << symbolic->name << " element " << n;
    }
  }
}

// What the author of an operator is told of an example: nn.relu with this one.
std::string told(op::Example example, bool symbolic) {
  op::OpDef def = *op::find("nn.relu");
  def.examples = {std::move(example)};
  Result<ExampleCase> c = symbolic ? symbolic_case(def, 0) : example_case(def, 0);
  if (c) return "nothing";
  for (const Diagnostic& d : c.errors()) EXPECT_FALSE(d.help.empty()) << d.message;
  return render(c.errors());
}

TEST(Examples, WhatIsWrongWithThemIsTold) {
  EXPECT_EQ(told({.inputs = {"(3, 10)"}, .symbolic = {"(n, 10)"}}, true), "nothing");
  EXPECT_EQ(told({.inputs = {"(6, 10)"}, .symbolic = {"(2 * n, m + 3)"}}, true), "nothing");
  const std::tuple<op::Example, bool, const char*> wrong[] = {
      {{.inputs = {"(3, 10) floaat32"}}, false, "nn.relu/0: "},
      {{.inputs = {"(3, 10"}}, false, "nn.relu/0: "},
      {{.inputs = {"(n, 10)"}}, false, "nn.relu/0: the size n of an input is not a number"},
      {{.inputs = {"(3, 10)", "(3, 10)"}}, false, "nn.relu/0: the operator has 1 input, and the example gives 2"},
      {{.inputs = {"[(1, 2), (3, 4)]"}}, false, "must be a tensor"},
      {{.inputs = {"(3, 10)"}, .ranges = {{0, 1}, {0, 1}}}, false, "nn.relu/0: there are 1 tensors, but 2 ranges"},
      {{.inputs = {"(3, 10)"}}, true, "nn.relu/0: the example has no symbolic form"},
      {{.inputs = {"(3, 10)"}, .symbolic = {"(2 * n, 10)"}}, true, "the size 2 * n cannot be 3"},
      {{.inputs = {"(3, 10)"}, .symbolic = {"(n)"}}, true, "input 0 has another rank than in the static form"},
  };
  for (const auto& [example, symbolic, message] : wrong) {
    std::string text = told(example, symbolic);
    EXPECT_NE(text.find(message), std::string::npos) << text;
  }
}

// The case with its float32 inputs, and what follows from them, in another float type; nothing where the relation
// refuses it.
std::optional<ExampleCase> in_float_type(ExampleCase c, DType dtype) {
  std::function<ir::Type(const ir::Type&)> changed = [&](const ir::Type& type) {
    if (const ir::TupleType* tuple = ir::as<ir::TupleType>(type)) {
      ir::Types fields;
      for (const ir::Type& field : tuple->fields) fields.push_back(changed(field));
      return ir::tuple_type(fields);
    }
    const ir::TensorType& tensor = *ir::as<ir::TensorType>(type);
    return tensor.dtype == DType::float32() ? ir::tensor_type(tensor.shape, dtype) : type;
  };
  for (ir::Type& input : c.inputs) input = changed(input);
  Result<ir::Type> output = c.def->infer(c.attrs, c.inputs);
  if (!output) return {};
  c.output = *output;
  return c;
}

TEST_P(Operator, FloatTypes) {
  for (size_t i = 0; i < GetParam()->examples.size(); ++i) {
    if (GetParam()->examples[i].bench) continue;
    ExampleCase c = *example_case(*GetParam(), i);
    for (DType dtype : {DType::float16(), DType::bfloat16(), DType::float64()}) {
      std::optional<ExampleCase> other = in_float_type(c, dtype);
      ASSERT_TRUE(other) << c.name << " is refused in " << dtype.str();
      expect_typed(*other);
      Result<std::vector<Tensor>> values = evaluate_case(*other, example_inputs(*other));
      EXPECT_TRUE(values) << c.name << " in " << dtype.str() << "\n" << render(values.errors());
    }
  }
}

TEST_P(Operator, Rejects) {
  const op::OpDef& def = *GetParam();
  for (size_t i = 0; i < def.rejects.size(); ++i) {
    const op::Reject& reject = def.rejects[i];
    Result<ir::Type> type = infer_reject(def, i);
    std::string what = format("{}({}) {}", def.name, join(reject.inputs, ", "), reject.attrs);
    ASSERT_FALSE(type) << what << " gives " << ir::str(*type);
    std::string text = render(type.errors());
    EXPECT_NE(text.find(format("constraint ({})", reject.constraint)), std::string::npos) << what << "\n" << text;
  }
}

std::string test_name(const testing::TestParamInfo<const op::OpDef*>& info) {
  std::string name = info.param->name;
  for (char& c : name)
    if (c == '.') c = '_';
  return name;
}
INSTANTIATE_TEST_SUITE_P(All, Operator, testing::ValuesIn(op::all()), test_name);

}  // namespace
}  // namespace relay::eval
