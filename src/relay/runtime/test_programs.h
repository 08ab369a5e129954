// Small hand-written programs and kernels, for the tests of this folder.
#pragma once

#include <atomic>
#include <cmath>
#include <map>

#include "relay/runtime/executable.h"
#include "relay/runtime/program/program_builder.h"

namespace relay::runtime {

class HandLibrary : public KernelLibrary {
 public:
  explicit HandLibrary(std::map<std::string, KernelFn> kernels) : kernels_(std::move(kernels)) {}
  KernelFn find(const std::string& name) const override {
    std::map<std::string, KernelFn>::const_iterator it = kernels_.find(name);
    return it == kernels_.end() ? nullptr : it->second;
  }

 private:
  std::map<std::string, KernelFn> kernels_;
};

// A task per element.
inline void add_one(void* const* p, const int64_t*, int64_t begin, int64_t end, void*) {
  const float* x = static_cast<const float*>(p[0]);
  float* y = static_cast<float*>(p[1]);
  for (int64_t i = begin; i < end; ++i) y[i] = x[i] + 1;
}
inline void add(void* const* p, const int64_t*, int64_t begin, int64_t end, void*) {
  for (int64_t i = begin; i < end; ++i)
    static_cast<float*>(p[2])[i] = static_cast<const float*>(p[0])[i] + static_cast<const float*>(p[1])[i];
}
// x < y, of one element each, stored as one byte.
inline void less(void* const* p, const int64_t*, int64_t, int64_t, void*) {
  *static_cast<uint8_t*>(p[2]) = *static_cast<const float*>(p[0]) < *static_cast<const float*>(p[1]);
}
// A task per row of shape[0] elements; reverses it through scratch memory.
inline void reverse_rows(void* const* p, const int64_t* shape, int64_t begin, int64_t end, void* scratch) {
  float* row = static_cast<float*>(scratch);
  for (int64_t r = begin; r < end; ++r) {
    const float* x = static_cast<const float*>(p[0]) + r * shape[0];
    for (int64_t i = 0; i < shape[0]; ++i) row[i] = x[shape[0] - 1 - i];
    std::copy(row, row + shape[0], static_cast<float*>(p[1]) + r * shape[0]);
  }
}

enum HandKernel : uint32_t { AddOne, Add, Less, ReverseRows };

inline std::shared_ptr<const KernelLibrary> hand_library() {
  return std::make_shared<HandLibrary>(std::map<std::string, KernelFn>{
      {"add_one", add_one}, {"add", add}, {"less", less}, {"reverse_rows", reverse_rows}});
}
inline std::shared_ptr<Program> hand_program() {
  std::shared_ptr<Program> p = std::make_shared<Program>();
  p->kernels = {{"add_one", 0}, {"add", 0}, {"less", 0}, {"reverse_rows", 4096}};
  return p;
}

inline Tensor iota(Shape shape) {
  Tensor t = Tensor::empty(std::move(shape), DType::float32());
  for (int64_t i = 0; i < t.elements(); ++i) t.set(i, static_cast<double>(i));
  return t;
}

// fn main(x: float32[m, n], y: float32[m, n]) { reversed(x + 1 + ... + 1) + y + constant } with a chain of `length`
// kernels.
inline std::shared_ptr<Program> chain_program(int length) {
  std::shared_ptr<Program> p = hand_program();
  SegmentBuilder b("main");
  SizeExpr m = b.variable("m"), n = b.variable("n");
  SizeExpr all = apply(SizeOp::Mul, m, n);
  DType f32 = DType::float32();
  uint32_t x = b.input("x", f32, {m, n}), y = b.input("y", f32, {m, n});
  b.bind(0, 0, 0);
  b.bind(1, 0, 1);
  uint32_t out = b.output("out", f32, {m, n});
  uint32_t last = x;
  for (int i = 0; i < length; ++i) {
    uint32_t next = b.temporary("t" + std::to_string(i), f32, {m, n});
    b.kernel(AddOne, {last, next}, {}, all);
    last = next;
  }
  uint32_t reversed = b.temporary("reversed", f32, {m, n});
  b.kernel(ReverseRows, {last, reversed}, {n}, m);
  b.kernel(Add, {reversed, y, out}, {}, all);
  p->segments.push_back(b.finish());
  return p;
}

// fn main(x: float32[m, n]) { [x + 1; x + 2] + 1 }; the two halves are parts of one temporary.
inline std::shared_ptr<Program> parts_program() {
  std::shared_ptr<Program> p = hand_program();
  SegmentBuilder b("main");
  SizeExpr m = b.variable("m"), n = b.variable("n"), rows = apply(SizeOp::Mul, m, SizeExpr::constant(2));
  SizeExpr all = apply(SizeOp::Mul, m, n);
  DType f32 = DType::float32();
  uint32_t x = b.input("x", f32, {m, n});
  b.bind(0, 0, 0);
  b.bind(1, 0, 1);
  uint32_t out = b.output("out", f32, {rows, n}), whole = b.temporary("whole", f32, {rows, n});
  uint32_t upper = b.view("upper", f32, {m, n}, whole, SizeExpr::constant(0)),
           lower = b.view("lower", f32, {m, n}, whole, apply(SizeOp::Mul, all, SizeExpr::constant(4)));
  b.kernel(0, {x, upper}, {}, all);  // AddOne
  b.kernel(0, {upper, lower}, {}, all);
  b.kernel(0, {whole, out}, {}, apply(SizeOp::Mul, rows, n));
  p->segments.push_back(b.finish());
  return p;
}

// fn main(i: int32[2, n], x: float32[m, n]) { x + 1 }; i[0] are indices of m rows, i[1] of n columns.
inline std::shared_ptr<Program> check_program() {
  std::shared_ptr<Program> p = hand_program();
  SegmentBuilder b("main");
  SizeExpr m = b.variable("m"), n = b.variable("n");
  uint32_t i = b.input("i", DType::int32(), {SizeExpr::constant(2), n}), x = b.input("x", DType::float32(), {m, n});
  b.bind(0, 1, 0);
  b.bind(1, 1, 1);
  uint32_t out = b.output("out", DType::float32(), {m, n});
  b.check_indices({"gather_nd", "node 'g'", {0, 1}}, i, {m, n});
  b.kernel(AddOne, {x, out}, {}, apply(SizeOp::Mul, m, n));
  p->segments.push_back(b.finish());
  return p;
}

// Segments over scalars, for functions.
inline uint32_t scalar_segment(Program& p, const std::string& name, uint32_t kernel, uint32_t inputs, DType result) {
  SegmentBuilder s(name);
  std::vector<uint32_t> args;
  for (uint32_t i = 0; i < inputs; ++i) args.push_back(s.input("a" + std::to_string(i), DType::float32(), {}));
  args.push_back(s.output("out", result, {}));
  s.kernel(kernel, args, {}, SizeExpr::constant(1));
  p.segments.push_back(s.finish());
  return static_cast<uint32_t>(p.segments.size()) - 1;
}
// The same, batched: scalars are rows of one element.
inline uint32_t batched_segment(Program& p, const std::string& name, uint32_t kernel, uint32_t inputs,
                                Batching batching) {
  SegmentBuilder s(name);
  SizeExpr calls = s.variable("calls");
  std::vector<uint32_t> args;
  for (uint32_t i = 0; i < inputs; ++i) args.push_back(s.input("a" + std::to_string(i), DType::float32(), {calls}));
  args.push_back(s.output("out", DType::float32(), {calls}));
  for (uint32_t arg : args) s.set_rows(arg, Rows::Added);
  s.bind(0, 0, 0);
  s.kernel(kernel, args, {}, calls);
  s.batch(batching);
  p.segments.push_back(s.finish());
  return static_cast<uint32_t>(p.segments.size()) - 1;
}
inline Port scalar_port(std::string name) {
  return {std::move(name), "Tensor[(), float32]", true, DType::float32(), {}};
}

// A hand program with segments 0: x + 1, 1: x + y, 2: x < y.
inline std::shared_ptr<Program> scalar_program() {
  std::shared_ptr<Program> p = hand_program();
  scalar_segment(*p, "add_one", AddOne, 1, DType::float32());
  scalar_segment(*p, "add", Add, 2, DType::float32());
  scalar_segment(*p, "less", Less, 2, DType::boolean());
  return p;
}

// fn main(x, limit) { if (x < limit) { main(step(x), limit) } else { x } }, where step(x) = x + 1 + 0.5.
inline std::shared_ptr<Program> loop_program() {
  std::shared_ptr<Program> p = scalar_program();
  p->constants.push_back(Tensor::full({}, DType::float32(), 0.5));
  p->signature.inputs = {scalar_port("x"), scalar_port("limit")};
  p->signature.outputs = {scalar_port("out")};
  FunctionBuilder b("main", 2);
  FunctionBuilder::Label done = b.label();
  uint32_t goes_on = b.segment(2, {use(0), use(1)}, 1)[0];
  b.branch_if_false(last(goes_on), done);
  uint32_t next = b.call(1, {last(0)});
  b.tail_call(0, {last(next), last(1)});
  b.place(done);
  b.ret(last(0));
  p->functions.push_back(b.finish());

  FunctionBuilder s("step", 1);
  uint32_t more = s.segment(0, {last(0)}, 1)[0], half = s.constant(0);
  uint32_t sum = s.segment(1, {last(more), last(half)}, 1)[0];
  s.ret(last(sum));
  p->functions.push_back(s.finish());
  return p;
}

inline Port any_port(std::string name, std::string type = "a") {
  return {std::move(name), std::move(type), false, {}, {}};
}

// Gives the program a signature of `count` parameters of any type.
inline void takes(Program& p, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) p.signature.inputs.push_back(any_port("p" + std::to_string(i)));
  p.signature.outputs = {any_port("out")};
}

