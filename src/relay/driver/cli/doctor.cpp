// relay doctor: compares this machine with the compiler's description of it.
#include <unistd.h>

#include <cmath>
#include <fstream>
#include <iostream>
#include <thread>

#include "relay/base/bytes.h"
#include "relay/base/tile_permission.h"
#include "relay/driver/cli/cli.h"
#include "relay/driver/targets.h"
#include "relay/driver/version.h"
#include "relay/measure/calibration.h"
#include "relay/measure/measure.h"
#include "relay/measure/operations.h"
#include "relay/measure/profile.h"
#include "relay/op/registry.h"
#include "relay/runtime/devices/cuda/cuda.h"
#include "relay/runtime/devices/opencl.h"
#include "relay/runtime/threads/thread_pool.h"
#include "relay/transform/pass.h"

namespace relay::cli {

namespace {
struct DoctorOptions {
  std::string target = "native";
  bool quick = false, calibrate = false;
};
}  // namespace

static void row(const char* what, const std::string& value) { std::cout << format("{:<13} {}\n", what, value); }

// A measured figure next to the described one. Shared machines measure low; a factor of two in either direction is
// reported.
static int compare(const char* what, const std::string& unit, double measured, double described) {
  double ratio = measured / described;
  bool agree = ratio > 0.5 && ratio < 2;
  row(what, format("{:8.1f} {:<11} described {:8.1f}   {}", measured, unit, described,
                   agree       ? "agrees"
                   : ratio < 1 ? "DISAGREES: this machine is slower, or busy"
                               : "DISAGREES: this machine is faster"));
  return agree ? 0 : 1;
}

static Status calibrate() {
  RELAY_ASSIGN(const std::string file, measure::calibration_file());
  RELAY_ASSIGN(const TargetDesc native, driver::find_target("native"));
  const measure::Calibrated found = measure::calibrate(native);
  const measure::Calibration& c = found.figures;
  RELAY_RETURN_IF_ERROR(measure::save(c));
  row("processor", c.processor);
  row("multiply-add", format("{:8.2f} GHz", c.ghz));
  row("L2 read", format("{:8.1f} GB/s", c.l2_gbps));
  row("L3 read", format("{:8.1f} GB/s", c.l3_gbps));
  row("memory read", format("{:8.1f} GB/s", c.dram_gbps));
  row("division",
      format("{:8.1f} cycles between vectors of {} float32, {:.1f} of {} float64", c.float32_cycles.division,
             native.vector_bytes / 4, c.float64_cycles.division, native.vector_bytes / 8));
  row("square root", format("{:8.1f} cycles, {:.1f}", c.float32_cycles.root, c.float64_cycles.root));
  row("exp", format("{:8.1f} cycles, {:.1f}", c.float32_cycles.exp, c.float64_cycles.exp));
  row("busy", format("{:8.2f} cores, with other work; the medians are {:.0f} % below these at most", found.busy_cores,
                     found.spread * 100));
  if (found.busy_cores > 0.3 || found.spread > 0.1)
    print_message(
        "the machine was busy: calibrate again when it is quiet, because these figures are those of a slower machine");
  print_message(
      format("saved in {}: the target native uses these figures from now on; remove the file to use the described "
             "figures again",
             file));
  return ok();
}

static void list_cuda() {
  const Result<std::vector<runtime::CudaInfo>> found = runtime::cuda_devices();
  if (!found) return row("CUDA", "none: " + found.errors()[0].message);
  if (found->empty()) row("CUDA", "no device: the driver is installed, but finds no GPU");
  for (size_t i = 0; i < found->size(); ++i) {
    const runtime::CudaInfo& d = (*found)[i];
    const Status usable = runtime::check_usable(d);
    row("CUDA", format("cuda:{} = {}, {}, {} multiprocessors, {}{}", i, d.name, runtime::cuda_processor(d),
                       d.multiprocessors, bytes_text(d.memory_bytes), usable ? "" : ", cannot be used"));
  }
}

// The OpenCL devices, in the order of their numbers.
static void list_opencl() {
  const Result<std::vector<runtime::OpenClInfo>> found = runtime::opencl_devices();
  if (!found) return row("OpenCL", "none: " + found.errors()[0].message);
  if (found->empty()) row("OpenCL", "no device: the loader is installed, but no driver");
  for (size_t i = 0; i < found->size(); ++i) {
    const runtime::OpenClInfo& d = (*found)[i];
    row("OpenCL", format("opencl:{} = {}, a {} of {}, {}", i, d.name, d.kind, d.platform, d.version));
    row("", d.refused ? format("cannot be used: {}", *d.refused)
                      : format("{} compute units, {}, at most {} for one array{}{}", d.units,
                               bytes_text(d.memory_bytes), bytes_text(d.allocation_bytes),
                               d.has_double ? ", float64" : "", d.has_fma ? ", fused multiply-add" : ""));
  }
}

static Status doctor(const DoctorOptions& options) {
  if (options.calibrate) return calibrate();
  RELAY_ASSIGN(TargetDesc target, driver::find_target(options.target));
  row("relay", format("{}, {} operators, {} passes", version, op::all().size(), transform::all_passes().size()));
  row("built with", __VERSION__);
  row("processor", measure::processor_name());
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
  for (const auto& [type, bytes, c] :
       {std::tuple("float32", 4, target.float32_cycles), std::tuple("float64", 8, target.float64_cycles)})
    row("  operations", format("cycles between vectors of {} {}: quotients {:.1f}, square roots {:.1f}, exp {:.1f}",
                               target.vector_bytes / bytes, type, c.division, c.root, c.exp));
  row("  features", format("{}", join(target.features, " ")));
  const TilePermission& tiles = tile_permission();
  row("tiles", !tiles.on_processor ? "none: the processor has no AMX"
               : tiles.granted     ? "AMX, allowed by the system"
                                   : format("AMX, but the system refuses it: {}", tiles.reason));
  if (const auto [figures, ignored] = measure::saved_calibration(target); measure::is_calibrated(target))
    row("  calibrated",
        format("{}: speed, bandwidths and operations are measured ({})", figures->date, *measure::calibration_file()));
  else if (!ignored.empty() && driver::is_native(options.target))
    row("  calibrated", format("no: {} {}", *measure::calibration_file(), ignored));
  list_cuda();
  list_opencl();
  if (options.quick) {
    print_message("nothing was measured (--quick)");
    return ok();
  }
  std::cout << "\nmeasured on one core\n" << std::flush;
  measure::Ceilings measured = measure::measure_ceilings(target);
  int off = compare("multiply-add", "GFLOP/s", measured.fma_gflops,
                    target.fma_per_cycle * target.ghz * target.vector_bytes / 4 * 2);
  off += compare("L2 read", "GB/s", measured.l2_gbps, target.l2_gbps);
  off += compare("L3 read", "GB/s", measured.l3_gbps, target.l3_gbps);
  off += compare("memory read", "GB/s", measured.memory_gbps, target.dram_gbps);
  int figures = 4;
  if (const std::optional<measure::Speeds> o = measure::measure_operations(target)) {
    const measure::Speeds described = measure::described_operations(target);
    for (const auto& [type, found, expected] :
         {std::tuple("float32", o->float32, described.float32), std::tuple("float64", o->float64, described.float64)}) {
      off += compare("division", format("G/s {}", type), found.divisions, expected.divisions);
      off += compare("square root", format("G/s {}", type), found.roots, expected.roots);
      off += compare("exp", format("G/s {}", type), found.exps, expected.exps);
      figures += 3;
    }
  }
  const int threads = runtime::ThreadPool::global().size();
  if (threads > 1) {
    const double us = measure::measure_region_us();
    row("threads", std::isfinite(us) ? format("{:8.2f} us       an empty parallel region of {} threads", us, threads)
                                     : "not measured: the machine is busy");
  }
  print_message(
      off == 0 ? "the description matches this machine"
               : format("{} of {} figures disagree with the description: kernels are correct, but their schedules may "
                        "not be the best; `relay doctor --calibrate` on a quiet machine saves the measured figures",
                        off, figures));
  return ok();
}

void add_doctor(CLI::App& app, SelectedVerb& selected) {
  CLI::App* verb =
      add_verb(app, "doctor", "Describe this machine, and measure it against the compiler's description of it",
               "  relay doctor\n  relay doctor --target native,-avx512f --quick\n"
               "  relay doctor --calibrate    measure, and compile for the measured figures from now on");
  std::shared_ptr<DoctorOptions> options = std::make_shared<DoctorOptions>();
  verb->add_option("--target", options->target, "The description to compare with")->capture_default_str();
  verb->add_flag("--quick", options->quick, "Only describe, without measuring");
  verb->add_flag("--calibrate", options->calibrate, "Measure this machine and save the figures for the target native")
      ->excludes("--target", "--quick");
  verb->callback([options, &selected] { selected.run = [options] { return doctor(*options); }; });
}

}  // namespace relay::cli
