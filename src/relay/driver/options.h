// The options of a compilation. Each is told once, in its struct: a member with its default, and a line of `fields`.
//
//   driver::Options options;
//   options.passes.opt_level = 3, options.run.threads = 2;
//
// From these lists follow the key of the cache (ready_model.cpp), the flags of the command line (cli/option_flags.h),
// the keywords of relay.compile() with their documentation (python/src/options.cpp), and the checks of values. A member
// without a line does not compile.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "relay/build/lower_program.h"
#include "relay/cache/cache.h"
#include "relay/cache/tuning_records.h"
#include "relay/driver/donate.h"
#include "relay/driver/pipeline.h"
#include "relay/driver/placement.h"
#include "relay/lower/plan/options.h"
#include "relay/machine/target_desc.h"
#include "relay/runtime/executable.h"
#include "relay/runtime/threads/topology.h"

namespace relay::driver {

// The users of an option. Each reason names an exception: there is no such use, and the text says why.
struct OptionUse {
  const char* flag = nullptr;        // null: "--", and the name with dashes
  const char* value = nullptr;       // placeholder of the flag's value: "NAME=DIMS"; null: by type
  const char* flag_help = nullptr;   // null: the help
  const char* text = "";             // value if neither the flag nor the keyword is given; empty: the member's default
  int64_t least = 0, most = 0;       // of a number; both 0: unlimited
  bool bytes = false;                // number of bytes; the flag takes "500M"
  bool for_artifact = false;         // also affects a run of an artifact, which is already compiled
  const char* only_verb = nullptr;   // the one verb that has the flag; null: every verb that compiles
  const char* no_flag = nullptr;     // reason
  const char* no_keyword = nullptr;  // reason
  const char* not_in_key = nullptr;  // reason: artifacts that differ only in it are equal
};
// For options that only code sets.
constexpr OptionUse internal(const char* reason) { return {.no_flag = reason, .no_keyword = reason}; }
constexpr OptionUse internal(const char* reason, const char* not_in_key) {
  return {.no_flag = reason, .no_keyword = reason, .not_in_key = not_in_key};
}

template <class Struct, class Value>
struct Option {
  const char* name;
  Value Struct::* member;
  const char* help;  // of the keyword, and of the flag unless it has its own
  OptionUse use{};
};
template <class Struct, class Value>
constexpr Option<Struct, Value> option(const char* name, Value Struct::* member, const char* help,
                                       const OptionUse& use = {}) {
  return {name, member, help, use};
}

// Reading a model.
struct ImportOptions {
  std::map<std::string, std::vector<int64_t>> shapes{};
  std::map<std::string, int64_t> import_limits{};
  std::string layout{};
  std::map<std::string, DType> dtypes{};
  std::optional<int64_t> opset{};
  bool freeze_params = true;
  bool all_values = false;
  bool as_written = false;
  std::set<std::string> without_attributes{};

  static constexpr auto fields = std::tuple{
      option(
          "shapes", &ImportOptions::shapes,
          "Sizes for inputs that lack them, by name: {\"input\": (1, 3, 224, 224)}. -1 leaves a size as it is in the "
          "model. A sequence has a list of shapes; an optional input has a list of one, or None, which drops it.",
          {.flag = "--shape",
           .value = "NAME=DIMS",
           .flag_help = "Shape of an input: NAME=1,3,224,224 (repeat for more)",
           .for_artifact = true}),
      option("import_limits", &ImportOptions::import_limits,
             "Limits of the import of an ONNX file, by name: calls, nodes or constants (bytes). docs/security.md lists "
             "the defaults.",
             {.flag = "--import-limit",
              .value = "NAME=N",
              .flag_help = "Limit of the import of an ONNX file: calls, nodes or constants (bytes); docs/security.md "
                           "lists the defaults"}),
      option("layout", &ImportOptions::layout,
             "Order of the axes of images that a Keras or TensorFlow model takes and returns: NCHW, or NHWC as in the "
             "file, which is the default",
             {.value = "NCHW|NHWC"}),
      option("dtypes", &ImportOptions::dtypes, "Element types by input, which replace those in the file.",
             internal("relay.frontend.from_onnx has it as `dtype`")),
      option("opset", &ImportOptions::opset, "Version of the format's operators, which replaces the file's.",
             internal("relay.frontend.from_onnx has it")),
      option("freeze_params", &ImportOptions::freeze_params, "Weights are constants of the module, not parameters.",
             internal("relay.frontend.from_onnx has it")),
      option("all_values", &ImportOptions::all_values, "Makes every tensor of the main graph an output.",
             internal("for relay bisect, which compares them")),
      option("as_written", &ImportOptions::as_written, "Nodes that compute on known numbers stand as written.",
             internal("for relay verify, whose reference it is")),
      option("without_attributes", &ImportOptions::without_attributes,
             "Operators whose nodes are converted as if they had no attributes.",
             internal("for tests: a bug that has to be found")),
  };
};

// Relay to Relay.
struct PassOptions {
  int opt_level = default_opt_level;
  Mode mode = Mode::Inference;
  Precision precision = Precision::AsWritten;
  std::string external{};
  DeviceMap devices{};
  bool verify = false;
  bool is_optimised = false;
  std::vector<transform::PassInfo> extra_passes{};
  std::function<void(const transform::PassTrace&)> trace{};

