// relay_operators: the operators' benchmark examples (op/op.h), each compiled as a program of its own and timed on one
// thread, and compared with the limit of one core and the best library implementation (libraries.h).
//
//   relay_operators                                         all of them
//   relay_operators --filter 'convolution.*stride'          those whose structure and call match a regular expression
//   relay_operators --target haswell                        code and libraries with 32-byte vectors
//   make bench-kernels                                      all for this machine, then the most expensive ones with
//   AVX2
//
// Our time is that of the whole program, including copies if a kernel needs another storage order than the caller's. A
// library gets its inputs in the order that it prefers. Weights are constants, as in a model. Both take turns in short
// bursts, and their results are compared. Times are processor times: other programs may use the core in between.
// Operations are counted by the formula. The ceiling is measured with each entry, since shared machines change their
// speed; the share is that of the kernels that compute, without copies.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <regex>
#include <set>

#include "libraries.h"
#include "relay/driver/compile.h"
#include "relay/driver/targets.h"
#include "relay/eval/examples.h"
#include "relay/machine/instruction.h"
#include "relay/measure/measure.h"
#include "relay/measure/paired_benchmark.h"
#include "relay/measure/profile.h"

using namespace relay;

namespace {

// The structures of computations, in the order of the table.
const std::vector<std::string> structures = {"convolution",   "depthwise convolution", "grouped convolution",
                                             "contraction",   "batched contraction",   "pooling",
                                             "row reduction", "elementwise",           "movement"};

struct Options {
  std::string target = "native";
  std::string filter;
  double seconds = 0.7;  // for each entry
};

struct Entry {
  std::string structure, name;
  bench::OperatorCall call;
  driver::Compiled compiled;
  std::vector<Tensor> inputs, outputs;  // of a run; inputs without the constants
  double flops = 0, bytes = 0;          // of a run; bytes of inputs and outputs, once; selections read as much as they
                                        // write
};

struct Row {
  const Entry* entry;
  double us = 0, copies_us = 0, ceiling = 0;  // copies_us: the part of us in kernels that only move data
  std::string library;                        // empty if none has it
  double library_us = 0, ratio = 0;
  std::vector<std::string> wrong;  // libraries with other results than ours
  double share() const { return entry->flops / (us - copies_us) * 1e-3 / ceiling; }
};

bool is_convolution(const op::OpDef& def) { return starts_with(def.name, "nn.conv"); }

int64_t channels(const bench::OperatorCall& call, const Shape& shape) {
  return shape[call.get<std::string>("data_layout").find('C')];
}

std::string structure_of(const bench::OperatorCall& call) {
  const std::string& name = call.def->name;
  if (is_convolution(*call.def)) {
    int64_t groups = call.get<int64_t>("groups");
    if (groups == 1) return "convolution";
    return groups == channels(call, call.inputs[0].shape()) ? "depthwise convolution" : "grouped convolution";
  }
  if (name == "nn.dense" || name == "nn.matmul") return "contraction";
  if (name == "nn.batch_matmul") return "batched contraction";
  if (name.find("pool") != std::string::npos) return "pooling";
  switch (call.def->fusion) {
    case op::Fusion::Elementwise:
    case op::Fusion::Broadcast: return "elementwise";
    case op::Fusion::Reduce:
    case op::Fusion::OutputFusable: return "row reduction";
    case op::Fusion::Injective:
    case op::Fusion::Opaque: break;
  }
  return "movement";
}

bool is_heavy(const std::string& structure) {
  return structure.ends_with("convolution") || structure.ends_with("contraction");
}

DType narrow_type(const bench::OperatorCall& call) { return call.inputs[0].dtype(); }

// The number of multiply-adds of one core, relative to float32.
double products_at_once(const bench::OperatorCall& call, const TargetDesc& t) {
  const DType type = narrow_type(call);
  double fastest = t.fma_per_cycle;
  for (const machine::Instruction& i : machine::instructions())
    if (i.left == type || (type == DType::int8() && i.right == type))
      if (const auto [found, rate] = machine::fastest_instruction(t, i.left, i.right, i.sum); found)
        fastest = std::max(fastest, found->products * rate);
  return fastest / t.fma_per_cycle;
}

// For convolutions and contractions: two for each element of the weight and each place of its use, whatever algorithm
// computes them.
double multiply_adds(const bench::OperatorCall& call) {
  double weight = static_cast<double>(call.inputs[1].elements());
  double results = static_cast<double>(element_count(call.output).value());
  if (call.def->name == "nn.conv2d_transpose")
    return 2 * weight * static_cast<double>(call.inputs[0].elements() / channels(call, call.inputs[0].shape()));
  if (is_convolution(*call.def)) return 2 * weight * results / static_cast<double>(channels(call, call.output));
  int64_t batch = call.def->name == "nn.batch_matmul" ? call.output[0] : 1;
  return 2 * weight * results / static_cast<double>(batch * call.output.back());
}

// Values as small as the weights of a network, which affects whether a form with fewer multiplications is safe.
Tensor small(const Tensor& t) {
  Tensor out = Tensor::empty(t.shape(), t.dtype());
  const float* from = static_cast<const float*>(t.data());
  const float factor = 1 / std::sqrt(static_cast<float>(t.elements()));
  std::transform(from, from + t.elements(), static_cast<float*>(out.mutable_data()),
                 [&](float v) { return v * factor; });
  return out;
}

bool is_weight(const op::OpDef& def, const std::vector<Tensor>& inputs, size_t i) {
  return def.inputs.size() == inputs.size() && def.inputs[i].name == "weight";
}

// True for one result, and inputs that are tensors or one list of them.
bool is_measured_here(const op::OpDef& def, const eval::ExampleCase& c) {
  const bool has_list =
      std::any_of(def.inputs.begin(), def.inputs.end(), [](const op::Input& i) { return i.is_tuple; });
  return ir::as<ir::TensorType>(c.output) && (!has_list || def.inputs.size() == 1);
}

Entry prepare(const op::OpDef& def, const eval::ExampleCase& c) {
  const ir::TensorType* output = ir::as<ir::TensorType>(c.output);
  Shape shape;
  for (const ir::Dim& d : output->shape) shape.push_back(d->ivalue);
  Entry entry;
  entry.call = {&def, c.attrs, eval::example_inputs(c), shape};
  for (size_t i = 0; i < entry.call.inputs.size(); ++i)
    if (Tensor& t = entry.call.inputs[i]; is_weight(def, entry.call.inputs, i) && t.dtype() == DType::float32())
      t = small(t);
  entry.structure = structure_of(entry.call);
  entry.name = format("{} {}", def.name, join(c.example->inputs, " "));
  if (!c.example->attrs.empty()) entry.name += " " + c.example->attrs;
  entry.outputs = {Tensor::empty(shape, output->dtype)};
  size_t written = entry.outputs[0].bytes();
  entry.bytes = static_cast<double>(written);
  for (const Tensor& t : entry.call.inputs)
    entry.bytes += static_cast<double>(entry.structure == "movement" ? std::min(t.bytes(), written) : t.bytes());
  return entry;
}

// The call as a program: inputs are its parameters, except for weights.
Result<ir::Module> program(const bench::OperatorCall& call, std::vector<Tensor>& given) {
  std::vector<ir::VarRef> params;
  ir::Exprs values;
  for (const Tensor& t : call.inputs) {
    if (is_weight(*call.def, call.inputs, values.size())) {
      values.push_back(ir::constant(t));
      continue;
    }
    ir::Dims dims;
    for (int64_t d : t.shape()) dims.push_back(scalar::imm(d));
    params.push_back(ir::var(format("in{}", params.size()), ir::tensor_type(dims, t.dtype())));
    values.push_back(params.back());
    given.push_back(t);
  }
  ir::Exprs args = call.def->inputs[0].is_tuple ? ir::Exprs{ir::tuple(values)} : values;
  ir::Module module;
  module.functions["main"] = ir::function(params, ir::call(op::node(*call.def), args, call.attrs));
  return module;
}

Status compile(Entry& entry, const TargetDesc& target) {
  RELAY_ASSIGN(ir::Module module, program(entry.call, entry.inputs));
  driver::Options options;
  options.lower.target = target;
  options.run.threads = 1;
  RELAY_ASSIGN(entry.compiled, driver::compile(module, options));
  if (is_heavy(entry.structure)) {
    entry.flops = multiply_adds(entry.call);
  } else {
    for (const driver::GroupReport& group : entry.compiled.report.groups) entry.flops += group.flops;
  }
  return entry.compiled.executable->run_into(entry.inputs, entry.outputs);
}

// Seconds of this thread, so that time in which others use the core does not count.
double processor_seconds() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

// Times consecutive runs, in microseconds. Reading the clock costs about 0.2 us, so short runs are timed in groups.
measure::Engine engine(const std::string& name, const std::function<Status()>& run) {
  return {name, [run](double seconds) -> Result<std::vector<double>> {
            std::vector<double> us;
            int64_t many = 1;
            for (double end = measure::now() + seconds;;) {
              double begin = processor_seconds();
              for (int64_t i = 0; i < many; ++i) RELAY_RETURN_IF_ERROR(run());
              double all = (processor_seconds() - begin) * 1e6;
              bool enough = all >= 50;
              if (enough) us.push_back(all / static_cast<double>(many));
              if (!enough) many *= 2;
              if (!us.empty() && measure::now() >= end) return us;
            }
          }};
}

// The share of a run in kernels without arithmetic.
Result<double> part_of_copies(const Entry& entry) {
  std::vector<runtime::Value> inputs;
  for (const Tensor& t : entry.inputs) inputs.push_back(runtime::Value::tensor(t));
  RELAY_ASSIGN(measure::Profile profile,
               measure::measure_profile(*entry.compiled.executable, inputs, {.threads = 1, .seconds = 0.1}));
  measure::describe(profile, entry.compiled.lowered, entry.compiled.built.lowered_steps);
  double copies = 0;
  for (const measure::KernelProfile& kernel : profile.kernels)
    if (kernel.flops == 0) copies += kernel.us;
  return copies / profile.kernels_us;
}

Result<Row> measure(Entry& entry, const TargetDesc& target, double seconds) {
  RELAY_RETURN_IF_ERROR(compile(entry, target));
  Row row;
  row.entry = &entry;
  std::vector<measure::Engine> engines = {
      engine("relay", [&] { return entry.compiled.executable->run_into(entry.inputs, entry.outputs); })};
  for (const bench::LibraryCall& call : bench::library_calls(entry.call)) {
    call.run();
    double off = measure::difference({call.result()}, entry.outputs).largest;
    if (off <= 1e-4) {
      engines.push_back(engine(call.name, [run = call.run] {
        run();
        return ok();
      }));
    } else {
      row.wrong.push_back(format("{} is off by {:.1e} of the largest value", call.name, off));
    }
  }
  RELAY_RETURN_IF_ERROR(measure::paired_benchmark(engines, seconds));
  row.us = measure::median(engines[0].us);
  row.ceiling = measure::measure_fma_gflops(target.vector_bytes);
  if (is_heavy(entry.structure)) row.ceiling *= products_at_once(entry.call, target);
  if (is_heavy(entry.structure)) {
    RELAY_ASSIGN(double part, part_of_copies(entry));
    row.copies_us = row.us * part;
  }
  for (size_t i = 1; i < engines.size(); ++i) {
    double ratio = measure::time_ratio(engines[i], engines[0]).median;
    if (i > 1 && ratio >= row.ratio) continue;
    row.library = engines[i].name, row.library_us = measure::median(engines[i].us), row.ratio = ratio;
  }
  return row;
}

void print(const Row& row) {
  double flops = row.entry->flops;
  std::string speed = flops > 0
                          ? format("{:9.2f} {:9.1f} {:7.1f}%", flops / row.us * 1e-3, row.ceiling, 100 * row.share())
                          : format("{:>9} {:9.1f} {:>8}", "-", row.ceiling, "-");
  std::string library =
      row.library.empty() ? format("{:>10} {:>6}", "-", "-") : format("{:10.1f} {:6.2f}", row.library_us, row.ratio);
  std::printf("%10.1f %s %8.2f %s  %-38s %s\n", row.us, speed.c_str(), row.entry->bytes / row.us * 1e-3,
              library.c_str(), row.library.empty() ? "-" : row.library.c_str(), row.entry->name.c_str());
  for (const std::string& what : row.wrong) std::printf("error: %s\n", what.c_str());
  std::fflush(stdout);
}

// Prints the geometric means of the ratios and the outliers.
void print_summary(const std::vector<Row>& rows) {
  auto mean = [&](const std::string& title, const std::function<bool(const Row&)>& counts) {
    double logs = 0, count = 0, below = 0;
    for (const Row& row : rows)
      if (!row.library.empty() && counts(row)) logs += std::log(row.ratio), count += 1, below += row.ratio < 1;
    if (count > 0)
      std::printf("%6.2f  %-24s %3.0f entries, %.0f below 1\n", std::exp(logs / count), title.c_str(), count, below);
  };
  auto list = [&](const char* title, const std::function<bool(const Row&)>& counts,
                  const std::function<double(const Row&)>& value) {
    std::vector<const Row*> found;
    for (const Row& row : rows)
      if (counts(row)) found.push_back(&row);
    std::sort(found.begin(), found.end(), [&](const Row* a, const Row* b) { return value(*a) < value(*b); });
    std::printf("\n%s\n", found.empty() ? format("{}: none", title).c_str() : title);
    for (const Row* row : found)
      std::printf("%6.2f  %s: %s\n", value(*row), row->entry->structure.c_str(), row->entry->name.c_str());
  };
  std::printf("\ngeometric mean of the library's time over ours, where a library has it\n");
  for (const std::string& structure : structures)
    mean(structure, [&](const Row& row) { return row.entry->structure == structure; });
  mean("all", [](const Row&) { return true; });
  list(
      "slower than a library, its time over ours", [](const Row& row) { return !row.library.empty() && row.ratio < 1; },
      [](const Row& row) { return row.ratio; });
  list(
      "convolutions and contractions of 100 MFLOP or more below 80 % of the ceiling, the share",
      [](const Row& row) { return is_heavy(row.entry->structure) && row.entry->flops >= 1e8 && row.share() < 0.8; },
      [](const Row& row) { return row.share(); });
}

// Prints narrow numbers next to float32 of the same sizes.
void print_narrow(const std::vector<Row>& rows) {
  auto shapes = [](const Row& row) {
    std::vector<Shape> out;
    for (const Tensor& t : row.entry->call.inputs) out.push_back(t.shape());
    return out;
  };
  bool first = true;
  for (const Row& row : rows)
    for (const Row& wide : rows)
      if (is_heavy(row.entry->structure) && row.entry->call.def == wide.entry->call.def &&
          narrow_type(row.entry->call) != DType::float32() && narrow_type(wide.entry->call) == DType::float32() &&
          shapes(row) == shapes(wide)) {
        if (first)
          std::printf("\ntime in float32 (a form with fewer products, where it has one) over that of narrow numbers\n");
        first = false;
        std::printf("%6.2f  %s\n", wide.us / row.us, row.entry->name.c_str());
      }
}

Result<std::vector<Entry>> chosen_entries(const std::string& filter) {
  std::regex pattern(filter);
  std::vector<Entry> out;
  std::set<std::string> others;
  for (const op::OpDef* def : op::all())
    for (size_t i = 0; i < def->examples.size(); ++i) {
      if (!def->examples[i].bench) continue;
      RELAY_ASSIGN(const eval::ExampleCase c, eval::example_case(*def, i));
      if (!is_measured_here(*def, c)) {
        others.insert(std::string(def->name));
        continue;
      }
      Entry entry = prepare(*def, c);
      if (std::regex_search(format("{}: {}", entry.structure, entry.name), pattern)) out.push_back(std::move(entry));
    }
  if (!others.empty() && filter.empty()) {
    std::printf("make bench-ops measures those of several results or lists of inputs:");
    for (const std::string& name : others) std::printf(" %s", name.c_str());
    std::printf("\n");
  }
  return out;
}

// Returns true if all results agreed.
Result<bool> run(const Options& options, char** argv) {
  RELAY_ASSIGN(TargetDesc target, driver::find_target(options.target));
  RELAY_RETURN_IF_ERROR(driver::check_runs_here(target));
  bench::prepare_libraries(options.target == "native" ? 0 : target.vector_bytes, argv);
  RELAY_ASSIGN(std::vector<Entry> entries, chosen_entries(options.filter));
  if (entries.empty())
    return Diagnostic{DiagnosticKind::bad_option,
                      format("no benchmark example matches '{}'", options.filter),
                      {},
                      {},
                      {},
                      "name an operator, or a part of its name"};
  std::printf("one thread, %s; %s\n", driver::short_description(target).c_str(), bench::libraries_text().c_str());
  std::printf(
      "libraries get their inputs in the order that they want; ours holds the copies from and to the caller's\n\n");
  std::printf("%10s %9s %9s %8s %8s %10s %6s  %-38s %s\n", "median us", "GFLOP/s", "ceiling", "share", "GB/s",
              "library us", "ratio", "library", "operator");
  std::vector<Row> rows;
  bool agreed = true;
  for (const std::string& structure : structures) {
    bool first = true;
    for (Entry& entry : entries) {
      if (entry.structure != structure) continue;
      if (first) std::printf("%s\n", structure.c_str());
      first = false;
      RELAY_ASSIGN(Row row, measure(entry, target, options.seconds));
      print(row);
      agreed &= row.wrong.empty();
      rows.push_back(std::move(row));
    }
  }
  print_summary(rows);
  print_narrow(rows);
  return agreed;
}

// The error in a pattern; empty if it is valid.
std::string wrong_pattern(const std::string& text) {
  try {
    std::regex pattern(text);
    return "";
  } catch (const std::regex_error& e) {
    return format("{} is not a regular expression: {}", text, e.what());
  }
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Single operators beside what one core can do at most, and beside libraries");
  app.add_option("--target", options.target, "What to compile for; the libraries are held to vectors of the same size");
  app.add_option("--filter", options.filter, "Only where structure and call match this regular expression")
      ->check(wrong_pattern);
  app.add_option("--time", options.seconds, "Seconds for each entry")->check(CLI::PositiveNumber);
  CLI11_PARSE(app, argc, argv);
  Result<bool> agreed = run(options, argv);
  if (!agreed) std::fputs(render(agreed.errors()).c_str(), stderr);
  return agreed && *agreed ? 0 : 1;
}
