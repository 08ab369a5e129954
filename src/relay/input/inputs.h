// The inputs of a run: the program's inputs (ports), the user's values (--input x=cat.npy), and seeded random numbers
// for the rest, which are reported.
//
//   x: float32[n, 3, 224, 224]     --input x=cat.npy          from a file, which also determines n
//   l: List[int32]                 --input l=expr:Cons(1, Nil)     an expression with the types of the program
//                                  --input l=list.relay       the same, from a file
//                                  --input x=0.5              this number everywhere
//                                  --input x=random:7         seed 7; the default is seed 0; data types too
//                                  --input all.npz            every array of the file, by name
//                                  --shape x=8,3,224,224      n is 8; the default is 1
#pragma once

#include <functional>
#include <map>

#include "relay/ir/expr.h"
#include "relay/runtime/executable.h"

namespace relay::input {

using DimValues = std::map<std::string, int64_t>;  // of shape variables

struct Port {
  std::string name;
  DType dtype;
  std::vector<std::string> dims;  // "3", "n", "n * 224"
  // The shape at these values; unset if a variable is missing or a size is negative.
  std::function<std::optional<Shape>(const DimValues&)> shape;
  bool is_tensor = true;
  std::string type = {};    // the type if it is not a tensor: "List[int32]"
  std::string str() const;  // "float32[n, 3, 224, 224]"
};

std::vector<Port> input_ports(const runtime::Executable& executable);
// The ports of @main, whose parameters must have known types.
Result<std::vector<Port>> input_ports(const ir::Module& module);

struct InputOptions {
  std::vector<std::string> inputs;  // arguments of --input
  std::vector<std::string> shapes;  // arguments of --shape
};

struct Inputs {
  std::vector<runtime::Value> values;  // in the order of the ports
  std::vector<std::string> notes;      // a line for each default that was used
};
// `types`: the data types that expressions may name, and @main, whose parameters are the ports.
Result<Inputs> make_inputs(const std::vector<Port>& ports, const InputOptions& request, const ir::Module& types);
// The inputs of a program, all of which must be tensors, else wrong_input.
Result<std::vector<Tensor>> tensors_of(const std::vector<runtime::Value>& values);

// "x=1,3,224,224"
struct NamedShape {
  std::string name;
  std::vector<int64_t> shape;  // -1: unspecified
};
Result<NamedShape> parse_named_shape(const std::string& text);

}  // namespace relay::input
