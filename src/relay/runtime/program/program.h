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
// so at concrete sizes everything is known before the first kernel runs: where each array lies (planner.h), how many
// tasks each kernel has. A program of one segment and no function is a model without control flow; the segment is run
// directly.
//
// A *function* is code over values (value.h) in registers, for everything else: calls, branches, closures, data. The
// first is where a run begins.
//
//   fn length(2 parameters, 4 registers) {             # of a list %0, with an accumulator %1
//     0: switch List %0 [Nil: 1, Cons: 2]
//     1: return %1!
//     2: %2 = field 1 of %0!                           # "!": the last use, the value is moved
//     3: %3 = segment add_one(%1!)
//     4: tail call length(%2!, %3!)
//   }
//
// Code names arrays, kernels, registers, types and each other by index, and validate() checks every one, and that a
// register has a value wherever it is read: a program that passes cannot make an executor read outside it, whatever
// file it came from.
#pragma once

#include "relay/runtime/program/data_type.h"
#include "relay/runtime/program/size_expr.h"
#include "relay/tensor/tensor.h"

namespace relay::runtime {

// A range of a pool: `operands`, `sizes` or `lists`.
struct Range {
  uint32_t begin = 0, count = 0;
  bool operator==(const Range&) const = default;
};

// --- segments --------------------------------------------------------------------------------------------------------

// Whether an array of a segment whose calls are batched has a row for each call, which are then its first dimension.
enum class Rows : uint8_t {
  None,   // it is the same for all calls
  First,  // the array of one call has 1 there
  Added,  // the array of one call does not have this dimension
};
constexpr int rows_count = static_cast<int>(Rows::Added) + 1;

// An output that may lie in the storage of an input of its type and shape. No step reads that input once a step has
// written the output. Whether it does lie there is decided at each run: who has the only value gives it away.
struct InPlace {
  uint32_t input = 0;
  // Steps write only elements that change: before the first step the output holds what the input does.
  bool updates = false;
  bool operator==(const InPlace&) const = default;
};

struct Array {
  enum class Kind : uint8_t { Input, Output, Constant, Temporary, View };
  Kind kind = Kind::Temporary;
  std::string name;
  DType dtype;
  std::vector<SizeExpr> shape;        // logical
  SizeExpr bytes;                     // as stored: halos and padding included; View: its own elements
  uint32_t index = 0;                 // Input: of the input; Constant: of Program::constants; View: its base, a
                                      // temporary or an output
  SizeExpr offset{};                  // View: bytes from the beginning of its base, whose strides it has
  Rows rows = Rows::None;             // of inputs and outputs
  std::optional<InPlace> in_place{};  // Output
};

struct Step {
  enum class Kind : uint8_t {
    Kernel,        // calls `kernel` with arrays `args`, shape arguments `sizes`, on `tasks` tasks
    Copy,          // array args[1] = array args[0], of the same size in bytes
    KernelWhen,    // as Kernel, if the last of args has a byte that is not zero; the kernel takes the others
    CheckIndices,  // ends the run unless the integers args[0] fit `sizes`, as index_checks[kernel] says
    External,      // calls function `kernel` of Program::externals with args, first its inputs, then its outputs
  };
  Kind kind = Kind::Kernel;
  uint32_t kernel = 0;
  Range args;          // of Segment::operands
  Range sizes;         // of Segment::sizes; Kernel, CheckIndices
  uint32_t tasks = 0;  // of Segment::sizes; Kernel only
  bool operator==(const Step&) const = default;
};
constexpr int step_kind_count = static_cast<int>(Step::Kind::External) + 1;

// Steps that are run one after the other, all of them again and again: kernels [first, first + count), sizes[times]
// times. The first size of each is the number of the time, from 0, whatever stands there.
struct Repeat {
  uint32_t first = 0, count = 0;
  uint32_t times = 0;  // of Segment::sizes
  bool operator==(const Repeat&) const = default;
};

// What the integers of an array are indices of: each is in [-extent, extent), those below zero count from the end; or
// numbers of no axis (tensor/index_check.h), in [0, extent). The extents are the step's sizes: one for all, or one for
// each slice along the first dimension (behind that of calls).
struct IndexCheck {
  std::string op;             // "take"
  std::string place;          // in the source or the model, for people; may be empty
  std::vector<int64_t> axes;  // of the data, one an extent; -1: all axes, flattened; no_axis
  Rows rows = Rows::None;     // of the array
};

// variables[variable] = (dimension `dim` of input `input` - offset) / factor. That it divides, and that all other
// dimensions agree, is checked after all variables are bound, for all dimensions alike.
struct VariableBinding {
  uint32_t variable = 0, input = 0, dim = 0;
  int64_t factor = 1, offset = 0;
};

// A fact about the shape variables that the compiler relied on and could not prove.
struct Check {
  SizeExpr condition;   // not zero: holds
  std::string message;  // who needs it: "nn.max_pool2d needs `h >= 7`"
};

// When a segment takes many calls at once (call_queue.h). Then it has one shape variable, the number of calls; every
// input has a row for each; all other sizes are constants.
enum class Batching : uint8_t {
  None,    // it is run when it is called
  Joins,   // a call waits if an argument does
  Begins,  // a call waits
};
const char* name(Batching batching);  // "none", "joins", "begins"
// What instructions may read the contents of: conditions and shapes.
constexpr bool is_read_by_code(DType dtype, size_t rank) {
  return (dtype.is_bool() && rank == 0) || (dtype == DType::int64() && rank == 1);
}
constexpr int batching_count = static_cast<int>(Batching::Begins) + 1;

struct Segment {
  std::string name;
  Batching batching = Batching::None;
  std::vector<std::string> variables;
  std::vector<uint32_t> inputs;           // arrays of kind Input
  std::vector<uint32_t> outputs;          // arrays: Output, or an Input or Constant that is returned as it is
  std::vector<std::string> output_names;  // may be empty
  std::vector<VariableBinding> bindings;
  std::vector<Check> checks;
  std::vector<Array> arrays;
  std::vector<SizeExpr> sizes;
  std::vector<uint32_t> operands;
  std::vector<IndexCheck> index_checks;
  std::vector<Step> steps;
  std::vector<Repeat> repeats;  // in the order of their steps, of which none is in two

