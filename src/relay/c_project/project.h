// A whole network as C99: a folder with its kernels, its steps, its weights, a self-test and a build file, which needs
// no other file of Relay.
//
//   Project project = write(program, kernels, recording, options);
//   project.files["model.c"], project.sizes.workspace
//
// The steps are those that the runtime would take (runtime/program/program.h), with every size and every place in
// memory known: a run is one function that calls one function for each step. Nothing is allocated, and there is no
// writable static data. Intermediate arrays and scratch memory are in a workspace that the caller passes; state is in
// a struct of the caller.
#pragma once

#include <map>
#include <span>

#include "relay/loop/loop.h"
#include "relay/runtime/program/program.h"

namespace relay::c_project {

struct MemoryLimit {
  std::string name;  // "psram"
  int64_t bytes = 0;
};

struct Options {
  std::string name = "model";  // begins the names of files, functions and constants: a C identifier
  std::string model, target;   // for the texts: the model's file, the machine that it was scheduled for
  std::string version;         // of Relay
  bool weights_file = false;   // weights in NAME.weights, a file to map, instead of arrays in NAME_weights.c
  bool big_endian = false;     // the byte order of that file
  int64_t memory_limit = 0;    // bytes of the workspace; 0: unlimited
  std::vector<MemoryLimit> more_memories{};  // for arrays that do not fit in the workspace, fastest first
  std::optional<MemoryLimit> read_only{};    // the memory for constants
  bool library_math = false;                 // exp, tanh and similar functions are the C library's
  bool keep_lanes = false;                   // codegen::CFunctionOptions
  bool machine_code = false;                 // kernels are in NAME_kernels.o, instead of C
  std::string object{};                      // that file; its kernels have the names of object_name()
  bool rounds_once = false;                  // a product and a sum have one rounding in machine code
  std::map<std::string, int64_t> most{};     // upper bounds of shape variables, by name
  int64_t arena_bytes = 0;                   // of a program with functions: memory for values and frames
  bool arena_bytes_are_measured = false;
};

// A value of a program with functions.
struct Recorded {
  std::optional<Tensor> tensor{};  // unset: a tuple, or of a data type
  std::optional<uint32_t> type{};  // the index in Program::types; unset: a tuple
  uint32_t tag = 0;
  std::vector<Recorded> fields{};
};

// The values of one run of the program, for the self-test.
struct Recording {
  std::vector<Tensor> inputs, outputs;           // of a graph
  std::vector<int64_t> sizes{};                  // of its shape variables
  std::vector<Recorded> arguments{}, results{};  // of a program with functions, by port
};

struct Sizes {
  int64_t constants = 0, workspace = 0, state = 0;  // bytes
  std::vector<MemoryLimit> more{};                  // of other memories
};
struct Project {
  std::map<std::string, std::string> files;  // contents by name
  Sizes sizes;
};

// The properties of a program that no C project can have, all of them: calls of other libraries, sizes without an upper
// bound. Empty if there are none. `what`: of which the messages speak.
Diagnostics refusals(const runtime::Program& program, const Options& options, std::string_view what = "a C project");

// The name of a kernel in Options::object.
std::string object_name(const std::string& name, const std::string& kernel);

// True for a name that `Options::name` may have.
bool is_c_name(const std::string& name);

// `program`: without refusals, and with the values of all constants. `kernels`: as lowering made them, by
// Program::kernels. A donated input (Program::donations) with a result is state. If the workspace would exceed its
// limit, the steps get the order that needs the least memory; out_of_memory if that is still too much.
Result<Project> write(const runtime::Program& program, std::span<const loop::Kernel> kernels,
                      const Recording& recording, const Options& options);

}  // namespace relay::c_project
