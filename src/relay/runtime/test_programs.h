// Small programs and kernels written by hand, for the tests of this folder.
#pragma once

#include <atomic>
#include <cmath>
#include <map>

#include "relay/runtime/executable.h"
#include "relay/runtime/program_builder.h"

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

// One task an element.
inline void add_one(void* const* p, const int64_t*, int64_t begin, int64_t end, void*) {
  const float* x = static_cast<const float*>(p[0]);
  float* y = static_cast<float*>(p[1]);
  for (int64_t i = begin; i < end; ++i) y[i] = x[i] + 1;
}
inline void add(void* const* p, const int64_t*, int64_t begin, int64_t end, void*) {
  for (int64_t i = begin; i < end; ++i)
    static_cast<float*>(p[2])[i] = static_cast<const float*>(p[0])[i] + static_cast<const float*>(p[1])[i];
}
// x < y, of one element each, as one byte.
inline void less(void* const* p, const int64_t*, int64_t, int64_t, void*) {
  *static_cast<uint8_t*>(p[2]) = *static_cast<const float*>(p[0]) < *static_cast<const float*>(p[1]);
}
// One task a row of shape[0] elements; reverses it through scratch memory.
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

// fn main(x: float32[m, n], y: float32[m, n]) { reversed(x + 1 + ... + 1) + y + constant } with a chain of `length` kernels.
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

}  // namespace relay::runtime
