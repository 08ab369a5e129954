// The extension relay._core: the compiler behind a few classes and functions. python/relay makes the API of it.
//
// Every file here adds its part to the module. C++ functions that fail throw relay::CompileError, which becomes
// relay.CompileError; the GIL is released while anything is read, compiled or run.
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

// A tensor in Python. `writable` when nobody else has it: a result of a run.
struct Array {
  Tensor value;
  bool writable = false;
};

// `value` where it lies, if it is a NumPy array (of no subclass) with elements that are used as they are: row-major,
// aligned, of a type that NumPy has. Else nothing: relay.arrays.array says what becomes of it.
std::optional<Tensor> plain_numpy(nb::handle value);
// As a NumPy array that shares memory; of a type that NumPy does not have with that of ml_dtypes.
nb::object numpy_result(Array array);

struct PyModule {
  ir::Module module;
  std::vector<std::string> output_names;
  std::vector<std::string> files{};  // that it was read from
};

// The value, or the exception.
template <class T>
T take(Result<T> result) {
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
void add_compiled(nb::module_& m);

}  // namespace relay::python
