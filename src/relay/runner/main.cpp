// relay-run: runs a compiled model on tensors, without the compiler. Linked statically, it needs nothing of the machine
// but the kernel of Linux, so it can be copied to a board.
//
//   relay-run model.rart                                    random inputs, those of `relay run`
//   relay-run model.rart --input image=cat.npy --output out.npz
//   relay-run model.rart --repeat 100                       and the median time
//   relay-run model.rart --measure 3                        the times of runs for 3 s, as JSON (relay bench --on)
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <iostream>
#include <map>

#include "relay/input/array_text.h"
#include "relay/input/npy.h"
#include "relay/input/random_tensor.h"
#include "relay/runtime/artifacts/artifact.h"
#include "relay/runtime/report.h"

namespace relay::runner {
namespace {

struct Options {
  std::string model, output;
  std::vector<std::string> inputs;
  int threads = 0, repeat = 1;
  double measure = 0;  // seconds; 0: `repeat` runs, and their results
};

Diagnostic wrong_input(std::string message, std::string help) {
  return Diagnostic{DiagnosticKind::wrong_input, std::move(message), {}, {}, {}, std::move(help)};
}

// The arrays of --input by the names of inputs.
Result<std::map<std::string, Tensor>> given_arrays(const Options& options,
                                                   const std::vector<runtime::PortInfo>& ports) {
  std::map<std::string, Tensor> given;
  for (const std::string& text : options.inputs) {
    input::NamedArrays arrays;
    const size_t equals = text.find('=');
    if (equals != std::string::npos) {
      RELAY_ASSIGN(Tensor array, input::read_npy(text.substr(equals + 1)));
      arrays.emplace_back(text.substr(0, equals), std::move(array));
    } else if (text.ends_with(".npz")) {
      RELAY_ASSIGN(arrays, input::read_npz(text));
    } else {
      return wrong_input(format("--input {} does not name its input", text),
                         "write --input NAME=FILE.npy, or FILE.npz");
    }
    for (auto& [name, array] : arrays) {
      const bool known = std::any_of(ports.begin(), ports.end(), [&](const auto& port) { return port.name == name; });
      std::vector<std::string> names;
      for (const runtime::PortInfo& port : ports) names.push_back(port.name);
      if (!known)
        return wrong_input(format("the model has no input `{}`", name),
                           format("its inputs are: {}", join(names, ", ")));
      if (!given.emplace(name, std::move(array)).second)
        return wrong_input(format("the input `{}` is given twice", name), "leave out one of them");
    }
  }
  return given;
}

Result<std::vector<Tensor>> make_inputs(const Options& options, const std::vector<runtime::PortInfo>& ports) {
  RELAY_ASSIGN(const auto given, given_arrays(options, ports));
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < ports.size(); ++i) {
    const runtime::PortInfo& port = ports[i];
    if (!port.is_tensor)
      return wrong_input(format("the input `{}` is {}", port.name, port.type),
                         "relay-run takes tensors only: use `relay run` or the C interface");
    if (const auto found = given.find(port.name); found != given.end()) {
      inputs.push_back(found->second);
      continue;
    }
    if (std::find(port.dims.begin(), port.dims.end(), -1) != port.dims.end())
      return wrong_input(
          format("the shape of input `{}`, ({}), is not constant", port.name, join(port.dim_texts, ", ")),
          format("give it an array: --input {}=FILE.npy", port.name));
    inputs.push_back(input::random_input(Shape(port.dims.begin(), port.dims.end()), port.dtype, 0, i));
  }
  return inputs;
}

using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

// Prints the times of all runs, in microseconds, the time until the first result, and the peak memory of the process.
Status measure(const Options& options, runtime::Executable& executable, const std::vector<Tensor>& inputs,
               Clock::time_point start) {
  runtime::Report report;
  RELAY_RETURN_IF_ERROR(executable.run(inputs, {.report = &report}));
  const double ready_ms = milliseconds_since(start);
  std::vector<double> us;
  const Clock::time_point begin = Clock::now();
  do {
    const Clock::time_point one = Clock::now();
    RELAY_RETURN_IF_ERROR(executable.run(inputs));
    us.push_back(milliseconds_since(one) * 1e3);
  } while (milliseconds_since(begin) < options.measure * 1e3);
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::cout << format("{{\"threads\": {}, \"ready_ms\": {}, \"peak_bytes\": {}, \"us\": [{}]}}\n", report.threads,
                      ready_ms, int64_t{usage.ru_maxrss} << 10, join(us, ", "));
  return ok();
}

Status run(const Options& options) {
  const Clock::time_point start = Clock::now();
  RELAY_ASSIGN(const std::shared_ptr<runtime::Executable> executable,
               runtime::load_executable(options.model, {.threads = options.threads}));
  RELAY_ASSIGN(const std::vector<Tensor> inputs, make_inputs(options, executable->inputs()));
  for (const runtime::PortInfo& port : executable->outputs())
    if (!port.is_tensor)
      return wrong_input(format("the result is {}", port.type),
                         "relay-run takes models whose results are tensors: use `relay run` or the C interface");
  if (options.measure > 0) return measure(options, *executable, inputs, start);
  std::vector<double> milliseconds;
  std::vector<Tensor> outputs;
  runtime::Report report;
  for (int i = 0; i < options.repeat; ++i) {
    const Clock::time_point begin = Clock::now();
    RELAY_ASSIGN(outputs, executable->run(inputs, {.report = &report}));
    milliseconds.push_back(milliseconds_since(begin));
  }
  input::NamedArrays arrays;
  for (size_t i = 0; i < outputs.size(); ++i) {
    std::string name = executable->outputs()[i].name;
    if (name.empty()) name = outputs.size() == 1 ? "output" : format("output{}", i);
    std::cout << input::array_text(name, outputs[i]);
    arrays.emplace_back(std::move(name), outputs[i]);
  }
  std::sort(milliseconds.begin(), milliseconds.end());
  std::cerr << format("relay-run: {}, {}, run {:.3f} ms{}\n",
                      plural(report.kernel_calls, "kernel call", "kernel calls"),
                      plural(report.threads, "thread", "threads"), milliseconds[milliseconds.size() / 2],
                      options.repeat > 1 ? format(" (median of {})", options.repeat) : "");
  return options.output.empty() ? ok() : input::write_npz(options.output, arrays);
}

int run_command_line(int argc, const char* const* argv) {
  CLI::App app("Runs a compiled model (relay compile -o MODEL.rart) on tensors.", "relay-run");
  Options options;
  app.add_option("MODEL", options.model, "Artifact")->required();
  app.add_option("--input", options.inputs,
                 "NAME=FILE.npy, or FILE.npz for several; inputs that are not given are random, seed 0");
  app.add_option("--output", options.output, "Write the results to this file (.npz)");
  app.add_option("--threads", options.threads, "The most threads that kernels use; 0: all cores")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--repeat", options.repeat, "Runs; the median of their times is printed")->check(CLI::PositiveNumber);
  app.add_option("--measure", options.measure, "Seconds of runs; their times are printed as JSON, instead of results")
      ->check(CLI::Range(0.01, 3600.0));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  }
  const Status status = run(options);
  if (status) return 0;
  std::cerr << render(status.errors());
  return 1;
}

}  // namespace
}  // namespace relay::runner

int main(int argc, char** argv) { return relay::runner::run_command_line(argc, argv); }
