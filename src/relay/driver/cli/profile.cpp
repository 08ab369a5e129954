// relay profile: shows the time of a run by kernel, compared with the machine's limits (measure/profile.h).
#include "relay/measure/profile.h"

#include <cmath>
#include <iostream>
#include <nlohmann/json.hpp>
#include <span>

#include "relay/driver/cli/model_options.h"
#include "relay/driver/cli/outputs.h"
#include "relay/driver/targets.h"
#include "relay/input/files.h"
#include "relay/measure/profile_in_turn.h"
#include "relay/measure/statistics.h"

namespace relay::cli {

namespace {
struct ProfileOptions : ModelOptions {
  std::vector<std::string> inputs;
  std::string trace, against;
  double seconds = 1;
  bool json = false;
};
}  // namespace

static double gflops(const measure::KernelProfile& k) { return k.flops / k.us * 1e-3; }
static double gbps(const measure::KernelProfile& k) { return static_cast<double>(k.bytes) / k.us * 1e-3; }

// Shares above the limit are possible: caches keep written data, and a lookup reads little of its table.
static std::string percent(double share) { return share > 1.5 ? ">150" : format("{:.0f}", 100 * share); }

// "; of Conv 'a', Relu 'b', Add 'c' and 2 more": the nodes of the model that the kernel computes.
static std::string of_nodes(const std::vector<std::string>& nodes) {
  constexpr size_t most = 3;
  if (nodes.empty()) return "";
  const std::span<const std::string> first(nodes.data(), std::min(most, nodes.size()));
  return format("; of {}{}", join(first, ", "), nodes.size() > most ? format(" and {} more", nodes.size() - most) : "");
}

static void print(const measure::Profile& profile, const measure::Ceilings& c) {
  std::cout << format("{:>10} {:>6} {:>6} {:>8} {:>9} {:>8} {:>14}  kernel: rule\n", "us", "%", "calls", "threads",
                      "GFLOP/s", "GB/s", "% of ceiling");
  for (const measure::KernelProfile& k : profile.kernels)
    cli::print(format("{:>10.1f} {:>6.1f} {:>6} {:>8} {:>9} {:>8.1f} {:>14}  {}{}{}{}", k.us,
                      100 * k.us / profile.total_us(), k.calls, k.threads,
                      k.flops > 0 ? format("{:.1f}", gflops(k)) : "-", gbps(k),
                      format("{} {:<6}", percent(k.share()), measure::name(k.bound)), k.name,
                      k.rule.empty() ? "" : ": ", k.rule, of_nodes(k.nodes)));
  std::cout << format("{:>10.1f} {:>6.1f} {:>6} {:>8} {:>9} {:>8} {:>14}  waiting for threads and between kernels\n",
                      profile.waiting_us, 100 * profile.waiting_us / profile.total_us(), "", "", "", "", "");
  double least = 0;
  for (const measure::KernelProfile& k : profile.kernels) least += k.min_us;
  std::cout << format("{:>10.1f} all kernels; a run takes {:.1f} us; at the ceilings it would take {:.1f}\n",
                      profile.kernels_us, profile.us, least);
  std::cout << format("ceilings of one core: {:.1f} GFLOP/s; reading L2 {:.1f}, L3 {:.1f}", c.fma_gflops, c.l2_gbps,
                      c.l3_gbps);
  for (const measure::Ceilings::Aged& aged : c.l3_after)
    std::cout << format(" ({:.1f} after {:.0f} ms)", aged.gbps, aged.us * 1e-3);
  std::cout << format(", memory {:.1f} GB/s\n", c.memory_gbps);
  double estimate = 0;
  for (const measure::KernelProfile& k : profile.kernels) estimate += k.estimate_us;
  std::cout << format("estimated by the target's description: {:.1f} us", estimate);
  if (std::optional<double> rank = measure::estimate_rank_correlation(profile))
    std::cout << format("; rank correlation with the times of {}: {:.2f}",
                        plural(static_cast<int64_t>(profile.kernels.size()), "kernel", "kernels"), *rank);
  std::cout << "\n";
}

static void print_json(const measure::Profile& profile, const measure::Ceilings& c) {
  using Json = nlohmann::ordered_json;
  Json kernels = Json::array();
  for (const measure::KernelProfile& k : profile.kernels)
    kernels.push_back({{"name", k.name},
                       {"rule", k.rule},
                       {"nodes", k.nodes},
                       {"calls", k.calls},
                       {"threads", k.threads},
                       {"us", k.us},
                       {"flops", k.flops},
                       {"bytes", k.bytes},
                       {"gflops", gflops(k)},
                       {"gbps", gbps(k)},
                       {"bound", measure::name(k.bound)},
                       {"share", k.share()},
                       {"estimate_us", k.estimate_us}});
  std::optional<double> rank = measure::estimate_rank_correlation(profile);
  Json out = {
      {"us", profile.us},
      {"kernels_us", profile.kernels_us},
      {"waiting_us", profile.waiting_us},
      {"runs", profile.runs},
      {"ceilings",
       {{"fma_gflops", c.fma_gflops}, {"l2_gbps", c.l2_gbps}, {"l3_gbps", c.l3_gbps}, {"memory_gbps", c.memory_gbps}}},
      {"estimate_rank_correlation", rank ? Json(*rank) : Json()},
      {"kernels", kernels}};
  std::cout << out.dump(2, ' ', false, Json::error_handler_t::replace) << "\n";
}

static void print_in_turn(const measure::TurnProfiles& profiles) {
  auto median_of = [](const std::map<std::string, std::vector<double>>& kernels, const std::string& name) {
    const auto found = kernels.find(name);
    return found == kernels.end() ? std::string("-") : format("{:.1f}", measure::median(found->second));
  };
  const measure::TurnProfile &a = profiles.first, &b = profiles.second;
  std::map<std::string, std::vector<double>> all = a.kernels;
  all.insert(b.kernels.begin(), b.kernels.end());
  std::cout << format("{:>10} {:>10}  kernel\n", "us", "against");
  for (const auto& [name, times] : all)
    cli::print(format("{:>10} {:>10}  {}", median_of(a.kernels, name), median_of(b.kernels, name), name));
  std::vector<double> ratios;
  for (size_t i = 0; i < a.us.size(); ++i) ratios.push_back(b.us[i] / a.us[i]);
  const std::optional<measure::Interval> interval = measure::median_interval(ratios);
  std::cout << format("{:>10.1f} {:>10.1f}  a run; the other takes {:.3f} times as long{}\n", measure::median(a.us),
                      measure::median(b.us), measure::median(ratios),
                      interval ? format(" ({:.3f} to {:.3f})", interval->low, interval->high) : "");
}

// Profiles the model and the artifact options.against in turn.
static Status profile_in_turn(const ProfileOptions& options, runtime::Executable& executable,
                              const std::vector<runtime::Value>& inputs) {
  driver::Model other;
  RELAY_ASSIGN(const driver::ModelForm form, driver::form_of(options.against));
  if (form != driver::ModelForm::Artifact)
    return Diagnostic{DiagnosticKind::bad_option,
                      format("--against takes an artifact, but {} is none", options.against),
                      {},
                      {},
                      {},
                      "compile it first: relay compile MODEL -o FILE.rart"};
  RELAY_RETURN_IF_ERROR(driver::load_artifact(other, options.against, options.flags.values.run));
  RELAY_ASSIGN(const measure::TurnProfiles profiles,
               measure::profile_in_turn(executable, *other.executable, inputs,
                                        {.threads = options.flags.values.run.threads, .seconds = options.seconds}));
  if (!options.json) {
    print_in_turn(profiles);
  } else {
    auto as_json = [](const measure::TurnProfile& p) {
      return nlohmann::ordered_json{{"us", p.us}, {"kernels", p.kernels}};
    };
    const double difference = profiles.largest_difference;  // JSON has no infinity
    std::cout << nlohmann::ordered_json{{"model", as_json(profiles.first)},
                                        {"against", as_json(profiles.second)},
                                        {"largest_difference", std::isfinite(difference) ? difference : 1e9}}
              << "\n";
  }
  print_message(format("medians of {} in turn, with the fastest run of each",
                       plural(static_cast<int64_t>(profiles.first.us.size()), "round", "rounds")));
  return ok();
}

static Status profile(const ProfileOptions& options) {
  if (!options.trace.empty()) RELAY_RETURN_IF_ERROR(check_output_file(options.trace));
  RELAY_ASSIGN(driver::Model model, load(options));
  RELAY_ASSIGN(driver::Options compilation, compile_options(options, model.output_names));
  std::shared_ptr<runtime::Executable> executable = model.executable;
  driver::Compiled compiled;
  if (!executable) {
    RELAY_ASSIGN(compiled, driver::compile(model.module, compilation));
    executable = compiled.executable;
    print_notes(compiled.report);
  }
  RELAY_ASSIGN(input::Inputs inputs,
               input::make_inputs(input::input_ports(*executable), {options.inputs, options.shapes()}, model.types()));
  for (const std::string& note : inputs.notes) print_message(note);
  if (!options.against.empty()) return profile_in_turn(options, *executable, inputs.values);
  RELAY_ASSIGN(measure::Profile profile,
               measure::measure_profile(*executable, inputs.values,
                                        {.threads = options.flags.values.run.threads, .seconds = options.seconds}));
  if (compiled.executable) measure::describe(profile, compiled.lowered, compiled.built.lowered_steps);
  measure::Ceilings ceilings = measure::measure_ceilings(compilation.lower.target);
  measure::measure_ageing(ceilings);
  measure::find_ceilings(profile, ceilings, measure::described_ceilings(compilation.lower.target));
  options.json ? print_json(profile, ceilings) : print(profile, ceilings);
  if (!options.trace.empty()) {
    RELAY_RETURN_IF_ERROR(write_file(options.trace, measure::chrome_trace(profile)));
    print_message(format("wrote {}: open it in chrome://tracing or ui.perfetto.dev", options.trace));
  }
  print_message(format("{}, {}: medians of {}",
                       model.executable ? "artifact: its operations and rules are unknown" : summary(compiled.report),
                       in_words(executable->executor()), plural(profile.runs, "run", "runs")));
  return ok();
}

void add_profile(CLI::App& app, SelectedVerb& selected) {
  CLI::App* verb =
      add_verb(app, "profile", "Show the time of each kernel of a run, compared with the limits of this machine",
               "  relay profile model.onnx --threads 1\n"
               "  relay profile model.onnx --against other.rart   two builds in turn\n"
               "  relay profile model.onnx --trace trace.json     for chrome://tracing");
  std::shared_ptr<ProfileOptions> options = std::make_shared<ProfileOptions>();
  add_model(*verb, *options, "ONNX file, Relay program or artifact");
  add_compile_flags(*verb, options->flags);
  verb->add_option("--input", options->inputs, "Value of an input, as for `relay run`")->type_name("NAME=WHAT");
  verb->add_option("--time", options->seconds, "Seconds to measure")
      ->capture_default_str()
      ->check(CLI::Range(0.01, 3600.0));
  verb->add_option("--trace", options->trace, "Write the steps of one run as Chrome's trace events")->type_name("FILE");
  verb->add_option(
          "--against", options->against,
          "Artifact of another build of the model, which is profiled in turn; prints both times of each kernel")
      ->type_name("FILE");
  verb->add_flag("--json", options->json, "Print the figures as JSON");
  verb->callback([options, &selected] { selected.run = [options] { return profile(*options); }; });
}

}  // namespace relay::cli
