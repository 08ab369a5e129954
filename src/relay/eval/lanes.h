// A single instruction over lanes. Private to eval/.
#pragma once

#include "relay/eval/stage.h"
#include "relay/scalar/eval.h"

namespace relay::eval {

// An operand; stride 0 if it is uniform.
template <class T>
struct View {
  const T* data;
  int stride;
  T operator[](int64_t lane) const { return data[lane * stride]; }
};

struct Operand {
  const void* data = nullptr;
  bool uniform = true;
  template <class T>
  View<T> as() const {
    return {static_cast<const T*>(data), uniform ? 0 : 1};
  }
};

// out[l] = op(a[l], b[l]) for n lanes; the registers of `in` hold in.from (operands) and in.dtype (the result).
void unary_lanes(const Instruction& in, Operand a, void* out, int n);
void binary_lanes(BinaryOp op, DType from, DType to, Operand a, Operand b, void* out, int n);
void cast_lanes(const Instruction& in, Operand a, void* out, int n);
void reinterpret_lanes(const Instruction& in, Operand a, void* out, int n);
void select_lanes(DType dtype, Operand condition, Operand a, Operand b, void* out, int n);
// out[l] = tensor[lanes[l] + uniform] where the mask holds, else 0. `lanes` and `mask` may be null: no lane part, no
// mask.
void load_lanes(const Tensor& tensor, Operand lanes, int64_t uniform, Operand mask, void* out, int n);
// destination[begin + l] = value[l], converted to the tensor's type from its register.
void store_lanes(Tensor* destination, int64_t begin, Operand value, int n);

// Reads and writes lane l of a register of `dtype`.
scalar::Value get_lane(DType dtype, Operand operand, int64_t lane);
void put_lane(const scalar::Value& value, void* out, int64_t lane);

// acc[l] += sum over k < steps of a[l * a_lane + k * a_step] * b[l * b_lane + k * b_step], k in order.
template <class T>
struct Stream {
  const T* data;
  int64_t lane, step;
};
void multiply_add(float* acc, int64_t n, Stream<float> a, Stream<float> b, int64_t steps);
void multiply_add(double* acc, int64_t n, Stream<double> a, Stream<double> b, int64_t steps);

}  // namespace relay::eval