inline DataType list_type() { return {"List", {{"Nil", 0}, {"Cons", 2}}}; }
constexpr uint16_t nil = 0, cons = 1;

inline Value scalar(double v) { return Value::tensor(Tensor::scalar(v, DType::float32())); }

inline Value list_of(int count) {
  TypeId type = intern_type(list_type());
  Value list = Value::data(type, nil, {});
  for (int i = count; i-- > 0;) list = Value::data(type, cons, {scalar(i), std::move(list)});
  return list;
}

// fn main(list) { sum(list, 0) }; fn sum(list, acc) { match (list) { Nil => acc, Cons(x, rest) => sum(rest, acc + x) }
// }
inline std::shared_ptr<Program> sum_program() {
  std::shared_ptr<Program> p = scalar_program();
  p->types = {list_type()};
  p->constants = {Tensor::scalar(0, DType::float32())};
  takes(*p, 1);
  FunctionBuilder m("main", 1);
  m.tail_call(1, {last(0), last(m.constant(0))});
  p->functions.push_back(m.finish());
  FunctionBuilder f("sum", 2);
  FunctionBuilder::Label empty = f.label(), more = f.label();
  f.switch_tag(use(0), 0, {empty, more});
  f.place(empty);
  f.ret(last(1));
  f.place(more);
  uint32_t x = f.field(use(0), 0), rest = f.field(last(0), 1);
  f.tail_call(1, {last(rest), last(f.segment(1, {last(1), last(x)}, 1)[0])});
  p->functions.push_back(f.finish());
  return p;
}

