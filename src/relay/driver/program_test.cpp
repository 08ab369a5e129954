// Whole programs for each construct of the language: the reference evaluator and the compiled program return equal
// values.
#include <gtest/gtest.h>

#include <chrono>

#include "relay/driver/compile.h"
#include "relay/driver/targets.h"
#include "relay/input/values.h"
#include "relay/text/text.h"
#include "relay/typing/typing.h"

namespace relay::driver {
namespace {

using runtime::ObjectKind;
using runtime::Value;

constexpr const char* prelude = R"(#[version = "0.0.5"]
type List[A] { Cons(A, List[A]), Nil }
type Tree[A] { Node(A, List[Tree[A]]) }
type Option[A] { Some(A), None }
type Color { Red, Green, Blue }
def @range(%n: int32, %l: List[int32]) -> List[int32] {
  if (equal(%n, 0)) { %l } else { @range(subtract(%n, 1), Cons(%n, %l)) }
}
def @map[A, B](%f: fn (A) -> B, %l: List[A]) -> List[B] {
  match (%l) { Cons(%h, %t) => Cons(%f(%h), @map(%f, %t)), Nil => Nil() }
}
def @fold[A, B](%f: fn (B, A) -> B, %z: B, %l: List[A]) -> B {
  match (%l) { Cons(%h, %t) => @fold(%f, %f(%z, %h), %t), Nil => %z }
}
)";

struct Case {
  const char* name;
  const char* program;
  std::vector<Tensor> inputs;
};

Tensor i32(int64_t v) { return Tensor::from_ints({}, DType::int32(), std::vector<int64_t>{v}); }
Tensor truth(bool v) { return Tensor::from_ints({}, DType::boolean(), std::vector<int64_t>{v}); }
Tensor f32(Shape shape, double first = 0.25) {
  Tensor t = Tensor::full(shape, DType::float32(), 0);
  float* values = static_cast<float*>(t.mutable_data());
  for (int64_t i = 0; i < t.elements(); ++i)
    values[i] = static_cast<float>(first + 0.5 * static_cast<double>(i % 7) - 1);
  return t;
}

// "" if a and b are equal up to rounding, else the difference.
std::string difference(const Value& a, const Value& b) {
  std::vector<std::pair<Value, Value>> work{{a, b}};
  while (!work.empty()) {
    auto [x, y] = work.back();
    work.pop_back();
    if (x.kind() != y.kind()) return format("{} and {}", str(x), str(y));
    switch (x.kind()) {
      case ObjectKind::Tensor: {
        Tensor s = x.tensor(), t = y.tensor();
        if (s.dtype() != t.dtype() || s.shape() != t.shape()) return format("{} and {}", str(x), str(y));
        for (int64_t i = 0; i < s.elements(); ++i)
          if (std::abs(s.at(i) - t.at(i)) > 1e-5 * (1 + std::abs(s.at(i)))) return format("{} and {}", str(x), str(y));
        break;
      }
      case ObjectKind::Data:
        if (x.type() != y.type() || x.tag() != y.tag()) return format("{} and {}", str(x), str(y));
        [[fallthrough]];
      case ObjectKind::Tuple:
        if (x.size() != y.size()) return format("{} and {}", str(x), str(y));
        for (size_t i = 0; i < x.size(); ++i) work.emplace_back(x.field(i), y.field(i));
        break;
      case ObjectKind::Reference: work.emplace_back(x.content(), y.content()); break;
      case ObjectKind::Closure: return "functions";
    }
  }
  return "";
}

ir::Module parsed(const std::string& text) {
  Result<ir::Module> m = text::parse(text);
  if (!m) throw CompileError(m.errors());
  Result<ir::Module> typed = typing::infer(*m);
  if (!typed) throw CompileError(typed.errors());
  return *typed;
}

Compiled compiled(const ir::Module& module, int level) {
  Result<TargetDesc> target = find_target("native");
  Options options;
  options.lower.target = *target, options.passes.opt_level = level, options.passes.verify = true;
  Result<Compiled> c = compile(module, options);
  if (!c) throw CompileError(c.errors());
  return *std::move(c);
}

Result<Value> run(const Compiled& program, const std::vector<Tensor>& inputs) {
  std::vector<Value> values;
  for (const Tensor& t : inputs) values.push_back(Value::tensor(t));
  return program.executable->call(values);
}

const std::vector<Case> cases = {
    {"tail_loop",
     "def @main(%n: int32) { let %loop = fn (%i: int32, %a: int32) -> int32 { if (equal(%i, 0)) { %a } else { "
     "%loop(subtract(%i, 1), add(%a, %i)) } }; %loop(%n, 0) }",
     {i32(10)}},
    {"not_tail_recursion",
     "def @f(%n: int32) -> int32 { if (equal(%n, 0)) { 1 } else { multiply(@f(subtract(%n, 1)), %n) } } "
     "def @main(%n: int32) { @f(%n) }",
     {i32(6)}},
    {"mutual_recursion",
     "def @even(%n: int32) -> bool { if (equal(%n, 0)) { True } else { @odd(subtract(%n, 1)) } } "
     "def @odd(%n: int32) -> bool { if (equal(%n, 0)) { False } else { @even(subtract(%n, 1)) } } "
     "def @main(%n: int32) { (@even(%n), @odd(%n)) }",
     {i32(7)}},
    {"higher_order_functions",
     "def @main(%n: int32) { let %k = multiply(%n, 10); let %l = @map(fn (%x: int32) { add(%x, %k) }, @range(%n, "
     "Nil())); (%l, @fold(fn (%a: int32, %b: int32) { add(%a, %b) }, 0, %l)) }",
     {i32(5)}},
    {"closures_that_capture_closures",
     "def @main(%x: float32) { let %f = fn (%a: float32) { fn (%b: float32) { add(multiply(%a, %x), %b) } }; let %g "
     "= "
     "%f(2f); let %h = fn (%c: float32) { %g(%g(%c)) }; (%h(1f), %g(%h(%x)), %f(%x)(%x)) }",
     {f32({})}},
    {"a_closure_that_uses_itself",
     "def @twice(%f: fn (int32) -> int32, %x: int32) -> int32 { %f(%f(%x)) } "
     "def @main(%n: int32) { let %h = fn (%k: int32) -> int32 { if (less(%k, 1)) { %k } else { @twice(%h, "
     "subtract(%k, 2)) } }; %h(%n) }",
     {i32(3)}},
    {"a_constructor_as_a_value",
     "def @main(%n: int32) { @fold(fn (%l: List[int32], %x: int32) { Cons(%x, %l) }, Nil(), @map(fn (%x: int32) { "
     "multiply(%x, %x) }, @range(%n, Nil()))) }",
     {i32(4)}},
    {"constructors_passed",
     "def @apply[A, B](%f: fn (A) -> B, %x: A) -> B { %f(%x) } "
     "def @main(%n: int32) { (@apply(Some, %n), @map(Some, @range(%n, Nil()))) }",
     {i32(2)}},
    {"globals_passed",
     "def @square(%x: int32) -> int32 { multiply(%x, %x) } "
     "def @main(%n: int32) { let %f = @square; (@map(@square, @range(%n, Nil())), %f(%n), %f(@square(%n))) }",
     {i32(4)}},
    {"nested_patterns",
     "def @pairs(%l: List[int32]) -> List[(int32, int32)] { match (%l) { Cons(%a, Cons(%b, %t)) => Cons((%a, %b), "
     "@pairs(%t)), Cons(%a, Nil) => Cons((%a, 0), Nil()), Nil => Nil() } } "
     "def @zip(%t: (List[int32], List[int32])) -> List[(int32, int32)] { match (%t) { (Cons(%x, %r), Cons(%y, %s)) "
     "=> "
     "Cons((%x, %y), @zip((%r, %s))), _ => Nil() } } "
     "def @main(%n: int32) { let %l = @range(%n, Nil()); (@pairs(%l), @zip((%l, @range(3, Nil())))) }",
     {i32(5)}},
    {"enumerations",
     "def @number(%c: Color) -> int32 { match (%c) { Green => 2, _ => 1 } } "
     "def @both(%a: Color, %b: Color) -> int32 { match ((%a, %b)) { (Red, Red) => 1, (Red, _) => 2, (_, Red) => 3, "
     "(Blue, Blue) => 4, _ => 5 } } "
     "def @main() { (@number(Red()), @number(Green()), @number(Blue()), @both(Red(), Red()), @both(Red(), Blue()), "
     "@both(Green(), Red()), @both(Blue(), Blue()), @both(Blue(), Green()), Blue()) }",
     {}},
    {"options_of_trees",
     "def @sum(%t: Tree[int32]) -> int32 { match (%t) { Node(%v, %c) => add(%v, @fold(fn (%a: int32, %b: int32) { "
     "add(%a, %b) }, 0, @map(@sum, %c))) } } "
     "def @main(%n: int32) { let %leaf = Node(%n, Nil()); let %t = Node(1, Cons(%leaf, Cons(Node(2, Cons(%leaf, "
     "Nil())), Nil()))); match (Some(%t)) { Some(%x) => (@sum(%x), Some(%x)), None => (0, None()) } }",
     {i32(5)}},
    {"tuples",
     "def @swap[A, B](%p: (A, B)) -> (B, A) { (%p.1, %p.0) } "
     "def @main(%x: Tensor[(4), float32], %n: int32) { let %p = @swap((exp(%x), (%n, ()))); let %s = split(%x, "
     "indices_or_sections=2); (%p, %p.0.0, %s, @swap(%s).0, add(%s.0, %s.1)) }",
     {f32({4}), i32(1)}},
    {"if_as_a_value",
     "def @main(%x: Tensor[(4), float32], %c: bool) { let %y = sqrt(exp(%x)); let %z = if (%c) { if (less(1, 2)) { "
     "add(%y, %x) } else { %y } } else { multiply(%y, %x) }; add(%z, if (logical_not(%c)) { %y } else { "
     "negative(%z) }) }",
     {f32({4}), truth(true)}},
    {"shared_nodes",
     "def @main(%x: float32, %c: bool) { %0 = exp(%x); %1 = sqrt(%0); %2 = if (%c) { add(%1, negative(%1)) } else { "
     "%1 }; let %f = fn (%y: float32) { add(%y, %0) }; (%2, %0, %f(%f(%x))) }",
     {f32({}), truth(false)}},
    {"references",
     "def @count(%r: ref(int32)) -> int32 { let %old = ref_read(%r); let %w = ref_write(%r, add(%old, 1)); %old } "
     "def @main(%n: int32) { let %r = ref(%n); let %a = @count(%r); let %b = @count(%r); let %s = ref(%r); let %c = "
     "@count(ref_read(%s)); let %f = fn (%k: int32) { ref_write(%r, add(ref_read(%r), %k)) }; let %u = %f(10); let "
     "%v = %f(%a); (%a, %b, %c, ref_read(%r), %u, %s) }",
     {i32(3)}},
    {"a_read_before_a_write_in_a_call",
     "def @get(%r: ref(int32)) -> int32 { ref_read(%r) } "
     "def @main(%n: int32) { let %r = ref(%n); let %old = @get(%r); let %w = ref_write(%r, 7); (%old, @get(%r)) }",
     {i32(3)}},
    {"functions_in_references_and_data",
     "def @main(%n: int32) { let %r = ref(fn (%x: int32) { %x }); let %w = ref_write(%r, fn (%x: int32) { if "
     "(less(%x, 1)) { 0 } else { add(%x, ref_read(%r)(subtract(%x, 1))) } }); let %fs = Cons(ref_read(%r), Cons(fn "
     "(%y: int32) { multiply(%y, %n) }, Nil())); @map(fn (%f: fn (int32) -> int32) { %f(%n) }, %fs) }",
     {i32(4)}},
    {"symbolic_sizes",
     "def @f(%x: Tensor[(n, 4), float32], %y: Tensor[(m, 4), float32]) -> Tensor[(n + m, 4), float32] { "
     "concatenate((%x, exp(%y)), axis=0) } "
     "def @main(%x: Tensor[(n, 4), float32], %c: bool) { if (%c) { (@f(%x, @f(%x, %x)), zeros(shape=[n], "
     "dtype=\"float32\")) } else { (@f(@f(%x, %x), %x), ones(shape=[n], dtype=\"float32\")) } }",
     {f32({3, 4}), truth(false)}},
    {"unknown_sizes",
     "def @grow(%n: int32, %x: Tensor[(?, 4), float32], %y: Tensor[(1, 4), float32]) -> Tensor[(?, 4), float32] { if "
     "(equal(%n, 0)) { %x } else { @grow(subtract(%n, 1), concatenate((%x, %y), axis=0), %y) } } "
     "def @main(%n: int32, %x: Tensor[(1, 4), float32]) { let %g = @grow(%n, %x, %x); (%g, sum(%g, axis=[0]), "
     "add(%g, multiply(%g, %g))) }",
     {i32(5), f32({1, 4})}},
    {"layers_in_branches",
     "def @layer(%x: Tensor[(2, 8), float32], %w: Tensor[(8, 8), float32]) { nn.relu(nn.dense(%x, %w)) } "
     "def @main(%x: Tensor[(2, 8), float32], %w: Tensor[(8, 8), float32], %n: int32) { let %loop = fn (%i: int32, "
     "%h: Tensor[(2, 8), float32]) -> Tensor[(2, 8), float32] { if (equal(%i, 0)) { nn.softmax(%h) } else { "
     "%loop(subtract(%i, 1), @layer(multiply(%h, 0.5f), %w)) } }; %loop(%n, %x) }",
     {f32({2, 8}), f32({8, 8}), i32(3)}},
    {"constants_and_unused_values",
     "def @main(%x: float32) { let %unused = @range(3, Nil()); let %u2 = exp(%x); let %f = fn (%a: float32, %b: "
     "float32) { %a }; (1, %f(2f, %x), Cons(True, Nil())) }",
     {f32({})}},
    {"a_parameter_returned", "def @main(%x: float32, %n: int32) { (%n, (%x, %n)) }", {f32({}), i32(1)}},
    {"polymorphic_functions",
     "def @main(%x: float32) { let %id = fn [A](%a: A) -> A { %a }; let %pair = fn [A, B](%a: A, %b: B) -> (A, B) { "
     "(%id(%a), %id(%b)) }; (%pair(%x, 1), %pair(Some(%x), (%id(True), ()))) }",
     {f32({})}},
};

TEST(Programs, compiled_and_evaluated_are_equal) {
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    try {
      ir::Module module = parsed(std::string(prelude) + c.program);
      eval::Values args;
      for (const Tensor& t : c.inputs) args.emplace_back(t);
      Result<eval::Value> evaluated = eval::run(module, "main", args);
      ASSERT_TRUE(evaluated) << render(evaluated.errors());
      Result<Value> expected = input::to_runtime(*evaluated, module);
      ASSERT_TRUE(expected) << render(expected.errors());
      for (int level : {0, 2}) {
        Compiled program = compiled(module, level);
        for (int again = 0; again < 2; ++again) {
          Result<Value> got = run(program, c.inputs);
          ASSERT_TRUE(got) << render(got.errors());
          EXPECT_EQ(difference(*expected, *got), "") << "at -O" << level << "\n" << str(*program.built.program);
        }
      }
    } catch (const CompileError& e) {
      ADD_FAILURE() << e.what();
    }
  }
}

}  // namespace
}  // namespace relay::driver