  // The array that holds this one's elements.
  uint32_t stored_in(uint32_t array) const {
    return arrays[array].kind == Array::Kind::View ? arrays[array].index : array;
  }
};

// --- functions -------------------------------------------------------------------------------------------------------

// A register that is read. At its last use the value is moved out and the register is empty.
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
  BranchIfFalse,    // to instruction `index` if args[0], a bool tensor without dimensions, is false
  Call,             // to = function `index` of args
  TailCall,         // returns that
  MakeClosure,      // to = function `index` with its first parameters, args
  CallClosure,      // to = closure args[0] of the other args
  TailCallClosure,  // returns that
  MakeTensor,       // to = a bool tensor of zeros whose dimensions are the values of args[0], an int64 vector; for
                    // people, list: messages that name an operator and its place, and for each of the other args,
                    // which are its inputs, its name and what it must be (or none of all that)
  MakeReference,    // to = a new reference to args[0]
  ReadReference,    // to = what args[0] refers to
  WriteReference,   // args[0] refers to args[1]
  Drop,             // empties args[0], which says that it is the last use
  Return,           // args[0]
  Fail,             // ends the run with message `index` of the function
};
constexpr int op_count = static_cast<int>(Op::Fail) + 1;

// Writes register `to`.
constexpr bool gives_value(Op op) {
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
// The instruction after it is reached otherwise only.
constexpr bool ends_flow(Op op) {
  return op == Op::Jump || op == Op::SwitchTag || op == Op::TailCall || op == Op::TailCallClosure || op == Op::Return ||
         op == Op::Fail;
}

struct Instruction {
  Op op = Op::Return;
  uint16_t tag = 0;
  uint32_t index = 0;
  uint32_t to = 0;  // a register; what it held is dropped
  Range args{};     // of Function::operands, read from the first to the last
  Range list{};     // of Function::lists
  bool operator==(const Instruction&) const = default;
};

struct Function {
  std::string name;
  uint32_t parameters = 0;  // registers [0, parameters) have values at the beginning, the others are empty
  uint32_t registers = 0;
  // The parameters of the function of a closure: what it captured, then (when `takes_self`) the closure itself, then
  // the arguments. So a closure that calls itself is in no cycle.
  bool takes_self = false;
  std::vector<Operand> operands;
  std::vector<uint32_t> lists;
  std::vector<std::string> messages;  // of Fail: what went wrong and where in the source; of MakeTensor
  std::vector<Instruction> code;      // ends with a Return, Jump, TailCall, TailCallClosure, SwitchTag or Fail
};

// A parameter or result of a program with functions.
struct Port {
  std::string name;
  std::string type;  // "Tensor[(m, 4), float32]", "List[Tensor[(), int32]]"; for people
  bool is_tensor = false;
  DType dtype{};                     // of a tensor, and ...
  std::vector<SizeExpr> shape{};     // ... over Signature::variables
  std::optional<ObjectKind> kind{};  // of an input that is not a tensor: refuse others (none: the type is a parameter)
  uint32_t data_type = 0;            // of data: which of Program::types
  uint32_t fields = 0;               // of a tuple: how many
};

// A field of a tuple among the inputs. Ports of inputs are numbered: the inputs, then fields.
struct FieldPort {
  Port port;
  uint32_t of = 0;  // the tuple's port, of a lower number
  uint32_t index = 0;
};

// What the first function takes and gives; shapes are bound and checked as those of a segment are.
struct Signature {
  std::vector<std::string> variables;     // an unknown dimension is a variable of its own, named "?"
  std::vector<Port> inputs;               // by parameter
  std::vector<Port> outputs;              // the result; when it is a tuple its fields, and so on
  std::vector<VariableBinding> bindings;  // their inputs are ports
  std::vector<Check> checks;
  std::vector<FieldPort> fields{};  // all of the inputs' tuples, of tuples in them too

  size_t ports() const { return inputs.size() + fields.size(); }
  const Port& port(size_t number) const {
    return number < inputs.size() ? inputs[number] : fields[number - inputs.size()].port;
  }
};
// The same for who knows shapes of the inputs only: sizes that fields say are not known.
Signature without_fields(Signature s);

// --- programs --------------------------------------------------------------------------------------------------------

struct KernelEntry {
  std::string name;
  int64_t scratch_bytes = 0;
};

// A constant that is larger than what it is made of, such as a weight in Winograd's form: a file holds what it is made
// of, and the kernel makes it when the program is linked.
struct Preparation {
  // Whether results of so many bytes may be made of so many bytes of constants that are stored: by one, and by all of
  // a program together, so that few bytes of a file ask for little memory.
  static bool may_make(double made, double stored) { return made <= 64 * stored; }

  uint32_t kernel = 0;
  std::vector<uint32_t> args;  // constants, as the kernel takes them
  uint32_t result = 0;         // which of args it writes; nothing else does
  std::vector<int64_t> sizes;
  int64_t tasks = 1;
  bool operator==(const Preparation&) const = default;
};

// A function outside of Relay (relay_external.h): the library that has it, and what that makes it of.
struct ExternalEntry {
  std::string library, symbol;
  std::string payload;              // any bytes
  std::vector<uint32_t> constants;  // of Program::constants
  uint32_t inputs = 0, outputs = 0;
};

// An input that the caller gives away with each run: what it held is gone when the run ends, also when it fails.
struct Donation {
  uint32_t input = 0;
  // The result that lies in the input's storage after each run, copied there if it has to be. None: whichever result
  // takes it, if one can.
  std::optional<uint32_t> result{};
  bool operator==(const Donation&) const = default;
};

struct Program {
  std::vector<Segment> segments;
  std::vector<Function> functions;  // the first is the entry; none: the program is its one segment
  Signature signature;              // of the first function
  std::vector<DataType> types;
  std::vector<KernelEntry> kernels;
  // As stored (packed). Those that preparations make have type and shape, and no data. Linking aligns all to 64 bytes.
  std::vector<Tensor> constants;
  std::vector<Preparation> preparations;  // in this order
  std::vector<ExternalEntry> externals;
  std::vector<Donation> donations;  // each input once
  bool is_graph() const { return functions.empty(); }
  // Of a graph.
  const Segment& graph() const { return segments[0]; }
};

// What a program may be at most. Far above any model; low enough that no count can exhaust memory before it is checked.
struct Limits {
  static constexpr size_t segments = 1 << 20, arrays = 1 << 20, steps = 1 << 22, operands = 1 << 24, sizes = 1 << 22;
  static constexpr size_t functions = 1 << 20, registers = 1 << 16, instructions = 1 << 22, fields = 1 << 16;
  static constexpr size_t types = 1 << 16, constructors = 1 << 16;
  static constexpr size_t kernels = 1 << 20, constants = 1 << 20, rank = 32, variables = 4096, words = 4096,
                          text = 1 << 16, notes = 64, note_text = 1 << 26;
  static constexpr size_t externals = 1 << 20, payload = size_t{1} << 30;
  static constexpr int64_t repeated_steps = 1 << 20;  // of a segment, each time that they are run
  static constexpr int64_t array_bytes = int64_t{1} << 46;
};

// Every index, range, expression, rank and name, and that registers are set before they are read. What is wrong comes
// as corrupt_file or limit_exceeded.
Status validate(const Program& program);

// What a step calls, for people: a kernel's name, an external function's, "copy", "check_indices".
std::string name_of(const Program& program, const Step& step);
// Text for people: `relay opt --emit program`.
std::string str(const Program& program);
// One whose bytes a preparation makes.
inline bool is_prepared(const Tensor& constant) { return constant.data() == nullptr && constant.bytes() > 0; }

// What a graph takes and gives.
Signature graph_signature(const Program& graph);
// A graph as a program with a function that runs its segment: several outputs become a tuple.
Program with_function(const Program& graph);

// Reads the shape variables off the inputs' shapes and checks all dimensions and conditions; messages (wrong_input)
// name the input, the dimension and both values. Of a signature, only the inputs that are tensors have shapes; the
// others' are ignored. `inside`: the segment's inputs are none of the run's, so that a condition that does not hold is
// an operator's (constraint).
Result<std::vector<int64_t>> bind_variables(const Segment& segment, std::span<const Shape> input_shapes,
                                            bool inside = false);
Result<std::vector<int64_t>> bind_variables(const Signature& signature, std::span<const Shape> input_shapes);

}  // namespace relay::runtime
