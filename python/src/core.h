// The extension relay._core: the compiler behind a few classes and functions. python/relay builds the API on it.
//
// Every file here adds its part to the module. C++ functions that fail throw relay::CompileError, which becomes
// relay.CompileError; the GIL is released while anything is read, compiled or run. Types are stored in nodes, which
// modules share: only a thread that holds the GIL writes those of nodes that Python can reach. Passes therefore hold
// it, and what runs without it has a module of its own (separate).
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <utility>

#include "ref.h"
#include "relay/base/diagnostics.h"
#include "relay/base/printable.h"
#include "relay/ir/expr.h"
#include "relay/tensor/tensor.h"
#include "strings.h"

namespace relay::python {

namespace nb = nanobind;

// A tensor in Python. `writable` if it has no other owner: a result of a run.
struct Array {
  Tensor value;
  bool writable = false;
};

// `value` without a copy, if it is a NumPy array (not of a subclass) whose elements can be used directly: row-major,
// aligned, of a type that NumPy has. Otherwise unset; relay.data.arrays.array documents the conversion.
std::optional<Tensor> plain_numpy(nb::handle value);
// A NumPy array that shares memory, with a dtype of ml_dtypes if NumPy lacks the type.
nb::object numpy_result(Array array);

struct PyModule {
  ir::Module module;
  std::vector<std::string> output_names;
  std::vector<std::string> files{};  // the files that it was read from
};

// A copy of the module for a thread without the GIL.
ir::Module separate(const PyModule& m);

// Returns the value or throws the exception.
template <class T>
T value_or_throw(Result<T> result) {
  if (!result) throw CompileError(result.errors());
  return *std::move(result);
}

void add_errors(nb::module_& m);
void add_arrays(nb::module_& m);
void add_types(nb::module_& m);
void add_attributes(nb::module_& m);
void add_nodes(nb::module_& m);
void add_data(nb::module_& m);
void add_operators(nb::module_& m);
void add_modules(nb::module_& m);
void add_analysis(nb::module_& m);
void add_dataflow_patterns(nb::module_& m);
void add_program_values(nb::module_& m);
void add_options(nb::module_& m);
void add_compiled(nb::module_& m);
void add_explore(nb::module_& m);
void add_quantise(nb::module_& m);

}  // namespace relay::python