  static constexpr auto fields = std::tuple{
      option("opt_level", &PassOptions::opt_level,
             "Optimisation level. 0: as written, 1: fused, 2: rewritten, 3: rewritten with more compile time",
             {.flag = "-O,--opt-level", .most = max_opt_level}),
      option("mode", &PassOptions::mode,
             "Meaning of batch_norm and dropout: inference, or training (statistics and masks of the batch)"),
      option(
          "precision", &PassOptions::precision,
          "Types of float32 values: as_written; bf16 or f16 for contractions and operators that follow them, with "
          "sums in float32; auto for 16 bits in constant weights of products only; bf16x3 or bf16x2 for contractions "
          "from bfloat16 parts of each float32; int8_inputs for inputs of products with weights of four bits, rounded "
          "to 8 bits in the weight's blocks, which adds an error of about 0.6 % to each product. `relay verify` states "
          "the error"),
      option("external", &PassOptions::external,
             "External compiler that gets the parts of the program that it supports: dnnl (oneDNN), accelerator (int8, "
             "simulated)",
             {.value = "COMPILER"}),
      option("devices", &PassOptions::devices,
             "Devices by operator, for calls that the program does not place itself: {\"nn.conv2d\": \"cpu:1\"}. "
             "\"default\" is the device of all other values. Copies between the memories of the devices are planned "
             "(docs/devices.md).",
             {.value = "OPERATOR=DEVICE",
              .flag_help = "Device of an operator's calls that the program does not place itself: nn.conv2d=cpu:1, or "
                           "default=cpu:1 for all other values (repeat for more; docs/devices.md)"}),
      option("verify", &PassOptions::verify, "Check the program after every pass",
             {.no_flag = "relay opt --passes always checks", .not_in_key = "it only refuses"}),
      option("is_optimised", &PassOptions::is_optimised,
             "The program is partitioned already, and the passes of opt_level, or equivalent ones, have run.",
             internal("set under a PassContext, which runs passes of its own")),
      option("extra_passes", &PassOptions::extra_passes, "Passes after those of the level.",
             internal("for tests: a bug that has to be found",
                      "passes have no text that identifies them: such models are never in the cache")),
      option("trace", &PassOptions::trace, "Called after every pass.",
             internal("relay opt sets it", "it only observes")),
  };
};

// Relay to loops.
struct LowerOptions {
  TargetDesc target{};
  lower::Numerics numerics = lower::Numerics::Fp32;
  std::map<std::string, std::string> schedules{};  // by group: text that replaces the rule's
  build::BatchCalls batch_calls = build::BatchCalls::Automatic;
  bool no_tuned = false;
  std::string records{};
  cache::TuningRecords tuned{};
  std::function<void(const lower::PlanTrace&)> trace_plan{};
  bool strict = false;
  lower::RuleSet refused_rules{};
  lower::Mutation injected_bug = lower::Mutation::None;
  int codegen_registers = 0;

  static constexpr auto fields = std::tuple{
      option("target", &LowerOptions::target,
             "Processor, with features to add or remove: native, zen4, native,-avx512f, neoverse-n1, rv64gcv",
             {.text = "native"}),
      option("numerics", &LowerOptions::numerics,
             "Arithmetic class: fp32, ieee (with subnormal numbers), or fast (no check for infinities and NaN)"),
      option(
          "schedules", &LowerOptions::schedules,
          "Schedules by group, a name or a number, or one text of all groups, as Compiled.emit(\"schedule\") returns "
          "it. They replace those of the rules.",
          {.flag = "--schedule",
           .value = "[GROUP=]FILE",
           .flag_help = "Schedule for a group, which is a name or a number, or without GROUP= for all groups: a "
                        "file as `relay opt --emit schedule` prints it (repeat for more)"}),
      option("batch_calls", &LowerOptions::batch_calls,
             "Let calls of a program's segments wait for each other and run together (docs/runtime.md)",
             {.flag = "--no-batch-calls",
              .flag_help = "Run each call of a segment alone, instead of several calls at once"}),
      option("no_tuned", &LowerOptions::no_tuned,
             "Leave out the schedules that `relay tune` has measured (docs/tuning.md)",
             {.not_in_key = "the records that are used are in the key"}),
      option("records", &LowerOptions::records,
             "File with the records of `relay tune`, instead of tuning.db in the folder of the cache",
             {.value = "FILE", .not_in_key = "the records that are used are in the key"}),
      option("tuned", &LowerOptions::tuned, "The records.", internal("read from the file")),
      option("trace_plan", &LowerOptions::trace_plan, "Called after every step of planning.",
             internal("relay opt sets it", "it only observes")),
      option("strict", &LowerOptions::strict,
             "Fail if a schedule rule fails, instead of using a slower schedule, and if a device cannot compute an "
             "operator that is placed on it, instead of computing it on the CPU"),
      option("refused_rules", &LowerOptions::refused_rules, "Rules whose schedules are treated as impossible to build.",
             internal("for tests and relay bisect")),
      option("injected_bug", &LowerOptions::injected_bug, "A bug in the nest.",
             internal("for tests: a bug that has to be found")),
      option("codegen_registers", &LowerOptions::codegen_registers,
             "Kernels that need more vector registers are refused; 0: the target's number.", internal("for tests")),
  };
};

// The machine code that runs (docs/first-results.md).
enum class Tier : uint8_t {
  Fast,  // compiled quickly, for one or few runs
  Full,
  Auto,  // fast code for the first runs, then full code
};
const char* name(Tier tier);  // "fast", "full", "auto"
Result<Tier> find_tier(const std::string& text);

// Opens the cache.
using OpenCache = std::function<Result<std::unique_ptr<cache::Cache>>()>;

// The program and its runs.
struct RunOptions {
  int threads = 0;
  std::optional<runtime::Executor> executor{};  // unset: graphs run as graphs, functions in the VM
  int64_t memory_limit = 0;
  Tier tier = Tier::Full;
  Donated donate{};
  bool make_executable = true;
  OpenCache kernels{};
  std::vector<std::string> output_names{};

