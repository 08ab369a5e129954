// relay inspect: shows the inputs, outputs and contents of a compiled model; with --memory, the place and lifetime of
// every array.
//
// Does not run the model, and neither makes nor loads machine code: artifacts may be for another processor. Sizes that
// depend on shape variables are shown for the shapes of --shape, and for 1 without.
#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>
#include <tuple>

#include "relay/base/bytes.h"
#include "relay/driver/cli/constants.h"
#include "relay/driver/cli/model_options.h"
#include "relay/runtime/program/planner.h"

namespace relay::cli {

using Json = nlohmann::ordered_json;

namespace {
struct InspectOptions : ModelOptions {
  bool memory = false, constants = false, json = false;
};

// An array of the arena.
struct Buffer {
  std::string name, type;
  int64_t bytes = 0, offset = 0;
  uint32_t first = 0, last = 0;  // steps
};

struct SegmentMemory {
  std::string name, variables;  // "n = 1, m = 1"
  int64_t inputs = 0, outputs = 0, arena = 0, lower_bound = 0, scratch = 0;
  uint32_t steps = 0, peak_step = 0;
  std::string peak_kernel;
  std::vector<Buffer> buffers;  // in the order of their lifetimes
};
}  // namespace

static Result<SegmentMemory> memory_of(const runtime::Program& program, const runtime::Segment& segment) {
  RELAY_ASSIGN(runtime::Plan plan, runtime::plan(program, segment, std::vector<int64_t>(segment.variables.size(), 1)));
  SegmentMemory out{.name = segment.name,
                    .variables = {},
                    .arena = plan.arena_bytes,
                    .lower_bound = plan.lower_bound,
                    .scratch = plan.scratch_bytes,
                    .steps = static_cast<uint32_t>(segment.steps.size()),
                    .peak_kernel = {},
                    .buffers = {}};
  for (const std::string& v : segment.variables) out.variables += (out.variables.empty() ? "" : ", ") + v + " = 1";
  std::vector<runtime::Lifetime> lives = runtime::lifetimes(segment, plan.bytes);
  for (uint32_t i = 0; i < segment.arrays.size(); ++i) {
    const runtime::Array& a = segment.arrays[i];
    if (a.kind == runtime::Array::Kind::Input) out.inputs += plan.bytes[i];
    if (a.kind == runtime::Array::Kind::Output) out.outputs += plan.bytes[i];
    if (a.kind != runtime::Array::Kind::Temporary || plan.bytes[i] == 0 || a.memory != host_memory) continue;
    out.buffers.push_back({a.name.empty() ? format("%{}", i) : a.name,
                           format("{}[{}]", a.dtype.str(), join(plan.shapes[i], ", ")), plan.bytes[i], plan.offsets[i],
                           lives[i].first, lives[i].last});
  }
  std::sort(out.buffers.begin(), out.buffers.end(), [](const Buffer& a, const Buffer& b) {
    return std::tie(a.first, a.last, a.offset) < std::tie(b.first, b.last, b.offset);
  });
  int64_t most = -1;
  for (uint32_t step = 0; step < segment.steps.size(); ++step) {
    int64_t alive = 0;
    for (const Buffer& b : out.buffers) alive += b.first <= step && step <= b.last ? b.bytes : 0;
    if (alive > most)
      most = alive, out.peak_step = step, out.peak_kernel = name_of(program, segment, segment.steps[step]);
  }
  return out;
}

// The lifetime of a buffer, in at most 48 characters: "..####......".
static std::string life(const Buffer& b, uint32_t steps) {
  uint32_t width = std::min<uint32_t>(48, steps);
  std::string out(width, '.');
  for (uint32_t i = b.first * uint64_t{width} / steps; i <= b.last * uint64_t{width} / steps; ++i) out[i] = '#';
  return out;
}

static void print_memory(const SegmentMemory& m) {
  std::cout << format("arena {}", bytes_text(m.arena));
  if (m.lower_bound > 0)
    std::cout << format(": {:.1f} % above the peak of simultaneously live arrays, {} at step {} of {} ({})",
                        100.0 * static_cast<double>(m.arena - m.lower_bound) / static_cast<double>(m.lower_bound),
                        bytes_text(m.lower_bound), m.peak_step, m.steps, m.peak_kernel);
  std::cout << format("\nscratch per thread {}; inputs {}; outputs {}\n", bytes_text(m.scratch), bytes_text(m.inputs),
                      bytes_text(m.outputs));
  std::cout << format("{:>12} {:>12} {:>6} {:>6}  {:<{}}  {}\n", "bytes", "offset", "first", "last", "life",
                      std::min<uint32_t>(48, m.steps), "array");
  for (const Buffer& b : m.buffers)
    print(format("{:>12} {:>12} {:>6} {:>6}  {}  {}: {}", b.bytes, b.offset, b.first, b.last, life(b, m.steps), b.name,
                 b.type));
}

static Json as_json(const SegmentMemory& m) {
  Json buffers = Json::array();
  for (const Buffer& b : m.buffers)
    buffers.push_back({{"name", b.name},
                       {"type", b.type},
                       {"bytes", b.bytes},
                       {"offset", b.offset},
                       {"first_step", b.first},
                       {"last_step", b.last}});
  return {{"name", m.name},
          {"variables", m.variables},
          {"steps", m.steps},
          {"arena_bytes", m.arena},
          {"lower_bound", m.lower_bound},
          {"peak_step", m.peak_step},
          {"peak_kernel", m.peak_kernel},
          {"scratch_bytes", m.scratch},
          {"input_bytes", m.inputs},
          {"output_bytes", m.outputs},
          {"buffers", buffers}};
}

// "target zen4, calibrated": from the report of the compilation, which an artifact keeps.
static void print_target(const Json& target) {
  if (!target.is_object() || !target.contains("name") || !target["name"].is_string()) return;
  const bool calibrated = target.contains("calibrated") && target["calibrated"] == true;
  print(format("target {}{}", target["name"].get<std::string>(), calibrated ? ", calibrated" : ""));
}

static Status inspect(const InspectOptions& options) {
  RELAY_ASSIGN(driver::Model model, load(options));
  std::shared_ptr<const runtime::Program> program;
  int64_t model_bytes = 0;
  Json target;  // null: an artifact without a report
  if (model.form == driver::ModelForm::Artifact) {
    program = model.artifact.program;
    RELAY_ASSIGN(std::string report, driver::note(model.artifact, driver::report_note));
    const Json said = Json::parse(report, nullptr, false);
    if (said.is_object() && said.contains("constants") && said["constants"].is_object())
      model_bytes = said["constants"].value("model_bytes", int64_t{0});
    if (said.is_object() && said.contains("target")) target = said["target"];
  } else {
    RELAY_ASSIGN(const driver::Options compilation, compile_options(options, model.output_names));
    RELAY_ASSIGN(driver::Compiled compiled, driver::compile(model.module, compilation));
    print_notes(compiled.report);
    program = compiled.built.program;
    model_bytes = compiled.report.model_bytes;
    target = Json::parse(driver::json(compiled.report, *program))["target"];
  }
  const std::vector<ConstantRow> constants = constants_of(*program);
  std::vector<SegmentMemory> segments;
  for (const runtime::Segment& segment : program->segments) {
    RELAY_ASSIGN(SegmentMemory memory, memory_of(*program, segment));
    segments.push_back(std::move(memory));
  }
  if (options.json) {
    int64_t stored = 0, prepared = 0, arena = 0;
    for (const ConstantRow& row : constants) (row.stored ? stored : prepared) += row.bytes;
    for (const SegmentMemory& m : segments) arena = std::max(arena, m.arena);
    Json out = {{"target", target},           {"constant_bytes", stored},       {"prepared_bytes", prepared},
                {"model_bytes", model_bytes}, {"arena_bytes", arena},           {"kernels", program->kernels.size()},
                {"segments", Json::array()},  {"constants", as_json(constants)}};
    for (const SegmentMemory& m : segments) out["segments"].push_back(as_json(m));
    std::cout << out.dump(2, ' ', false, Json::error_handler_t::replace) << "\n";
    return ok();
  }
  runtime::Signature signature = program->is_graph() ? runtime::graph_signature(*program) : program->signature;
  for (const runtime::Port& port : signature.inputs) print(format("input {}: {}", port.name, port.type));
  for (const runtime::Port& port : signature.outputs) print(format("output {}: {}", port.name, port.type));
  print_target(target);
  std::cout << format("{}, {}, {}\n", plural(static_cast<int64_t>(program->functions.size()), "function", "functions"),
                      plural(static_cast<int64_t>(program->segments.size()), "segment", "segments"),
                      plural(static_cast<int64_t>(program->kernels.size()), "kernel", "kernels"));
  print_constants(constants, model_bytes, options.constants);
  for (const SegmentMemory& m : segments) {
    if (!m.variables.empty())
      print_message(format("{}: sizes are shown for {}; --shape changes them", m.name, m.variables));
    if (segments.size() > 1) std::cout << "\n", print(format("segment {}", m.name));
    if (options.memory)
      print_memory(m);
    else
      std::cout << format("arena {}, scratch per thread {}\n", bytes_text(m.arena), bytes_text(m.scratch));
  }
  return ok();
}

void add_inspect(CLI::App& app, SelectedVerb& selected) {
  CLI::App* verb = add_verb(app, "inspect", "Show the inputs, the outputs and the memory of a compiled model",
                            "  relay inspect model.onnx --memory\n"
                            "  relay inspect model.rart --json");
  std::shared_ptr<InspectOptions> options = std::make_shared<InspectOptions>();
  options->flags.values.run.make_executable = false;
  add_model(*verb, *options, "ONNX file, Relay program or artifact");
  add_compile_flags(*verb, options->flags);
  verb->add_flag("--memory", options->memory,
                 "List every array of the arena, with its offset and its first and last step");
  verb->add_flag("--constants", options->constants,
                 "List every constant, with its size, form and readers, and the reason for a second form");
  verb->add_flag("--json", options->json, "Print everything as JSON");
  verb->callback([options, &selected] { selected.run = [options] { return inspect(*options); }; });
}

}  // namespace relay::cli
