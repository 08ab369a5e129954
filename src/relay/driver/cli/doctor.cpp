// relay doctor: what this machine is, what the compiler believes of it, and whether that is so.
#include <unistd.h>

#include <cmath>
#include <fstream>
#include <iostream>
#include <thread>

#include "relay/base/bytes.h"
#include "relay/driver/cli/cli.h"
#include "relay/driver/measure.h"
#include "relay/driver/profile.h"
#include "relay/driver/targets.h"
#include "relay/driver/version.h"
#include "relay/op/registry.h"
#include "relay/runtime/thread_pool.h"
#include "relay/transform/pass.h"

namespace relay::cli {

namespace {
struct DoctorOptions {
  std::string target = "native";
  bool quick = false;
};
}  // namespace

static std::string model_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (starts_with(line, "model name")) return std::string(trim(std::string_view(line).substr(line.find(':') + 1)));
  return "unknown";
}

static void row(const char* what, const std::string& value) { std::cout << format("{:<13} {}\n", what, value); }

// One measured figure beside the described one. Shared machines measure low; twice off in either direction is worth a
// word.
static int compare(const char* what, const char* unit, double measured, double described) {
  double ratio = measured / described;
  bool agree = ratio > 0.5 && ratio < 2;
  row(what, format("{:8.1f} {:<8} described {:8.1f}   {}", measured, unit, described,
                   agree       ? "agrees"
                   : ratio < 1 ? "DISAGREES: this machine is slower, or busy"
                               : "DISAGREES: this machine is faster"));
  return agree ? 0 : 1;
}

static Status doctor(const DoctorOptions& options) {
  RELAY_ASSIGN(TargetDesc target, driver::find_target(options.target));
  row("relay", format("{}, {} operators, {} passes", version, op::all().size(), transform::all_passes().size()));
  row("built with", __VERSION__);
  row("processor", model_name());
  row("cores", format("{} usable (affinity, cgroup quota, RELAY_THREADS), {} online", runtime::usable_cores(),
                      std::thread::hardware_concurrency()));
  row("memory", format("{:.1f} GiB", static_cast<double>(sysconf(_SC_PHYS_PAGES)) *
                                         static_cast<double>(sysconf(_SC_PAGESIZE)) / (1 << 30)));
  row("target", format("{} = {}", options.target, target.name));
  row("  LLVM", format("{} {}", target.cpu, target.triple));
  row("  vectors", format("{} bits, {} registers{}{}", target.vector_bytes * 8, target.vector_registers,
                          target.has_fma ? ", fused multiply-add" : "", target.has_masks ? ", masks" : ""));
  row("  caches", format("L1 {}, L2 {}, L3 {}", bytes_text(target.l1_bytes), bytes_text(target.l2_bytes),
                         bytes_text(target.l3_bytes)));
  row("  features", format("{}", join(target.features, " ")));
  if (options.quick) {
    say("nothing was measured (--quick)");
    return ok();
  }
  std::cout << "\nmeasured on one core\n" << std::flush;
  driver::Ceilings measured = driver::measure_ceilings(target);
  int off = compare("multiply-add", "GFLOP/s", measured.fma_gflops,
                    target.fma_per_cycle * target.ghz * target.vector_bytes / 4 * 2);
  off += compare("L2 read", "GB/s", measured.l2_gbps, target.l2_gbps);
  off += compare("L3 read", "GB/s", measured.l3_gbps, target.l3_gbps);
  off += compare("memory read", "GB/s", measured.memory_gbps, target.dram_gbps);
  const int threads = runtime::ThreadPool::global().size();
  if (threads > 1) {
    const double us = driver::measure_region_us();
    row("threads", std::isfinite(us) ? format("{:8.2f} us       an empty parallel region of {} threads", us, threads)
                                     : "not measured: the machine is busy");
  }
  say(off == 0
          ? "the description fits this machine"
          : format(
                "{} of 4 figures disagree with the description: kernels are right, their schedules may not be the best",
                off));
  return ok();
}

void add_doctor(CLI::App& app, Chosen& chosen) {
  CLI::App* verb = add_verb(app, "doctor", "Say what this machine is, measured beside what the compiler believes",
                            "  relay doctor\n  relay doctor --target native,-avx512f --quick");
  std::shared_ptr<DoctorOptions> options = std::make_shared<DoctorOptions>();
  verb->add_option("--target", options->target, "The description to look at")->capture_default_str();
  verb->add_flag("--quick", options->quick, "Measure nothing");
  verb->callback([options, &chosen] { chosen.run = [options] { return doctor(*options); }; });
}

}  // namespace relay::cli
