// relay bench: how fast a model runs, by itself or beside a peer on the same machine and inputs.
//
// Ours and the peer's runs alternate in short bursts, so that whatever else the machine does meets both; medians are compared.
#include <algorithm>
#include <cmath>
#include <iostream>
#include <nlohmann/json.hpp>

#include "relay/driver/cli/model_options.h"
#include "relay/driver/measure.h"
#include "relay/driver/peer.h"
#include "relay/runtime/thread_pool.h"

namespace relay::cli {

namespace {
struct BenchOptions : ModelOptions {
  std::vector<std::string> inputs;
  std::vector<int> thread_counts;
  std::string vs, program;
  double seconds = 3;
  bool json = false;
};

struct Times {
  std::vector<double> us;  // sorted
  double at(double fraction) const {
    return us[std::min(us.size() - 1, static_cast<size_t>(fraction * static_cast<double>(us.size())))];
  }
  double median() const { return at(0.5); }
};

struct Measured {
  int threads = 1;
  Times ours, peers;
  std::string peer;
  double largest_difference = 0, largest_value = 0;
};
}  // namespace

static void sort(Times& times) { std::sort(times.us.begin(), times.us.end()); }

static void compare_outputs(const std::vector<Tensor>& ours, const std::vector<Tensor>& peers, Measured& out) {
  for (size_t i = 0; i < std::min(ours.size(), peers.size()); ++i) {
    if (ours[i].shape() != peers[i].shape()) {
      out.largest_difference = INFINITY;
      continue;
    }
    for (int64_t k = 0; k < ours[i].elements(); ++k) {
      double a = ours[i].at(k), b = peers[i].at(k);
      double difference = a == b || (std::isnan(a) && std::isnan(b)) ? 0 : std::abs(a - b);
      out.largest_difference = std::isnan(difference) ? INFINITY : std::max(out.largest_difference, difference);
      out.largest_value = std::max(out.largest_value, std::isfinite(b) ? std::abs(b) : 0);
    }
  }
}

static Status burst(runtime::Executable& executable, const std::vector<Tensor>& inputs, int threads, double seconds,
                    std::vector<double>& us) {
  for (double end = driver::now() + seconds;;) {
    double begin = driver::now();
    RELAY_RETURN_IF_ERROR(executable.run(inputs, {.threads = threads}));
    double stop = driver::now();
    us.push_back((stop - begin) * 1e6);
    if (stop >= end) return ok();
  }
}

static Result<Measured> measure(const BenchOptions& options, runtime::Executable& executable,
                                const std::vector<Tensor>& inputs, int threads) {
  Measured out;
  out.threads = threads;
  std::optional<driver::Peer> peer;
  if (!options.vs.empty()) {
    RELAY_ASSIGN(driver::Peer started,
                 driver::Peer::start({options.vs, options.model, threads, options.program}, inputs));
    out.peer = started.version();
    peer.emplace(std::move(started));
    RELAY_ASSIGN(std::vector<Tensor> outputs, executable.run(inputs, {.threads = threads}));
    compare_outputs(outputs, peer->outputs(), out);
  }
  std::vector<double> warm_up;
  RELAY_RETURN_IF_ERROR(burst(executable, inputs, threads, std::min(0.3, options.seconds / 10), warm_up));
  double length = std::clamp(options.seconds / 20, 0.02, 0.2);
  for (double end = driver::now() + options.seconds; driver::now() < end;) {
    RELAY_RETURN_IF_ERROR(burst(executable, inputs, threads, length, out.ours.us));
    if (!peer) continue;
    RELAY_ASSIGN(std::vector<double> us, peer->run(length));
    out.peers.us.insert(out.peers.us.end(), us.begin(), us.end());
  }
  sort(out.ours), sort(out.peers);
  if (peer && out.peers.us.empty()) return Diagnostic{DiagnosticKind::bad_option, "the peer gave no times"};
  return out;
}

static nlohmann::ordered_json as_json(const Times& t) {
  return {{"runs", t.us.size()}, {"median_us", t.median()}, {"p99_us", t.at(0.99)}, {"min_us", t.us[0]}};
}

static void print(const BenchOptions& options, const std::vector<Measured>& all) {
  if (options.json) {
    nlohmann::ordered_json out = nlohmann::ordered_json::array();
    for (const Measured& m : all) {
      nlohmann::ordered_json one = {{"model", options.model}, {"threads", m.threads}, {"relay", as_json(m.ours)}};
      if (!m.peer.empty())
        one.update({{"peer", m.peer},
                    {"peer_times", as_json(m.peers)},
                    {"ratio", m.peers.median() / m.ours.median()},
                    {"largest_difference", m.largest_difference},
                    {"largest_value", m.largest_value}});
      out.push_back(one);
    }
    std::cout << out.dump(2) << "\n";
    return;
  }
  std::cout << format("{:<22} {:>7} {:>7} {:>12} {:>12} {:>12}\n", "", "threads", "runs", "median us", "p99 us",
                      "min us");
  for (const Measured& m : all) {
    auto line = [&](const std::string& who, const Times& t) {
      std::cout << format("{:<22} {:>7} {:>7} {:>12.1f} {:>12.1f} {:>12.1f}\n", who, m.threads, t.us.size(), t.median(),
                          t.at(0.99), t.us[0]);
    };
    line("relay", m.ours);
    if (m.peer.empty()) continue;
    line(m.peer, m.peers);
    double ratio = m.peers.median() / m.ours.median();
    std::cout << format(
        "{:<22} {:>7} relay is {:.2f} times {}; largest difference of the results {:.3g} (values up to {:.3g})\n", "",
        "", ratio >= 1 ? ratio : 1 / ratio, ratio >= 1 ? "faster" : "SLOWER", m.largest_difference, m.largest_value);
  }
}

static Status bench(const BenchOptions& options) {
  RELAY_ASSIGN(driver::Model model, load(options));
  if (!options.vs.empty() && model.form != driver::ModelForm::Onnx)
    return Diagnostic{DiagnosticKind::bad_option,
                      format("{} reads ONNX models only, not this {}", options.vs, name(model.form)),
                      {},
                      {},
                      {},
                      "leave --vs out"};
  std::vector<int> counts = options.thread_counts;
  if (counts.empty()) counts.push_back(runtime::ThreadPool::global().size());
  for (int& count : counts)
    if (count == 0) count = runtime::ThreadPool::global().size();

  std::shared_ptr<runtime::Executable> executable = model.executable;
  driver::CompileReport report;
  if (!executable) {
    RELAY_ASSIGN(driver::CompileOptions how, compile_options(options, model));
    how.threads = *std::max_element(counts.begin(), counts.end());
    RELAY_ASSIGN(driver::Compiled compiled, driver::compile(model.module, how));
    executable = compiled.executable;
    report = std::move(compiled.report);
    say_notes(report);
  }
  RELAY_ASSIGN(driver::Inputs inputs,
               driver::make_inputs(driver::input_ports(*executable), {options.inputs, options.shapes},
                                   driver::types_of(*executable)));
  RELAY_ASSIGN(std::vector<Tensor> tensors, driver::tensors_of(inputs.values));
  for (const std::string& note : inputs.notes) say(note);
  std::vector<Measured> all;
  for (int threads : counts) {
    RELAY_ASSIGN(Measured measured, measure(options, *executable, tensors, threads));
    if (threads > runtime::ThreadPool::global().size())
      say(format("{} threads were asked for; this process may use {}", threads, runtime::ThreadPool::global().size()));
    all.push_back(std::move(measured));
  }
  print(options, all);
  say(format("{}, {}: read {}, compile {}, measured for {} s{}", model.executable ? "artifact" : summary(report),
             executable->runs_as_graph() ? "graph executor" : "virtual machine", milliseconds(model.ms),
             milliseconds(report.total_ms()), options.seconds * static_cast<double>(counts.size()),
             options.vs.empty() ? "" : ", each engine half of it, the other stopped"));
  return ok();
}

void add_bench(CLI::App& app, Chosen& chosen) {
  CLI::App* verb = add_verb(app, "bench", "Measure how fast a model runs, by itself or beside a peer",
                            "  relay bench model.onnx\n"
                            "  relay bench model.onnx --vs onnxruntime --threads 1,2\n"
                            "  relay bench model.rart --time 10 --json");
  std::shared_ptr<BenchOptions> options = std::make_shared<BenchOptions>();
  options->program = chosen.program;
  add_model(*verb, *options, "ONNX file, Relay program or artifact");
  add_compile_options(*verb, *options);
  verb->remove_option(verb->get_option("--threads"));
  verb->add_option("--threads", options->thread_counts, "Thread counts to measure, as 1,2; 0: all cores")
      ->delimiter(',')
      ->check(CLI::Range(0, 1024));
  verb->add_option("--vs", options->vs, "A peer to measure beside: onnxruntime")->check(CLI::IsMember({"onnxruntime"}));
  verb->add_option("--time", options->seconds, "Seconds to measure, for each thread count")
      ->capture_default_str()
      ->check(CLI::Range(0.01, 3600.0));
  verb->add_option("--input", options->inputs, "As for `relay run`")->type_name("NAME=WHAT");
  verb->add_flag("--json", options->json, "Print the figures as JSON");
  verb->callback([options, &chosen] { chosen.run = [options] { return bench(*options); }; });
}

}  // namespace relay::cli
