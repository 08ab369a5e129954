// The model of a segment: arrays, and steps that compute on them. It is declared once, for both of its forms:
//
//   - Lowering makes segments over symbolic sizes (lower/plan/function.h: Symbolic). Their steps own their lists, and
//     call kernels in the loop language.
//   - A program has resolved sizes (Resolved), which the runtime evaluates for the sizes of its inputs. All steps of a
//     segment share pools, so that a run evaluates every size once.
//
// exec/segment.cpp makes the second from the first.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "relay/base/dtype.h"
#include "relay/runtime/program/size_expr.h"
#include "relay/tensor/placement.h"

namespace relay::runtime {

// A range of a pool: `operands`, `sizes` or `lists`.
struct Range {
  uint32_t begin = 0, count = 0;
  bool operator==(const Range&) const = default;
};

// The form of segments in a program.
struct Resolved {
  using Size = SizeExpr;
  using Arrays = Range;      // in Segment::operands
  using Sizes = Range;       // in Segment::sizes
  using OneSize = uint32_t;  // in Segment::sizes
};

// An output that may use the storage of an input of its type and shape. No step reads that input after a step has
// written the output. Each run decides: the storage is used if the caller has the only value and donates it.
struct InPlace {
  uint32_t input = 0;  // its position
  // Steps write only changed elements: before the first step the output must hold the input's elements.
  bool updates = false;
  bool operator==(const InPlace&) const = default;
};

enum class ArrayKind : uint8_t { Input, Output, Constant, Temporary, View };

template <class Form>
struct ArrayOf {
  using Kind = ArrayKind;
  Kind kind = Kind::Temporary;
  std::string name;
  DType dtype;
  std::vector<typename Form::Size> shape;  // logical
  typename Form::Size bytes{};             // as stored, with halos and padding; View: its own elements
  uint32_t index = 0;                      // Input: its position; Output: also, but 0 in a program; Constant: in
                                           // Program::constants; View: its base, a temporary or an output
  typename Form::Size offset{};            // View: bytes from the beginning of its base, whose strides it has
  Rows rows = Rows::None;                  // for inputs and outputs
  std::optional<InPlace> in_place{};       // Output
  MemorySpace memory = host_memory;        // View: that of its base; Input and Output of a graph: the host's
};

enum class StepKind : uint8_t {
  Kernel,        // calls `kernel` with arrays `args`, all in one memory, shape arguments `sizes`, on `tasks` tasks
  Copy,          // array args[1] = array args[0], of the same size in bytes; the only step between memories
  KernelWhen,    // as Kernel, if the last of args, in the host's memory, has a byte that is not zero; the kernel gets
                 // the others
  CheckIndices,  // ends the run unless the integers args[0] fit `sizes`, as index_checks[kernel] states; on the host
  External,      // calls function `kernel` of Program::externals with args, its inputs followed by its outputs; on the
                 // host
};
constexpr int step_kind_count = static_cast<int>(StepKind::External) + 1;

template <class Form>
struct StepOf {
  using Kind = StepKind;
  Kind kind = Kind::Kernel;
  uint32_t kernel = 0;
  typename Form::Arrays args{};
  typename Form::Sizes sizes{};    // kernels, CheckIndices
  typename Form::OneSize tasks{};  // kernels
  bool calls_kernel() const { return kind == Kind::Kernel || kind == Kind::KernelWhen; }
  bool operator==(const StepOf&) const = default;
};

// Steps that are repeated as a sequence: kernels [first, first + count), `times` times. The first size of each is
// replaced by the number of the repetition, from 0.
template <class Form>
struct RepeatOf {
  uint32_t first = 0, count = 0;
  typename Form::OneSize times{};
  bool operator==(const RepeatOf&) const = default;
};

// The meaning of the integers of an array. They are indices in [-extent, extent), where negative ones count from the
// end; or, for no_axis (tensor/index_check.h), other numbers in [0, extent). The extents are the step's sizes: one for
// all, or one for each slice along the first dimension (after that of calls).
struct IndexCheck {
  std::string op;             // "take"
  std::string place;          // in the source or the model, for messages; may be empty
  std::vector<int64_t> axes;  // of the data, one per extent; -1: all axes, flattened; or no_axis
  Rows rows = Rows::None;     // of the array
};

// A function outside of Relay (relay_external.h): its library, and the data from which the library creates it, beside
// constants.
struct ExternalFunction {
  std::string library, symbol;
  std::string payload;  // any bytes
};

}  // namespace relay::runtime
