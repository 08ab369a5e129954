// The program: the one lowered form that every executor runs. It has two levels.
//
// A *segment* is kernel calls over arrays, in a straight line:
//
//   segment layer(x: float32[m, 64]) {
//     temporary %1: float32[m, 32], m * 128 bytes
//     output out: float32[m, 32], m * 128 bytes
//     kernel dense(x, weight, %1) shape (m) tasks m
//     kernel relu(%1, out) tasks m
//   }
//
// It binds its shape variables from its inputs' dimensions and checks the rest. Every size is an expression over them,
// so at concrete sizes everything is known before the first kernel runs: the place of each array (planner.h), and the
// number of tasks of each kernel. A program of one segment and no function is a model without control flow; the segment
// is run directly.
//
// A *function* is code over values (value.h) in registers, for everything else: calls, branches, closures, data. A run
// begins with the first function.
//
//   fn length(2 parameters, 4 registers) {             # of a list %0, with an accumulator %1
//     0: switch List %0 [Nil: 1, Cons: 2]
//     1: return %1!
//     2: %2 = field 1 of %0!                           # "!": the last use, the value is moved
//     3: %3 = segment add_one(%1!)
//     4: tail call length(%2!, %3!)
//   }
//
// Code refers to arrays, kernels, registers, types and functions by index. validate() checks every index, and that
// every register has a value where it is read: a program that passes cannot make an executor access memory outside of
// it, whatever file it came from.
#pragma once

#include "relay/base/device_name.h"
#include "relay/runtime/program/data_type.h"
#include "relay/runtime/program/segment.h"
#include "relay/tensor/tensor.h"

namespace relay::runtime {

// --- segments --------------------------------------------------------------------------------------------------------

using Array = ArrayOf<Resolved>;
using Step = StepOf<Resolved>;
using Repeat = RepeatOf<Resolved>;

// variables[variable] = (dimension `dim` of input `input` - offset) / factor. After all variables are bound, all
// dimensions are checked for exact division and agreement.
struct VariableBinding {
  uint32_t variable = 0, input = 0, dim = 0;
  int64_t factor = 1, offset = 0;
};

// An entry check: a fact about the shape variables that the compiler relied on and could not prove.
struct Check {
  SizeExpr condition;   // holds if not zero
  std::string message;  // with the operator that requires it: "nn.max_pool2d needs `h >= 7`"
};

// The batching of a segment's calls (call_queue.h). A batched segment has one shape variable, the number of calls;
// every input has a row for each; all other sizes are constants.
enum class Batching : uint8_t {
  None,    // runs immediately
  Joins,   // a call waits if an argument waits
  Begins,  // every call waits
};
const char* name(Batching batching);  // "none", "joins", "begins"
// True if instructions may read the contents of such values: conditions and shapes.
constexpr bool is_read_by_code(DType dtype, size_t rank) {
  return (dtype.is_bool() && rank == 0) || (dtype == DType::int64() && rank == 1);
}
constexpr int batching_count = static_cast<int>(Batching::Begins) + 1;

struct Segment {
  std::string name;
  Batching batching = Batching::None;
  std::vector<std::string> variables;
  std::vector<uint32_t> inputs;           // arrays of kind Input
  std::vector<uint32_t> outputs;          // arrays: Output, or an Input or Constant that is returned unchanged
  std::vector<std::string> output_names;  // may be empty
  std::vector<VariableBinding> bindings;
  std::vector<Check> checks;
  std::vector<Array> arrays;
  std::vector<SizeExpr> sizes;
  std::vector<uint32_t> operands;
  std::vector<IndexCheck> index_checks;
  std::vector<Step> steps;
  std::vector<Repeat> repeats;  // in the order of their steps; they do not overlap