// fn main(a: (float32, (n, 3) float32)) { a.1 }
inline std::shared_ptr<Program> tuple_program() {
  std::shared_ptr<Program> p = scalar_program();
  Port tuple = any_port("a", "(float32, Tensor[(n, 3), float32])");
  tuple.kind = ObjectKind::Tuple, tuple.fields = 2;
  Port matrix{"a.1", "Tensor[(n, 3), float32]", true, DType::float32(), {SizeExpr::variable(0), SizeExpr::constant(3)}};
  p->signature.inputs = {tuple};
  p->signature.fields = {{scalar_port("a.0"), 0, 0}, {matrix, 0, 1}};
  p->signature.variables = {"n"};
  p->signature.bindings = {{.variable = 0, .input = 2, .dim = 0}};
  p->signature.outputs = {matrix};
  FunctionBuilder m("main", 1);
  m.ret(last(m.field(last(0), 1)));
  p->functions.push_back(m.finish());
  return p;
}

// fn main(x) with every instruction, without backward jumps. Returns (x + (x + 1), a reference to x + 1).
inline std::shared_ptr<Program> every_instruction_program() {
  std::shared_ptr<Program> p = sum_program();
  p->functions.clear();
  p->signature = {};
  p->signature.inputs = {scalar_port("x")};
  p->signature.outputs = {scalar_port("sum"), any_port("reference", "ref(Tensor[(), float32])")};
  FunctionBuilder m("main", 1);
  FunctionBuilder::Label empty = m.label(), full = m.label(), joined = m.label(), never = m.label();
  uint32_t more = m.call(1, {use(0)}), list = m.reg(), result = m.reg();
  uint32_t zero = m.constant(0);
  p->constants.push_back(Tensor::empty({2}, DType::int64()));
  p->constants.back().set(0, 2), p->constants.back().set(1, 3);
  const uint32_t shape = m.constant(static_cast<uint32_t>(p->constants.size()) - 1);
  m.drop(m.tensor_of_shape({last(shape), use(0)}, {"an.operator", "a place", "x", "one number"}));
  m.branch_if_false(last(m.segment(2, {last(zero), use(more)}, 1)[0]), never);
  m.move(last(m.data(0, cons, {use(0), last(m.data(0, nil, {}))})), list);
  m.switch_tag(use(list), 0, {empty, full});
  m.place(empty);
  m.drop(list);
  m.move(use(0), result);
  m.jump(joined);
  m.place(full);
  m.move(last(m.field(last(list), 0)), result);
  m.place(joined);
  uint32_t add = m.closure(2, {last(result)});
  uint32_t sum = m.call_closure(last(add), {use(more)});
  uint32_t reference = m.reference(last(0));
  m.write(use(reference), last(more));
  m.drop(m.read(use(reference)));
  m.ret(last(m.tuple({last(sum), last(reference)})));
  m.place(never);
  m.fail("x + 1 is not above 0, at test.relay:1:1");
  p->functions.push_back(m.finish());
  FunctionBuilder inc("inc", 1);
  inc.ret(last(inc.segment(0, {last(0)}, 1)[0]));
  p->functions.push_back(inc.finish());
  FunctionBuilder f("add", 3);
  f.takes_self();
  f.drop(1);
  f.tail_call(3, {last(0), last(2)});
  p->functions.push_back(f.finish());
  FunctionBuilder g("add_to", 2);
  uint32_t adder = g.closure(4, {last(0)});
  g.tail_call_closure(last(adder), {last(1)});
  p->functions.push_back(g.finish());
  FunctionBuilder h("sum", 2);
  uint32_t together = batched_segment(*p, "add_together", Add, 2, Batching::Begins);
  h.ret(last(h.segment(together, {last(0), last(1)}, 1)[0]));
  p->functions.push_back(h.finish());
  return p;
}

