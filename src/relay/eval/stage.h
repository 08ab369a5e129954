// A te stage as instructions over lanes. Private to eval/.
//
//   C[i, j] = sum(k < K) A[i, k] * B[k, j]     lanes: points (i, j); one step axis: k
//
//     r0 = lane axis i;  r1 = lane axis j;  r2 = i * K (level 0);  r3 = step axis k (level 1, uniform) ...
//
// Level n instructions depend on the n-th step axis (and maybe earlier ones), so they rerun only when it advances. A
// uniform instruction has one value for all lanes. If there are few outputs, the roles are swapped: lanes are points of
// the reduction.
#pragma once

#include <unordered_map>

#include "relay/eval/te.h"
#include "relay/scalar/eval.h"

namespace relay::eval {

using scalar::BinaryOp;
using scalar::UnaryOp;

// The representation of a register's values: float32 for the half precisions too; float64; integers and Bool.
enum class Holder : uint8_t { F32, F64, I64 };
Holder holder(DType dtype);

enum class Code : uint8_t {
  LaneAxis,  // extra: the axis
  StepAxis,  // extra: the axis
  Constant,  // value
  Unary,
  Binary,
  Select,
  Cast,
  Reinterpret,  // extra: 1 if floats are held in double
  MaskAnd,      // args[0] && args[1]; args[0] may be -1 (all lanes)
  MaskAndNot,
  Check,        // 0 <= args[0] < extra where mask holds; else an InternalError about dimension `dimension` of `tensor`
  Accumulator,  // extra: the index of the value; its value before this step
  Load,         // tensor[args[0] + args[1]] (lane part, uniform part; -1 if absent) where mask holds, else 0
};

struct Instruction {
  Code code = Code::Constant;
  UnaryOp unary{};
  BinaryOp binary{};
  DType dtype;  // of the result, as computed (float64 with options.float64)
  DType from;   // Cast, Reinterpret: the operand's; Reinterpret: both types as in the program, not as computed
  DType to;     // Reinterpret
  int args[3] = {-1, -1, -1};
  int mask = -1;
  int tensor = -1;
  int dimension = 0;
  int64_t extra = 0;
  double value = 0;
  int64_t integer = 0;
  bool uniform = false;
  int level = 0;
};

// The sum of a[..] * b[..] along the last step axis, as a separate loop.
struct Dot {
  struct Side {
    int tensor;
    int lanes, uniform;  // registers, as for Load
    int64_t step;        // elements that one step of the last axis advances
    // the dimension that is moved to the end before reading, so that lanes are adjacent; -1 if none
    int moved = -1;
  };
  Side sides[2];
};

struct StageProgram {
  std::string name;
  std::vector<Instruction> code;
  std::vector<std::vector<int>> levels;  // the instructions of each level, in order
  std::vector<int64_t> lane_extents, step_extents;
  bool swapped = false;  // lanes are points of the reduction
  te::Combiner combiner = te::Combiner::None;
  DType dtype;  // of the result, as computed
  int result = -1;
  // For a multi-value stage: the types, the registers of the element (of a reduction: combined with the elements before
  // it), and the initial values of a reduction.
  std::vector<DType> types;
  std::vector<int> results;
  std::vector<scalar::Value> start;
  std::optional<Dot> dot;  // if set, the last step axis is not in `levels`, and `result` is unused
  Shape shape;
  // the tensors that loads read, by number, each with the index of its value
  std::vector<std::pair<te::Tensor, size_t>> tensors;
};

// `shapes`: the dimensions of every tensor of the program, by tensor; `shape` values are already in them.
using KnownShapes = std::unordered_map<const te::TensorNode*, Shape>;
StageProgram compile(const te::Tensor& stage, const KnownShapes& shapes, const ShapeValues& shape_values,
                     const EvalOptions& options);
// `inputs` correspond to program.tensors. Returns a tensor for each value of an element.
std::vector<Tensor> run(const StageProgram& program, const std::vector<Tensor>& inputs, const EvalOptions& options);

}  // namespace relay::eval
