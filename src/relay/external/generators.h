// Code generators of others: what makes of a function that is marked Compiler="x" a function of a library that programs
// call (runtime/relay_external.h).
//
//   RELAY_ASSIGN(ir::Module module, external::partition(typed, "dnnl"));       functions for a compiler that we know
//   external::add_generator("mine", generate);                                 one of the process
//   RELAY_ASSIGN(lower::ExternalCodes codes, external::generate(module));      of all such functions of a module
//
// Those that are built in stand in compilers.def; a process may add others while it runs.
#pragma once

#include <functional>

#include "relay/lower/plan/external_code.h"
#include "relay/transform/pass.h"

namespace relay::external {

// `function`: typed, with the attributes Compiler and global_symbol. Its parameters and results are what the library's
// function takes and gives, tuples spread out; its constants may become the code's.
using Generator = std::function<Result<lower::ExternalCode>(const ir::FunctionRef& function)>;

struct Compiler {
  const char* name;
  const char* doc;
  Generator generate;
  transform::Partitioning (*partitioning)();  // what it takes
  // Passes that bring a program into the form that its patterns look for, with their options.
  std::vector<std::string> passes;
  std::map<std::string, ir::AttrValue> options;
};
const std::vector<Compiler>& compilers();

// From now on, in place of one that has the name.
void add_generator(const std::string& compiler, Generator generate);
// Whether the process has added one: what they make is known to nobody else.
bool has_added_generators();

// The module with what a compiler of compilers.def takes in functions of their own. unknown_target when there is none
// of this name.
Result<ir::Module> partition(const ir::Module& module, const std::string& compiler);

// By symbol. not_supported when a function is for a compiler that nobody knows.
Result<lower::ExternalCodes> generate(const ir::Module& module);

}  // namespace relay::external