  std::span<const uint32_t> args(const Step& step) const {
    return {operands.data() + step.args.begin, step.args.count};
  }
  // The array whose storage holds this one's elements.
  uint32_t stored_in(uint32_t array) const {
    return arrays[array].kind == Array::Kind::View ? arrays[array].index : array;
  }
  // The device that a step runs on. A copy between memories is a step of neither side alone: its destination counts.
  MemorySpace device_of(const Step& step) const {
    if (step.args.count == 0) return host_memory;
    return arrays[operands[step.args.begin + (step.kind == Step::Kind::Copy ? 1 : 0)]].memory;
  }
  // The memories that a copy reads and writes differ.
  bool is_transfer(const Step& step) const {
    return step.kind == Step::Kind::Copy &&
           arrays[operands[step.args.begin]].memory != arrays[operands[step.args.begin + 1]].memory;
  }
};

// --- functions -------------------------------------------------------------------------------------------------------

// A register that is read. The last use moves the value out and leaves the register empty.
struct Operand {
  uint32_t reg : 31 = 0;
  uint32_t last : 1 = 0;
  bool operator==(const Operand&) const = default;
};

enum class Op : uint8_t {
  Constant,         // to = constant `index`
  Move,             // to = args[0]
  RunSegment,       // registers `list` = segment `index` of args
  MakeTuple,        // to = args
  MakeData,         // to = constructor `tag` of type `index` of args
  GetField,         // to = field `index` of the tuple or data value args[0]
  SwitchTag,        // to instruction list[the tag of args[0]], a value of type `index`; as many targets as constructors
  Jump,             // to instruction `index`
  BranchIfFalse,    // to instruction `index` if args[0], a scalar bool tensor, is false
  Call,             // to = function `index` of args
  TailCall,         // returns the result of such a call
  MakeClosure,      // to = function `index` with its first parameters, args
  CallClosure,      // to = closure args[0] of the other args
  TailCallClosure,  // returns the result of such a call
  MakeTensor,       // to = a bool tensor of zeros whose dimensions are the values of args[0], an int64 vector.
                    // `list`, for errors: messages that name an operator and its place, and for each of the other
                    // args, which are its inputs, its name and the requirement on it (or empty)
  MakeReference,    // to = a new reference to args[0]
  ReadReference,    // to = the value that args[0] refers to
  WriteReference,   // makes args[0] refer to args[1]
  Drop,             // empties args[0], which must be marked as the last use
  Return,           // args[0]
  Fail,             // ends the run with message `index` of the function
};
constexpr int op_count = static_cast<int>(Op::Fail) + 1;

// True if the instruction writes register `to`.
constexpr bool has_result(Op op) {
  switch (op) {
    case Op::Constant:
    case Op::Move:
    case Op::MakeTuple:
    case Op::MakeData:
    case Op::GetField:
    case Op::Call:
    case Op::MakeClosure:
    case Op::CallClosure:
    case Op::MakeTensor:
    case Op::MakeReference:
    case Op::ReadReference: return true;
    default: return false;
  }
}
// True if control never falls through to the next instruction.
constexpr bool ends_flow(Op op) {
  return op == Op::Jump || op == Op::SwitchTag || op == Op::TailCall || op == Op::TailCallClosure || op == Op::Return ||
         op == Op::Fail;
}

struct Instruction {
  Op op = Op::Return;
  uint16_t tag = 0;
  uint32_t index = 0;
  uint32_t to = 0;  // a register; its previous value is dropped
  Range args{};     // in Function::operands, read from the first to the last
  Range list{};     // in Function::lists
  bool operator==(const Instruction&) const = default;
};

struct Function {
  std::string name;
  uint32_t parameters = 0;  // registers [0, parameters) have values initially, the others are empty
  uint32_t registers = 0;
  // The parameters of a closure's function: the captured values, then (if `takes_self`) the closure itself, then the
  // arguments. So a recursive closure is not part of a cycle.
  bool takes_self = false;
  std::vector<Operand> operands;
  std::vector<uint32_t> lists;
  std::vector<std::string> messages;  // Fail: the error and its place in the source; or of MakeTensor
  std::vector<Instruction> code;      // ends with a Return, Jump, TailCall, TailCallClosure, SwitchTag or Fail
};

// A parameter or result of a program with functions.
struct Port {
  std::string name;
  std::string type;  // for messages: "Tensor[(m, 4), float32]", "List[Tensor[(), int32]]"
  bool is_tensor = false;
  DType dtype{};                  // for a tensor, and ...
  std::vector<SizeExpr> shape{};  // ... over Signature::variables
  // for an input that is not a tensor: refuse other kinds (unset if the type is a parameter)
  std::optional<ObjectKind> kind{};
  uint32_t data_type = 0;  // for data: index in Program::types
  uint32_t fields = 0;     // for a tuple: its number of fields
};

// A field of a tuple among the inputs. Ports are numbered: the inputs first, then the fields.
struct FieldPort {
  Port port;
  uint32_t of = 0;  // the tuple's port, which has a lower number
  uint32_t index = 0;
};

// The inputs and outputs of the first function; shapes are bound and checked like those of a segment.
struct Signature {
  std::vector<std::string> variables;     // each unknown dimension is a separate variable, named "?"
  std::vector<Port> inputs;               // by parameter
  std::vector<Port> outputs;              // the result; a tuple is flattened into its fields
  std::vector<VariableBinding> bindings;  // their inputs are ports
  std::vector<Check> checks;
  std::vector<FieldPort> fields{};  // of all tuples among the inputs, nested ones too

