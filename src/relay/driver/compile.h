// compile(): turns a module into an executable, with a report.
//
//   RELAY_ASSIGN(TargetDesc target, find_target("native"));
//   RELAY_ASSIGN(Compiled model, compile(module, {.lower = {.target = target}}));
//   Result<std::vector<Tensor>> outputs = model.executable->run(inputs);
#pragma once

#include "relay/build/provenance.h"
#include "relay/driver/options.h"
#include "relay/driver/upgrade.h"
#include "relay/exec/build.h"
#include "relay/loop/access_figures.h"
#include "relay/lower/lower.h"

namespace relay::driver {

struct PassReport {
  std::string name;
  double ms = 0;
};

struct KernelReport {
  std::string name;
  int64_t calls = 0;                            // per run
  std::vector<std::string> nodes{};             // nodes of the model that these calls compute (provenance.h)
  std::optional<loop::AccessFigures> access{};  // of kernels on GPUs and other devices with threads
};

struct GroupReport {
  std::string name, rule;
  double flops = 0;
  bool scheduled_by_hand = false;
  std::string key{};        // identifies the computation (lower/schedule_group.h)
  bool tuned = false;       // true if a tuning record made the schedule
  std::string algorithm{};  // the algorithm that gave the group its form, or ""; by its cost model:
  double saved_ms = 0;      // per run
  int64_t added_bytes = 0;  // of constants that are stored in another form as well
};

// An external function that the program calls (runtime/relay_external.h).
struct ExternalReport {
  std::string library, symbol;
  int64_t steps = 0;                                      // number of steps that call it
  int64_t payload = 0;                                    // its bytes, and
  int64_t bytes = 0;                                      // ... the bytes of its constants
  std::vector<std::pair<std::string, double>> figures{};  // of its compiler, such as cycles
};

// Copies from one memory to another.
struct CopyReport {
  std::string from, to;  // devices
  int64_t copies = 0;    // steps of all segments
  int64_t bytes = 0;     // of those of known size, together
};

struct CompileReport {
  TargetDesc target;
  int threads = 1;
  int opt_level = default_opt_level;
  lower::Numerics numerics = lower::Numerics::Fp32;
  std::vector<PassReport> passes;
  std::vector<KernelReport> kernels;
  std::vector<GroupReport> groups;
  std::vector<ExternalReport> externals;
  std::vector<CopyReport> copies;
  std::vector<build::NodeReport> nodes;        // nodes of the model, in its order
  std::vector<build::SegmentReport> batching;  // by segment, for a program with functions
  double passes_ms = 0, lower_ms = 0, codegen_ms = 0;
  double constant_ms = 0;               // compiling and running the work on constants
  int64_t constant_steps = 0;           // kernel calls on weights that were run once, here
  int64_t constant_bytes = 0;           // in the file
  int64_t prepared_bytes = 0;           // of further constants, which are computed from those when it is loaded
  int64_t model_bytes = 0;              // of the model's own constants
  int64_t functions = 0, segments = 0;  // of a program with functions; otherwise 0 and 1
  runtime::Executor executor = runtime::Executor::Graph;
  runtime::Tier tier = runtime::Tier::Full;  // of the first run
  std::vector<DonationReport> donations;
  std::vector<std::string> notes;     // warnings of passes and similar messages
  std::vector<std::string> refusals;  // groups that are slower than they could be, with the reason (lower::Refusal)
  double total_ms() const { return passes_ms + lower_ms + constant_ms + codegen_ms; }
};
// The counts that messages and reports name: groups, kernels that a run calls, and these calls.
struct Counts {
  int64_t groups = 0, kernels = 0, calls = 0;
};
Counts counts_of(const CompileReport& report);
// The bytes of temporaries that a run plans, the most of any segment. Unset if sizes are only known at a run, or no
// plan is possible.
std::optional<int64_t> planned_bytes(const runtime::Program& program);
// The report of a program as JSON, for tools and Python. Without `times`, times are null, so that an artifact's bytes
// do not depend on them.
std::string json(const CompileReport& report, const runtime::Program& program, bool times = true);

struct Compiled {
  std::shared_ptr<runtime::Executable> executable;  // null unless run.make_executable
  ir::Module module;                                // after the passes of the level
  std::vector<lower::LoweredFunction> lowered;      // of each segment
  exec::Built built;
  // Has begun to compile the kernels; null after make_executable().
  std::shared_ptr<codegen::Backend> backend;
  runtime::Tier tier = runtime::Tier::Full;  // of the backend's code
  CompileReport report;
};
// @main of a module with its parameters, an empty body and its attributes about strings, complex numbers, sequences and
// maps; and the data types.
ir::Module interface_of(const ir::Module& module);

// A typed module with the copies that its devices, and those of the options, need. `notes`: about operators that the
// host computes instead of the device that they are placed on; with options.lower.strict they are an error.
Result<ir::Module> place(const ir::Module& typed, const Options& options, std::vector<std::string>& notes);
// The input of the passes: typed, with its copies between devices, and with the parts for options.passes.external in
// separate functions.
Result<ir::Module> before_passes(const ir::Module& module, const Options& options, std::vector<std::string>& notes);
// The passes that optimise() runs on such a module, in order.
std::vector<transform::PassInfo> passes_of(const ir::Module& module, const Options& options);
// Runs the passes of the level on a module, typed or not. Adds to `report`.
Result<ir::Module> optimise(const ir::Module& module, const Options& options, CompileReport* report = nullptr);
// Groups and kernels of a module after the passes. `entry`: belongs to the module before the passes. `backend`: begins
// to compile the kernels; null if code is not needed.
Result<build::LoweredProgram> lower_program(const ir::Module& module, const build::Entry& entry, const Options& options,
                                            const std::shared_ptr<codegen::Backend>& backend = nullptr);
// Builds the program from them and does the work on constants (for another machine, with this one's instructions).
// `module`: the lowered module.
Result<exec::Built> build_program(const build::LoweredProgram& lowered, const ir::Module& module,
                                  const Options& options, const std::shared_ptr<codegen::Backend>& backend = nullptr);
Result<Compiled> compile(const ir::Module& module, const Options& options);
// The program, to be compiled again later.
Compiled without_executable(const Compiled& compiled);
// The same with a backend for full code. `options`: of compile().
Compiled with_full_code(Compiled compiled, const Options& options);
// The kernels of a program with a backend, linked into this process.
Result<std::shared_ptr<const runtime::KernelLibrary>> kernels_of(const Compiled& compiled);
// The last step of compile() if run.make_executable: machine code in this process.
Status make_executable(Compiled& compiled, const Options& options);
// incompatible_artifact if this machine cannot run code for the target.
Status check_runs_here(const TargetDesc& target);

// The notes of an artifact (runtime/artifacts/artifact.h): the report as JSON, and a program with @main's parameters
// and the data types.
constexpr const char *report_note = "report", *interface_note = "interface";
constexpr const char* fast_note = "fast code";  // only of those in the cache whose code is fast

// File formats for a compiled model.
enum class FileForm : uint8_t {
  Artifact,       // the whole program, its code and constants, as loaded by `relay run` and the C interface
  SharedLibrary,  // only the kernels
  Object,
  Archive,
  CSource,  // as C99
  Ptx,      // as PTX, if the target is a GPU of NVIDIA
  // Folders with the whole program, which save() does not write:
  CProject,    // as C99 (c_project.h)
  JsPackage,   // as WebAssembly, for browsers and Node (js_package.h)
  GpuPackage,  // as WGSL, for browsers with WebGPU
};
// "artifact", "so", "obj", "a", "c", "ptx", "c-project", "wasm", "webgpu"
const char* name(FileForm form);
bool is_package(FileForm form);
bool is_folder(FileForm form);
std::optional<FileForm> file_form(const std::string& name);  // unset for another name
// The form that the name of a file asks for: a shared library for .so, an object for .o, an archive for .a, C for .c,
// PTX for .ptx, else an artifact.
FileForm form_for(const std::string& path);
// `tier`: of the code in the file, which is full for people.
Status save(const Compiled& compiled, FileForm form, const std::string& path, runtime::Tier tier = runtime::Tier::Full);

}  // namespace relay::driver
