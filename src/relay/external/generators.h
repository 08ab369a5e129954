// External code generators, which turn a function marked Compiler="x" into a function of a library that programs call
// (runtime/relay_external.h).
//
//   RELAY_ASSIGN(ir::Module module, external::partition(typed, "dnnl"));       functions for a built-in compiler
//   external::add_generator("mine", generate);                                 a generator of the process
//   RELAY_ASSIGN(lower::ExternalCodes codes, external::generate(module));      code of all such functions of a module
//
// Built-in generators are listed in compilers.def; a process may add others while it runs.
#pragma once

#include <functional>

#include "relay/lower/plan/external_code.h"
#include "relay/transform/pass.h"

namespace relay::external {

// `function`: typed, with the attributes Compiler and global_symbol. Its parameters and results are those of the
// library's function, with tuples flattened; its constants may become the code's.
using Generator = std::function<Result<lower::ExternalCode>(const ir::FunctionRef& function)>;

using Figures = std::vector<std::pair<std::string, double>>;

struct Compiler {
  const char* name;
  const char* doc;
  Generator generate;
  transform::Partitioning (*partitioning)();  // the parts that it takes
  // Passes that bring a program into the form that its patterns match, with their options.
  std::vector<std::string> passes;
  std::map<std::string, ir::AttrValue> options;
  // Figures of a function for reports, by name; null if there are none.
  Figures (*figures)(const std::string& payload, const std::vector<Tensor>& constants) = nullptr;
};
const std::vector<Compiler>& compilers();

// Adds a generator, or replaces the one of this name.
void add_generator(const std::string& compiler, Generator generate);
// True if the process has added a generator: code of added generators is unknown to other processes.
bool has_added_generators();

// Moves the parts that a compiler of compilers.def takes into separate functions. unknown_target if none has this name.
Result<ir::Module> partition(const ir::Module& module, const std::string& compiler);

// Figures of a library's function, such as its cycles; empty if the library's compiler states none.
Figures figures(const std::string& library, const std::string& payload, const std::vector<Tensor>& constants);

// Code by symbol. not_supported if a function is for an unknown compiler.
Result<lower::ExternalCodes> generate(const ir::Module& module);

}  // namespace relay::external
