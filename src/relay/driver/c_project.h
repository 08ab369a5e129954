// Compiled programs as C projects (c_project/project.h): what cannot leave is refused, and one run is recorded.
#pragma once

#include "relay/c_project/project.h"
#include "relay/driver/compile.h"
#include "relay/runtime/functions/value.h"

namespace relay::driver {

// The target that a C project is scheduled for unless another one is given.
constexpr const char* c_project_target = "portable";

// The compilation for a C project: nothing is run, and calls do not wait for each other.
void prepare_for_c(Options& options);

// The sizes of the L2 cache that compilations for a limited workspace assume one after the other, by the limit.
constexpr double cache_shares[] = {0.5, 0.375, 0.25, 0.125};

// not_supported for each construct of the program that has no C form, all of them at once. `compiled`: not run yet.
Status check_c_project(const Compiled& compiled, const c_project::Options& options);

// A note on the kernels that compute in floats, if the target has no float unit; otherwise empty.
std::string note_on_floats(const Compiled& compiled);

// The inputs of the recorded run. `texts`: arguments of --input; the other inputs are random. `most`: upper bounds of
// sizes, which are the sizes of random inputs.
Result<std::vector<runtime::Value>> recorded_inputs(const ir::Module& module, const std::vector<std::string>& texts,
                                                    const std::map<std::string, int64_t>& most);

// A program with the values of all constants, and the arrays of one run. By default they are those of machines without
// multiply-adds.
struct Recorded {
  std::shared_ptr<const runtime::Program> program;
  std::shared_ptr<codegen::KernelLibrary> library;
  c_project::Recording run;
};
Result<Recorded> record(const Compiled& compiled, const std::vector<runtime::Value>& inputs,
                        bool with_multiply_adds = false);

struct CProject {
  c_project::Project project;
  c_project::Recording recording;
};
// `options`: the target, the version and what follows from them are filled in here. State is what the program was
// compiled to donate for a result.
Result<CProject> c_project(const Compiled& compiled, std::vector<runtime::Value> inputs, c_project::Options options);

// Writes files (contents by name) into a folder, which is made if necessary.
Status save(const std::map<std::string, std::string>& files, const std::string& folder);

}  // namespace relay::driver
