// Implementations of an operator call by the best libraries of the distribution, oneDNN and OpenBLAS, ready to run.
//
//   for (LibraryCall& call : library_calls({def, attrs, inputs, output_shape}))  // one per implementation
//     call.run();                 // computes; call.result() returns the result
//
// oneDNN chooses its storage orders (format_tag::any) and finds its inputs in them; arguments named weight are packed
// ahead. If it needs an explicit order, there is a call for each suitable one. Its reference implementations are left
// out, since they are not tuned. Only float32.
//
// Precondition: prepare_libraries() first.
#pragma once

#include <functional>

#include "relay/machine/target_desc.h"
#include "relay/op/op.h"
#include "relay/tensor/tensor.h"

namespace relay::bench {

// Restricts the libraries to one thread and to vectors of `vector_bytes` (0: all that the machine has). They read that
// from the environment when they are loaded, so this restarts the program once if the environment differs.
void prepare_libraries(int vector_bytes, char** argv);

// "oneDNN 2.6.3 (at most AVX2), OpenBLAS 0.3.21 (Haswell)"
std::string libraries_text();

struct OperatorCall {
  const op::OpDef* def;
  ir::Attrs attrs;
  std::vector<Tensor> inputs;  // tuples flattened
  Shape output;

  // An attribute by name.
  template <class T>
  T get(std::string_view name) const {
    int field = def->attrs_type->find(name);
    RELAY_CHECK(field >= 0, "{} has no attribute {}", def->name, name);
    size_t index = static_cast<size_t>(field);
    T value{};
    RELAY_CHECK(
        ir::AttrConvert<T>::from(attrs ? attrs->get(index) : def->attrs_type->fields[index].default_value, &value),
        "{} of {} has another type", name, def->name);
    return value;
  }
};

struct LibraryCall {
  std::string name;  // the library and which of its implementations: "oneDNN jit:avx512_core", "OpenBLAS sgemm"
  std::function<void()> run;
  std::function<Tensor()> result;  // of the last run, in the caller's order of dimensions
};
// Empty if neither library has the operator.
std::vector<LibraryCall> library_calls(const OperatorCall& call);

}  // namespace relay::bench
