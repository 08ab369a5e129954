// relay bench: measures the speed of a model, alone or compared with other engines on the same machine and inputs
// (measure/paired_benchmark.h).
//
// Each other engine is a separate process, stopped while others run. All results are compared with those in double
// precision, if these are available: by PyTorch for a model exported from it, by the reference evaluator for a small
// one.
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "relay/driver/cli/model_options.h"
#include "relay/driver/debug.h"
#include "relay/input/values.h"
#include "relay/ir/main_function.h"
#include "relay/measure/external_engine.h"
#include "relay/measure/measure.h"
#include "relay/measure/paired_benchmark.h"
#include "relay/runtime/threads/thread_pool.h"

namespace relay::cli {

using Json = nlohmann::ordered_json;

namespace {
struct BenchOptions : ModelOptions {
  std::vector<std::string> inputs;
  std::vector<int> thread_counts;
  std::vector<std::string> vs;
  std::string program;
  double seconds = 3;
  bool json = false;
  std::optional<int64_t> random_net;
  std::string on, runner, ssh_config;  // another machine
};

// The subject of a benchmark: a compiled model and its inputs.
struct Subject {
  std::shared_ptr<runtime::Executable> executable;
  std::vector<runtime::Value> values;        // the inputs
  std::vector<Tensor> inputs, outputs;       // of a graph, or for comparison with other engines
  std::optional<std::vector<Tensor>> exact;  // in double precision
  double ready_ms = 0;                       // reading, compiling and the first run
  int64_t peak_bytes = 0;                    // of the process until then
};

// The results of one engine with one number of threads.
struct Row {
  std::string name, version;
  measure::Engine times;
  double ready_ms = 0;
  int64_t peak_bytes = 0;
  std::optional<measure::Difference> error{};  // from the exact results
  measure::Difference from_ours{};
};

struct Measured {
  int threads = 1;
  std::vector<Row> rows;  // ours first
  measure::Rounds rounds;
  // The machine's own jitter: 99th percentile over median of a plain loop that is as long as one of our runs and reads
  // the weights' bytes.
  double jitter = 1;
};
}  // namespace

// A tensor, or a tuple of some.
static Result<std::vector<Tensor>> tensors_of_result(const runtime::Value& value) {
  std::vector<runtime::Value> values{value};
  if (value.kind() == runtime::ObjectKind::Tuple) {
    values.clear();
    for (size_t i = 0; i < value.size(); ++i) values.push_back(value.field(i));
  }
  return input::tensors_of(values);
}

// The first result whose shape differs from ours, as text; empty if all agree.
static std::string other_shape(const std::vector<Tensor>& theirs, const std::vector<Tensor>& ours) {
  if (theirs.size() != ours.size())
    return format("{}, not {}", plural(static_cast<int64_t>(theirs.size()), "result", "results"), ours.size());
  for (size_t i = 0; i < ours.size(); ++i)
    if (theirs[i].shape() != ours[i].shape())
      return format("result {} of shape ({}), not ({})", i, join(theirs[i].shape(), ", "), join(ours[i].shape(), ", "));
  return "";
}

// A program of PyTorch beside a model may be another one, such as one for another batch.
static Diagnostic another_program(const std::string& model, const std::string& shape) {
  return Diagnostic{
      DiagnosticKind::bad_option,
      format("{} is not the same network as {}: it returns {}", measure::torch_program(model), model, shape),
      {},
      {},
      {},
      "export both from the same module with the same example inputs, or leave PyTorch out"};
}

// The evaluator does about ten million operations per second; this limits it to a few seconds.
static constexpr double max_evaluated_flops = 5e7;

static Result<std::optional<std::vector<Tensor>>> exact_results(const BenchOptions& options, const driver::Model& model,
                                                                double flops, const input::Inputs& inputs,
                                                                const Subject& subject) {
  const std::vector<Tensor>&tensors = subject.inputs, &ours = subject.outputs;
  if (std::filesystem::exists(measure::torch_program(options.model))) {
    Result<measure::ExternalEngine> torch = measure::ExternalEngine::start(
        {measure::float64_engine, options.model, runtime::ThreadPool::global().size(), options.program}, tensors);
    if (torch) {
      const std::string other = other_shape(torch->outputs(), ours);
      if (other.empty()) return std::optional(torch->outputs());
      print_message(format("errors are not measured: {}", another_program(options.model, other).message));
      return std::optional<std::vector<Tensor>>();
    }
    print_message(format("errors are not measured: {}", torch.errors()[0].message));
    return std::optional<std::vector<Tensor>>();
  }
  if (!model.module.functions.contains(ir::main_function) || flops <= 0 || flops > max_evaluated_flops) {
    print_message(
        "errors are not measured: the model is too large for the reference evaluator, and has no PyTorch program next "
        "to it");
    return std::optional<std::vector<Tensor>>();
  }
  RELAY_ASSIGN(eval::Value result, driver::evaluate_main(model.module, inputs.values, driver::EvalPrecision::Float64));
  RELAY_ASSIGN(runtime::Value value, input::to_runtime(result, model.module));
  RELAY_ASSIGN(std::vector<Tensor> exact, tensors_of_result(value));
  return std::optional(std::move(exact));
}

static Result<std::vector<double>> burst(const Subject& subject, int threads, double seconds) {
  runtime::Executable& executable = *subject.executable;
  std::vector<double> us;
  for (double end = measure::now() + seconds;;) {
    double begin = measure::now();
    if (executable.runs_as_graph()) {
      RELAY_RETURN_IF_ERROR(executable.run(subject.inputs, {.threads = threads}));
    } else {
      RELAY_RETURN_IF_ERROR(executable.call(subject.values, {.threads = threads}));
    }
    double stop = measure::now();
    us.push_back((stop - begin) * 1e6);
    if (stop >= end) return us;
  }
}

static constexpr int widest_bytes = 64;
static int cores_of(int threads) { return std::min(threads, runtime::ThreadPool::global().size()); }
// The machine's multiply-adds with the same number of threads. All cores together are slower than one alone because of
// their shared clock and power, but by less than a fifth.
static measure::MachineSpeed machine_speed(int threads) {
  constexpr double shared = 0.8;
  const int cores = cores_of(threads);
  return {.now = [cores] { return measure::measure_fma_gflops_now(widest_bytes, cores); },
          .expected = shared * measure::measure_fma_gflops(widest_bytes) * cores};
}

// Memory that was unused for a while is handed out slowly on a virtual machine (compiling BERT-base took 3.3 s instead
// of 1.4 s), which must not count in any engine's time. A separate process allocates as much as an engine does, in huge
// pages, which are allocated separately, and ends.
static void touch_memory(const std::string& model) {
  std::error_code ignored;
  const uintmax_t file = std::filesystem::file_size(model, ignored);
  if (ignored) return;
  constexpr uintmax_t copies = 3;
  const uintmax_t free_bytes = static_cast<uintmax_t>(sysconf(_SC_AVPHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  const size_t bytes = std::min(copies * file, free_bytes / 2);
  const pid_t child = fork();
  if (child == 0) {
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory != MAP_FAILED) madvise(memory, bytes, MADV_HUGEPAGE), madvise(memory, bytes, MADV_POPULATE_WRITE);
    _exit(0);
  }
  if (child > 0) waitpid(child, nullptr, 0);
}

static Result<Measured> measure(const BenchOptions& options, const Subject& subject, int threads) {
  Measured out{.threads = threads, .rows = {}, .rounds = {}};
  auto add = [&](Row row, const std::vector<Tensor>& outputs) {
    if (subject.exact) row.error = measure::difference(outputs, *subject.exact);
    row.from_ours = measure::difference(outputs, subject.outputs);
    out.rows.push_back(std::move(row));
  };
  add({.name = "relay",
       .version = "relay",
       .times = {},
       .ready_ms = subject.ready_ms,
       .peak_bytes = subject.peak_bytes},
      subject.outputs);
  std::vector<measure::ExternalEngine> others;
  for (const std::string& engine : options.vs) {
    touch_memory(options.model);
    RELAY_ASSIGN(measure::ExternalEngine other,
                 measure::ExternalEngine::start({engine, options.model, threads, options.program}, subject.inputs));
    if (const std::string differs = other_shape(other.outputs(), subject.outputs);
        !differs.empty() && starts_with(engine, "torch"))
      return another_program(options.model, differs);
    add({.name = engine,
         .version = other.version(),
         .times = {},
         .ready_ms = other.ready_ms(),
         .peak_bytes = other.peak_bytes()},
        other.outputs());
    others.push_back(std::move(other));
  }
  std::vector<measure::Engine> engines;
  engines.push_back({"relay", [&](double seconds) { return burst(subject, threads, seconds); }});
  for (measure::ExternalEngine& other : others)
    engines.push_back({other.version(), [&other](double seconds) { return other.run(seconds); }});
  RELAY_ASSIGN(const std::vector<double> first, burst(subject, threads, 0.05));
  int64_t bytes = 0;
  for (const Tensor& c : subject.executable->program().constants) bytes += static_cast<int64_t>(c.bytes());
  engines.push_back(
      {"machine", [us = measure::median(first), bytes, threads](double seconds) -> Result<std::vector<double>> {
         return measure::measure_machine_runs(widest_bytes, cores_of(threads), us, bytes, seconds);
       }});
  RELAY_ASSIGN(out.rounds, measure::paired_benchmark(engines, options.seconds, machine_speed(threads)));
  out.jitter = measure::quantile(engines.back().us, 0.99) / measure::median(engines.back().us);
  for (size_t i = 0; i < out.rows.size(); ++i) out.rows[i].times = std::move(engines[i]);
  return out;
}

// JSON has no infinity.
static Json number(double x) { return std::isfinite(x) ? Json(x) : Json(); }

static Json as_json(const Row& row, const Row& ours) {
  const std::vector<double>& us = row.times.us;
  Json out = {{"version", row.version},
              {"runs", us.size()},
              {"median_us", measure::median(us)},
              {"p99_us", measure::quantile(us, 0.99)},
              {"min_us", *std::min_element(us.begin(), us.end())},
              {"ready_ms", row.ready_ms},
              {"peak_bytes", row.peak_bytes},
              {"rms_error", row.error ? number(row.error->rms) : Json()},
              {"largest_error", row.error ? number(row.error->largest) : Json()}};
  if (&row == &ours) return out;
  measure::Ratio ratio = measure::time_ratio(row.times, ours.times);
  out["engine"] = row.name;
  out["rounds"] = row.times.rounds.size();
  out["ratio"] = ratio.median;
  out["ratio_interval"] = ratio.interval ? Json{ratio.interval->low, ratio.interval->high} : Json();
  out["largest_difference"] = number(row.from_ours.largest);
  return out;
}

static void print_json(const BenchOptions& options, const std::vector<Measured>& all) {
  Json out = Json::array();
  for (const Measured& m : all) {
    Json one = {{"model", options.model},
                {"threads", m.threads},
                {"rounds", m.rounds.counted},
                {"rounds_left_out", m.rounds.left_out},
                {"quiet", m.rounds.quiet},
                {"machine_p99_over_median", m.jitter},
                {"relay", as_json(m.rows[0], m.rows[0])}};
    one["peers"] = Json::array();
    for (size_t i = 1; i < m.rows.size(); ++i) one["peers"].push_back(as_json(m.rows[i], m.rows[0]));
    out.push_back(one);
  }
  std::cout << out.dump(2, ' ', false, Json::error_handler_t::replace) << "\n";
}

static void print_rounds(const Measured& m) {
  const std::string threads = format("{} thread{}", m.threads, m.threads == 1 ? "" : "s");
  if (!m.rounds.quiet)
    print_message(
        format("{}: the machine was busy all the time, and its multiply-adds were far below their full speed; times "
               "are too long, and ratios may be wrong",
               threads));
  else if (m.rounds.left_out > 0)
    print_message(
        format("{}: {} of {} rounds are left out, because other programs slowed the machine by more than {:.0f} %",
               threads, m.rounds.left_out, m.rounds.left_out + m.rounds.counted, 100 * (1 - measure::quiet_share)));
}

static void print(const std::vector<Measured>& all) {
  bool compared = all[0].rows.size() > 1;
  std::cout << format("{:<22} {:>7} {:>7} {:>12} {:>12} {:>9} {:>9}", "", "threads", "runs", "median us", "p99 us",
                      "ready ms", "peak MiB");
  std::cout << (compared ? format(" {:>9}  {}\n", "RMS error", "times relay's (95 % confidence interval)") : "\n");
  for (const Measured& m : all) {
    for (const Row& row : m.rows) {
      std::cout << format("{:<22} {:>7} {:>7} {:>12.1f} {:>12.1f} {:>9.0f} {:>9.0f}", row.version, m.threads,
                          row.times.us.size(), measure::median(row.times.us), measure::quantile(row.times.us, 0.99),
                          row.ready_ms, static_cast<double>(row.peak_bytes) / (1 << 20));
      if (compared) std::cout << (row.error ? format(" {:>9.1e}", row.error->rms) : format(" {:>9}", "-"));
      if (&row != &m.rows[0]) {
        measure::Ratio ratio = measure::time_ratio(row.times, m.rows[0].times);
        std::cout << format("  {:.2f}", ratio.median);
        if (ratio.interval) std::cout << format(" ({:.2f} to {:.2f})", ratio.interval->low, ratio.interval->high);
      }
      std::cout << "\n";
    }
    print_rounds(m);
    for (const Row& row : m.rows)
      if (row.from_ours.largest > 1e-3)
        print_message(format("the results of {} differ from relay's by {:.1e} of the largest value", row.version,
                             row.from_ours.largest));
  }
}

// The formats of models that another engine reads.
static std::vector<driver::ModelForm> forms_of(const std::string& engine) {
  using driver::ModelForm;
  if (engine == "litert") return {ModelForm::TFLite};
  if (engine == "tensorflow") return {ModelForm::TensorFlow, ModelForm::Keras};
  if (starts_with(engine, "torch")) return {ModelForm::Onnx, ModelForm::PyTorch};
  return {ModelForm::Onnx};
}

static Status check_engines(const BenchOptions& options, driver::ModelForm form) {
  for (const std::string& engine : options.vs) {
    const std::vector<driver::ModelForm> forms = forms_of(engine);
    if (std::find(forms.begin(), forms.end(), form) != forms.end()) continue;
    std::vector<std::string> fitting;
    for (const std::string& other : measure::external_engines) {
      const std::vector<driver::ModelForm> known = forms_of(other);
      if (std::find(known.begin(), known.end(), form) != known.end()) fitting.push_back(other);
    }
    return Diagnostic{DiagnosticKind::bad_option,
                      format("the engine {} does not read this {}", engine, name(form)),
                      {},
                      {},
                      {},
                      fitting.empty() ? "leave out --vs" : format("use --vs {} instead", join(fitting, ","))};
  }
  return ok();
}

static Status bench(const BenchOptions& options, const driver::Model& model,
                    const std::vector<std::string>& input_shapes) {
  RELAY_RETURN_IF_ERROR(check_engines(options, model.form));
  std::vector<int> counts = options.thread_counts;
  if (counts.empty()) counts.push_back(runtime::ThreadPool::global().size());
  for (int& count : counts)
    if (count == 0) count = runtime::ThreadPool::global().size();

  Subject subject{
      .executable = model.executable, .values = {}, .inputs = {}, .outputs = {}, .exact = {}, .ready_ms = model.ms};
  driver::CompileReport report;
  if (!subject.executable) {
    RELAY_ASSIGN(driver::Options compilation, compile_options(options, model.output_names));
    compilation.run.threads = *std::max_element(counts.begin(), counts.end());
    RELAY_ASSIGN(driver::Compiled compiled, driver::compile(model.module, compilation));
    subject.executable = compiled.executable;
    report = std::move(compiled.report);
    print_notes(report);
  }
  RELAY_ASSIGN(input::Inputs inputs, input::make_inputs(input::input_ports(*subject.executable),
                                                        {options.inputs, input_shapes}, model.types()));
  for (const std::string& note : inputs.notes) print_message(note);
  subject.values = inputs.values;
  bool graph = subject.executable->runs_as_graph();
  if (graph || !options.vs.empty()) {
    RELAY_ASSIGN(subject.inputs, input::tensors_of(inputs.values));
  }
  double begin = measure::now();
  if (graph) {
    RELAY_ASSIGN(subject.outputs, subject.executable->run(subject.inputs));
  } else {
    RELAY_ASSIGN(runtime::Value result, subject.executable->call(subject.values));
    if (!options.vs.empty()) {
      RELAY_ASSIGN(subject.outputs, tensors_of_result(result));
    }
  }
  subject.ready_ms += report.total_ms() + (measure::now() - begin) * 1e3;
  subject.peak_bytes = measure::peak_memory_bytes();
  if (!options.vs.empty()) {
    double flops = 0;
    for (const driver::GroupReport& group : report.groups) flops += group.flops;
    RELAY_ASSIGN(subject.exact, exact_results(options, model, flops, inputs, subject));
  }

  std::vector<Measured> all;
  double seconds = 0;
  for (int threads : counts) {
    RELAY_ASSIGN(Measured measured, measure(options, subject, threads));
    if (threads > runtime::ThreadPool::global().size())
      print_message(format("{} threads were requested, but this process may use only {}", threads,
                           runtime::ThreadPool::global().size()));
    seconds += measured.rounds.seconds;
    all.push_back(std::move(measured));
  }
  if (options.json)
    print_json(options, all);
  else
    print(all);
  print_message(format("{}, {}: read {}, compile {}, measured for {:.1f} s{}",
                       model.executable ? "artifact" : summary(report), in_words(subject.executable->executor()),
                       milliseconds(model.ms), milliseconds(report.total_ms()), seconds,
                       options.vs.empty() ? "" : ", engines take turns while the others are stopped"));
  return ok();
}

// Reads the file into the page cache: no engine's time should include a wait for the disk.
static void read_once(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<char> part(1 << 20);
  while (file.read(part.data(), static_cast<std::streamsize>(part.size()))) {
  }
}

static Status bench(const BenchOptions& options) {
  read_once(options.model);
  if (!options.vs.empty()) read_once(measure::torch_program(options.model));
  touch_memory(options.model);
  RELAY_ASSIGN(driver::Model model, load(options));
  return bench(options, model, options.shapes());
}

// A temporary folder.
struct Scratch {
  explicit Scratch(std::string folder) : path(std::move(folder)) {}
  Scratch(Scratch&& other) noexcept : path(std::exchange(other.path, {})) {}
  Scratch& operator=(Scratch&&) = delete;
  std::string path;
  ~Scratch() {
    std::error_code ignored;
    if (!path.empty()) std::filesystem::remove_all(path, ignored);
  }
};

static Result<Scratch> scratch_folder() {
  char folder[] = "/tmp/relay-bench-XXXXXX";
  if (mkdtemp(folder)) return Scratch{folder};
  return Diagnostic{DiagnosticKind::file_not_found,
                    format("{} cannot be made: {}", folder, std::strerror(errno)),
                    {},
                    {},
                    {},
                    "check that /tmp is writable and has room"};
}

// The runner that is copied: --runner, or relay-run next to this program.
static Result<std::string> runner_of(const BenchOptions& options) {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::string path = options.runner.empty() ? (self.parent_path() / "relay-run").string() : options.runner;
  if (std::filesystem::exists(path, error)) return path;
  return Diagnostic{DiagnosticKind::file_not_found,
                    format("there is no runner {}", path),
                    {},
                    {},
                    {},
                    "build relay-run for that machine, and name it: --runner build/aarch64/bin/relay-run"};
}

// The arguments of relay/tools/remote_bench.py. Compiles the model into the folder unless it is an artifact.
static Result<std::vector<std::string>> remote_arguments(const BenchOptions& options, const std::string& folder) {
  RELAY_ASSIGN(const std::string runner, runner_of(options));
  RELAY_ASSIGN(const driver::ModelForm form, driver::form_of(options.model));
  driver::Model model;
  std::string artifact = options.model;
  if (form == driver::ModelForm::Artifact) {
    driver::RunOptions unloaded;
    unloaded.make_executable = false;  // it is for the other machine
    RELAY_RETURN_IF_ERROR(driver::load_artifact(model, options.model, unloaded));
    model.form = form;
  } else {
    RELAY_ASSIGN(model, load(options));
    RELAY_ASSIGN(driver::Options compilation, compile_options(options, model.output_names));
    compilation.run.make_executable = false;
    RELAY_ASSIGN(driver::Compiled compiled, driver::compile(model.module, compilation));
    print_notes(compiled.report);
    artifact = folder + "/model.rart";
    RELAY_RETURN_IF_ERROR(driver::save(compiled, driver::FileForm::Artifact, artifact));
  }
  std::vector<std::string> words{options.on, runner, artifact, format("{}", options.seconds)};
  words.push_back(options.thread_counts.empty() ? "0" : format("{}", join(options.thread_counts, ",")));
  if (!options.ssh_config.empty()) words.insert(words.end(), {"--ssh-config", options.ssh_config});
  RELAY_ASSIGN(const std::vector<input::Port> ports, input::input_ports(model.types()));
  RELAY_ASSIGN(input::Inputs inputs, input::make_inputs(ports, {options.inputs, options.shapes()}, model.types()));
  RELAY_ASSIGN(const std::vector<Tensor> tensors, input::tensors_of(inputs.values));
  input::NamedArrays arrays;
  for (size_t i = 0; i < ports.size(); ++i) arrays.emplace_back(ports[i].name, tensors[i]);
  RELAY_RETURN_IF_ERROR(input::write_npz(folder + "/inputs.npz", arrays));
  words.insert(words.end(), {"--input", folder + "/inputs.npz"});
  return words;
}

// Measures on another machine. Its other engines are not measured.
static Status bench_on(const BenchOptions& options) {
  if (!options.vs.empty() || options.random_net)
    return Diagnostic{DiagnosticKind::bad_option,
                      "--on measures a model on another machine, where no other engine is started",
                      {},
                      {},
                      {},
                      "leave out --vs and --random-net"};
  RELAY_ASSIGN(const Scratch scratch, scratch_folder());
  RELAY_ASSIGN(const std::vector<std::string> words, remote_arguments(options, scratch.path));
  RELAY_ASSIGN(const std::string said, measure::run_package_file(options.program, "remote_bench.py", words));
  const Json rows = Json::parse(said);  // which remote_bench.py has checked
  std::vector<Measured> all;
  for (const Json& row : rows) {
    Measured m{.threads = row["threads"], .rows = {}, .rounds = {}, .jitter = std::nan("")};
    m.rows.push_back({.name = "relay",
                      .version = "relay",
                      .times = {"relay", {}, row["us"].get<std::vector<double>>()},
                      .ready_ms = row["ready_ms"],
                      .peak_bytes = row["peak_bytes"]});
    all.push_back(std::move(m));
  }
  if (options.json)
    print_json(options, all);
  else
    print(all);
  print_message(format("measured on {}", options.on));
  return ok();
}

// The batch stays symbolic in the model; the inputs determine it.
static Status bench_random_net(BenchOptions options) {
  RELAY_ASSIGN(const Scratch scratch, scratch_folder());
  RELAY_ASSIGN(std::string said, measure::run_package_file(options.program, "random_net.py",
                                                           {std::to_string(*options.random_net), scratch.path}));
  Json net = Json::parse(said, nullptr, false);
  if (!net.is_object() || !net.contains("shape") || !net.contains("text"))
    return Diagnostic{DiagnosticKind::bad_option,
                      format("random_net.py printed '{}'", said),
                      {},
                      {},
                      {},
                      "run it alone to see the error: python -m relay.tools.random_net"};
  options.model = scratch.path + "/net.onnx";
  std::string shape = format("x={}", join(net["shape"].get<std::vector<int64_t>>(), ","));
  print_message(format("network {}, {}: {}", *options.random_net, shape, net["text"].get<std::string>()));
  RELAY_ASSIGN(driver::Model model, load(options));
  return bench(options, model, {shape});
}

void add_bench(CLI::App& app, SelectedVerb& selected) {
  CLI::App* verb =
      add_verb(app, "bench", "Measure how fast a model runs, alone or next to other engines",
               "  relay bench model.onnx\n"
               "  relay bench model.onnx --vs onnxruntime,openvino --threads 1,2\n"
               "  relay bench model.onnx --vs torch,torch-compile     with model.pt2 next to it\n"
               "  relay bench model.tflite --vs litert                or Keras, SavedModel: tensorflow\n"
               "  relay bench model.rart --time 10 --json\n"
               "  relay bench model.onnx --target cortex-a72 --on ssh://pi@board --runner build/aarch64/bin/relay-run\n"
               "  relay bench --random-net 7 --vs onnxruntime         odd sizes, strides, groups");
  std::shared_ptr<BenchOptions> options = std::make_shared<BenchOptions>();
  options->program = selected.program;
  add_model(*verb, *options, "ONNX file, Relay program or artifact");
  add_compile_flags(*verb, options->flags);
  verb->remove_option(verb->get_option("--threads"));
  verb->add_option("--threads", options->thread_counts, "Numbers of threads to measure, such as 1,2; 0: all cores")
      ->delimiter(',')
      ->check(CLI::Range(0, 1024));
  verb->add_option("--vs", options->vs, format("Other engines to measure: {}", join(measure::external_engines, ", ")))
      ->delimiter(',')
      ->check(CLI::IsMember(measure::external_engines));
  verb->add_option("--time", options->seconds, "Seconds to measure, for each number of threads")
      ->capture_default_str()
      ->check(CLI::Range(0.01, 3600.0));
  verb->add_option("--input", options->inputs, "Value of an input, as for `relay run`")->type_name("NAME=WHAT");
  verb->add_flag("--json", options->json, "Print the figures as JSON");
  verb->add_option("--on", options->on,
                   "Measure on another machine, which needs an SSH server and nothing of Relay: the runner and the "
                   "compiled model are copied there. Name its processor with --target")
      ->type_name("ssh://[USER@]HOST[:PORT]");
  verb->add_option("--runner", options->runner,
                   "With --on: the static relay-run for that machine. Default: the one next to this program")
      ->type_name("FILE");
  verb->add_option("--ssh-config", options->ssh_config,
                   "With --on: the configuration file of ssh, instead of the user's")
      ->type_name("FILE");
  verb->get_option("MODEL")->required(false);
  CLI::Option* random = verb->add_option("--random-net", options->random_net, "Measure a random network instead");
  random->type_name("SEED")->excludes(verb->get_option("MODEL"))->excludes(verb->get_option("--shape"));
  verb->callback([options, verb, random, &selected] {
    if (verb->get_option("MODEL")->empty() && random->empty()) throw CLI::RequiredError("MODEL or --random-net");
    selected.run = [options] {
      return !options->on.empty()  ? bench_on(*options)
             : options->random_net ? bench_random_net(*options)
                                   : bench(*options);
    };
  });
}

}  // namespace relay::cli
