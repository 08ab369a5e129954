// What the best libraries of the distribution have for a call of an operator: oneDNN and OpenBLAS, ready to run.
//
//   for (LibraryCall& call : library_calls({def, attrs, inputs, output_shape}))  // one for each way that a library has
//     call.run();                 // computes; call.result() is what came out
//
// oneDNN chooses its storage orders (format_tag::any) and finds its inputs in them; arguments named weight are packed
// ahead. Where it wants to be told the order, there is a call for each that suits. Its reference implementations are
// left out: nobody tuned them. Only float32.
//
// Precondition: prepare_libraries() first.
#pragma once

#include <functional>

#include "relay/base/target_desc.h"
#include "relay/op/op.h"
#include "relay/tensor/tensor.h"

namespace relay::bench {

// Holds the libraries to one thread and to `vector_bytes` (0: all that the machine has). They read that from the
// environment when they are loaded, so this starts the program anew, once, where the environment says something else.
void prepare_libraries(int vector_bytes, char** argv);

// "oneDNN 2.6.3 (at most AVX2), OpenBLAS 0.3.21 (Haswell)"
std::string libraries_text();

struct OperatorCall {
  const op::OpDef* def;
  ir::Attrs attrs;
  std::vector<Tensor> inputs;  // tuples spread out
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
  std::function<Tensor()> result;  // of the last run, in the caller's order
};
// None where neither library has it.
std::vector<LibraryCall> library_calls(const OperatorCall& call);

}  // namespace relay::bench