inline DataType tree_type() { return {"Tree", {{"Leaf", 1}, {"Node", 2}}}; }

// fn main(tree, limit) {
//   sum = total(tree)
//   if (sum + 1 < limit) { (sum, sum + 1, total(tree)) } else { fail }
// }
// fn total(tree) { match (tree) { Leaf(x) => x + 1, Node(l, r) => total(l) + total(r) } }
// Calls of + 1 and + wait: segments 3 and 4.
inline std::shared_ptr<Program> tree_program(Batching add_one = Batching::Begins) {
  std::shared_ptr<Program> p = scalar_program();
  batched_segment(*p, "add_one_together", AddOne, 1, add_one);
  batched_segment(*p, "add_together", Add, 2, Batching::Begins);
  p->types = {tree_type()};
  takes(*p, 2);
  FunctionBuilder m("main", 2);
  FunctionBuilder::Label failed = m.label();
  uint32_t sum = m.call(1, {use(0)}), more = m.segment(3, {use(sum)}, 1)[0];
  uint32_t again = m.call(1, {last(0)});
  m.branch_if_false(last(m.segment(2, {use(more), last(1)}, 1)[0]), failed);
  m.ret(last(m.tuple({last(sum), last(more), last(again)})));
  m.place(failed);
  m.fail("the sum is too large");
  p->functions.push_back(m.finish());
  FunctionBuilder f("total", 1);
  FunctionBuilder::Label leaf = f.label(), node = f.label();
  f.switch_tag(use(0), 0, {leaf, node});
  f.place(leaf);
  f.ret(last(f.segment(3, {last(f.field(last(0), 0))}, 1)[0]));
  f.place(node);
  uint32_t left = f.call(1, {last(f.field(use(0), 0))}), right = f.call(1, {last(f.field(last(0), 1))});
  f.ret(last(f.segment(4, {last(left), last(right)}, 1)[0]));
  p->functions.push_back(f.finish());
  return p;
}

// A tree with `leaves` leaves 0, 1, 2, ...: as even as possible, or each to the left of the next.
inline Value tree_of(int leaves, bool even = true, int first = 0) {
  TypeId type = intern_type(tree_type());
  if (even && leaves > 1)
    return Value::data(type, 1,
                       {tree_of(leaves / 2, true, first), tree_of(leaves - leaves / 2, true, first + leaves / 2)});
  Value tree = Value::data(type, 0, {scalar(first)});
  for (int i = 1; i < leaves; ++i) tree = Value::data(type, 1, {std::move(tree), Value::data(type, 0, {scalar(i)})});
  return tree;
}

}  // namespace relay::runtime