  size_t ports() const { return inputs.size() + fields.size(); }
  const Port& port(size_t number) const {
    return number < inputs.size() ? inputs[number] : fields[number - inputs.size()].port;
  }
};
// The signature without fields, for callers that know only the shapes of the inputs: sizes that only fields determine
// become unknown.
Signature without_fields(Signature s);

// --- programs --------------------------------------------------------------------------------------------------------

struct KernelEntry {
  std::string name;
  int64_t scratch_bytes = 0;
};

// A constant that is larger than its sources, such as a weight in Winograd's form: a file holds the sources, and a
// kernel computes the constant when the program is linked.
struct Preparation {
  // True if `made` bytes of results may be computed from `stored` bytes of constants. Applies to each preparation and
  // to all of a program together, so that a small file cannot demand much memory.
  static bool is_within_ratio(double made, double stored) { return made <= 64 * stored; }

  uint32_t kernel = 0;
  std::vector<uint32_t> args;  // constants, in the order of the kernel's parameters
  uint32_t result = 0;         // the index in args that it writes; nothing else writes it
  std::vector<int64_t> sizes;
  int64_t tasks = 1;
  bool operator==(const Preparation&) const = default;
};

struct ExternalEntry : ExternalFunction {
  std::vector<uint32_t> constants;  // indices in Program::constants
  uint32_t inputs = 0, outputs = 0;
};

// An input that each run donates: its contents are lost at the end of the run, even if the run fails.
struct Donation {
  uint32_t input = 0;
  // The result that is in the input's storage after each run, copied there if necessary. If unset, any result that can
  // may use the storage.
  std::optional<uint32_t> result{};
  bool operator==(const Donation&) const = default;
};

struct Program {
  std::vector<DeviceName> devices{DeviceName{}};  // without duplicates; the first is the host
  std::vector<Segment> segments;
  std::vector<Function> functions;  // the first is the entry; if empty, the program is its one segment
  Signature signature;              // of the first function
  std::vector<DataType> types;
  std::vector<KernelEntry> kernels;
  // Constants as stored (packed). Those that preparations compute have type and shape but no data. Linking aligns all
  // to 64 bytes.
  std::vector<Tensor> constants;
  std::vector<Preparation> preparations;  // in this order
  std::vector<ExternalEntry> externals;
  std::vector<Donation> donations;  // each input once
  // True if kernels compute subnormal numbers like others (docs/numerics.md). Otherwise these count as zero.
  bool keeps_subnormals = false;
  bool is_graph() const { return functions.empty(); }
  // The segment of a graph.
  const Segment& graph() const { return segments[0]; }
};

// Limits on the size of a program. Far above any model; low enough that no count can exhaust memory before it is
// checked.
struct Limits {
  static constexpr size_t segments = 1 << 20, arrays = 1 << 20, steps = 1 << 22, operands = 1 << 24, sizes = 1 << 22;
  static constexpr size_t functions = 1 << 20, registers = 1 << 16, instructions = 1 << 22, fields = 1 << 16;
  static constexpr size_t types = 1 << 16, constructors = 1 << 16;
  static constexpr size_t devices = 64;
  static constexpr size_t kernels = 1 << 20, constants = 1 << 20, rank = 32, variables = 4096, words = 4096,
                          text = 1 << 16, notes = 64, note_text = 1 << 26;
  static constexpr size_t externals = 1 << 20, payload = size_t{1} << 30;
  static constexpr int64_t repeated_steps = 1 << 20;  // per segment, counting every repetition
  static constexpr int64_t array_bytes = int64_t{1} << 46;
};

// Checks every index, range, expression, rank and name, and that registers are set before they are read. Errors are
// corrupt_file or limit_exceeded.
Status validate(const Program& program);

// The callee of a step of the segment, for display: the name of a kernel or an external function, "copy",
// "copy cpu:0 to cpu:1", "check_indices".
std::string name_of(const Program& program, const Segment& segment, const Step& step);
// The program as text for display: `relay opt --emit program`.
std::string str(const Program& program);
// True for a constant whose bytes a preparation computes.
inline bool is_prepared(const Tensor& constant) { return constant.data() == nullptr && constant.bytes() > 0; }

// The inputs and outputs of a graph.
Signature graph_signature(const Program& graph);
// A graph as a program with a function that runs its segment: several outputs become a tuple.
Program with_function(const Program& graph);

// Binds the shape variables from the inputs' shapes and checks all dimensions and conditions; messages (wrong_input)
// name the input, the dimension and both values. In a signature, only inputs that are tensors have shapes; the others
// are ignored. `inside`: the segment's inputs are not inputs of the run, so that a failed condition is an operator's
// (constraint).
Result<std::vector<int64_t>> bind_variables(const Segment& segment, std::span<const Shape> input_shapes,
                                            bool inside = false);
Result<std::vector<int64_t>> bind_variables(const Signature& signature, std::span<const Shape> input_shapes);

}  // namespace relay::runtime