  static constexpr auto fields = std::tuple{
      option("threads", &RunOptions::threads, "Number of threads; 0: all cores that this process may use",
             {.most = runtime::max_threads, .for_artifact = true}),
      option(
          "executor", &RunOptions::executor,
          "compiled (graph if possible, otherwise vm), vm: virtual machine, aot: functions as machine code, or graph",
          {.for_artifact = true,
           .no_flag = "relay run has --executor, which also takes debug; relay compile has --aot"}),
      option("memory_limit", &RunOptions::memory_limit,
             "Fail if weights, temporaries and results would need more bytes than this; 0: unlimited",
             {.value = "SIZE",
              .flag_help = "Fail if weights, temporaries and results would need more than this: 500M, 2G",
              .bytes = true,
              .for_artifact = true,
              .only_verb = "run",
              .not_in_key = "each run has its own limit"}),
      option("tier", &RunOptions::tier,
             "Machine code that runs: fast, compiled in less time; full; or auto, which begins with fast code and "
             "replaces it by full code between runs, compiled in the background. Results have the same bits "
             "(docs/first-results.md)",
             {.value = "fast|full|auto",
              .text = "auto",
              .only_verb = "run",
              .not_in_key = "saved models have full code, and the cache replaces fast code"}),
      option("donate", &RunOptions::donate,
             "Inputs that the caller hands over with each call, by name, so that results may use their memory. In a "
             "list, any result of the same type may take an input. With {\"cache\": 1} or {\"cache\": \"new_cache\"}, "
             "that "
             "result is in the array that was given for `cache` after each call. The array must not be read-only or "
             "overlap another input, and its contents are lost. The report's \"donations\" list the results that are "
             "computed in place, and those that are copied, with the reason.",
             {.value = "INPUT[=RESULT]",
              .flag_help = "Input whose memory results may use; with RESULT, a name or a number, that result is in the "
                           "input's array after each run: a state (repeat for more)"}),
      option("make_executable", &RunOptions::make_executable,
             "Make the executable; if false, only the parts that a file needs.",
             internal("the verbs that only write or inspect leave it out", "the artifact is the same")),
      option("kernels", &RunOptions::kernels, "The cache whose kernels the program shares.",
             internal("prepare_model() sets it", "kernels of the cache are equal to compiled ones")),
      option("output_names", &RunOptions::output_names,
             "Names of @main's results; empty: those in the module's attributes.", internal("the model's")),
  };
};

struct Options {
  ImportOptions import{};
  PassOptions passes{};
  LowerOptions lower{};
  RunOptions run{};
};

// The passes of these options.
inline Pipeline pipeline_of(const PassOptions& options) {
  return pipeline(options.opt_level, options.mode, options.precision);
}

// Calls visit(option, member) for each option, in the order of the lists. The owner may be const.
template <class Part, class Visit>
void for_each_option_of(Part& part, const Visit& visit) {
  std::apply([&](const auto&... one) { (visit(one, part.*one.member), ...); }, Part::fields);
}
template <class Owner, class Visit>
void for_each_option(Owner& options, const Visit& visit) {
  for_each_option_of(options.import, visit), for_each_option_of(options.passes, visit);
  for_each_option_of(options.lower, visit), for_each_option_of(options.run, visit);
}

// "--threads"; "--opt-level" for "-O,--opt-level"; empty if the option has no flag.
std::string long_flag(const char* name, const OptionUse& use);

// bad_option if a number is outside of its range.
Status check_options(const Options& options);

// Values of options by name; bad_option lists the names.
Result<lower::Numerics> find_numerics(const std::string& text);  // "fp32", "ieee", "fast"
Result<std::optional<runtime::Executor>> find_executor(
    const std::string& text);  // "compiled" (unset), "graph", "vm", "aot"

// `tier`: of the code that the executable gets.
runtime::ExecutableOptions executable_options(const RunOptions& options, runtime::Tier tier = runtime::Tier::Full);

}  // namespace relay::driver
