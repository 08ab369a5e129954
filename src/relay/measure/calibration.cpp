#include "relay/measure/calibration.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "relay/cache/cache.h"
#include "relay/input/files.h"
#include "relay/measure/ceilings.h"
#include "relay/measure/measure.h"
#include "relay/measure/operations.h"

namespace relay::measure {

using Json = nlohmann::ordered_json;

// The measured figures, the figure of the description that each replaces, and its plausible range: that of any existing
// core, including emulated and busy ones.
struct Figure {
  const char* name;
  double least, most;
  double& (*measured)(Calibration&);
  double& (*described)(TargetDesc&);
};
// `of` is the same of both.
template <class Of>
static constexpr Figure figure(const char* name, double least, double most, Of of) {
  return {name, least, most, of, of};
}
static constexpr Figure figures[] = {
    figure("ghz", 0.02, 10, [](auto& of) -> double& { return of.ghz; }),
    figure("l2_gbps", 0.1, 5000, [](auto& of) -> double& { return of.l2_gbps; }),
    figure("l3_gbps", 0.1, 2000, [](auto& of) -> double& { return of.l3_gbps; }),
    figure("dram_gbps", 0.05, 1000, [](auto& of) -> double& { return of.dram_gbps; }),
    figure("float32_division_cycles", 0.2, 1000, [](auto& of) -> double& { return of.float32_cycles.division; }),
    figure("float32_root_cycles", 0.2, 1000, [](auto& of) -> double& { return of.float32_cycles.root; }),
    figure("float32_exp_cycles", 0.2, 2000, [](auto& of) -> double& { return of.float32_cycles.exp; }),
    figure("float64_division_cycles", 0.2, 1000, [](auto& of) -> double& { return of.float64_cycles.division; }),
    figure("float64_root_cycles", 0.2, 1000, [](auto& of) -> double& { return of.float64_cycles.root; }),
    figure("float64_exp_cycles", 0.2, 2000, [](auto& of) -> double& { return of.float64_cycles.exp; }),
};

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (starts_with(line, "model name")) return std::string(trim(std::string_view(line).substr(line.find(':') + 1)));
  return "unknown";
}

// Seconds of processor time: used by all since the system started (including time stolen from a virtual machine), and
// used by this process.
static double seconds_of_all() {
  std::ifstream file("/proc/stat");
  std::string word;
  double user = 0, nice = 0, system = 0, idle = 0, wait = 0, interrupts = 0, soft = 0, stolen = 0;
  file >> word >> user >> nice >> system >> idle >> wait >> interrupts >> soft >> stolen;
  return (user + nice + system + interrupts + soft + stolen) / static_cast<double>(sysconf(_SC_CLK_TCK));
}
static double seconds_of_this() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  auto seconds = [](const timeval& t) { return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6; };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

Calibrated calibrate(const TargetDesc& native) {
  constexpr int rounds = 5;
  const double begin = now(), all = seconds_of_all(), own = seconds_of_this();
  constexpr size_t speeds = std::size(figures);
  std::vector<double> samples[speeds];
  for (int round = 0; round < rounds; ++round) {
    const Ceilings c = measure_ceilings(native);
    const auto [narrow, wide] = *measure_operations(native);
    const double values[speeds] = {c.fma_gflops, c.l2_gbps,   c.l3_gbps,      c.memory_gbps, narrow.divisions,
                                   narrow.roots, narrow.exps, wide.divisions, wide.roots,    wide.exps};
    for (size_t k = 0; k < speeds; ++k) samples[k].push_back(values[k]);
  }
  Calibrated out;
  out.busy_cores = std::max(0.0, (seconds_of_all() - all - (seconds_of_this() - own)) / (now() - begin));
  double best[speeds];
  for (size_t k = 0; k < speeds; ++k) {
    std::sort(samples[k].begin(), samples[k].end());
    best[k] = samples[k].back();
    out.spread = std::max(out.spread, 1 - samples[k][rounds / 2] / best[k]);
  }
  char date[16] = "";
  const std::time_t today = std::time(nullptr);
  if (tm parts{}; gmtime_r(&today, &parts)) std::strftime(date, sizeof date, "%F", &parts);
  const double operations = 2 * native.fma_per_cycle * native.vector_bytes / 4;  // per cycle
  const double ghz = best[0] / operations, bytes_a_ns = ghz * native.vector_bytes;
  auto cycles = [&](size_t first, int bytes) {
    const double lanes_a_ns = bytes_a_ns / bytes;
    return OperationCycles{lanes_a_ns / best[first], lanes_a_ns / best[first + 1], lanes_a_ns / best[first + 2]};
  };
  out.figures = {processor_name(), native.cpu, date, ghz, best[1], best[2], best[3], cycles(4, 4), cycles(7, 8)};
  return out;
}

Result<std::string> calibration_file() {
  if (const std::optional<std::string> folder = cache::default_cache_folder()) return *folder + "/machine.json";
  return Diagnostic{DiagnosticKind::bad_option,   "a calibration has no folder: RELAY_CACHE is off", {}, {}, {},
                    "set RELAY_CACHE to a folder"};
}

Status save(Calibration c) {
  RELAY_ASSIGN(const std::string path, calibration_file());
  Json kept = {{"processor", c.processor}, {"cpu", c.cpu}, {"date", c.date}};
  for (const Figure& f : figures) kept[f.name] = f.measured(c);
  std::error_code ignored;  // writing reports errors of the folder
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
  return write_file(path, kept.dump(2) + "\n");
}

// Returns the error in a file's text, or "" with its values in `c`.
static std::string read_calibration(const std::string& text, Calibration& c) {
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return "is not a JSON object";
  for (auto [name, to] : {std::pair("processor", &c.processor), {"cpu", &c.cpu}, {"date", &c.date}}) {
    if (!json.contains(name) || !json[name].is_string()) return format("has no {}", name);
    *to = json[name];
  }
  for (const Figure& f : figures) {
    if (!json.contains(f.name) || !json[f.name].is_number()) return format("has no {}", f.name);
    const double value = f.measured(c) = json[f.name];
    if (!(value >= f.least && value <= f.most))
      return format("has {} = {}, which is not from {} to {}", f.name, value, f.least, f.most);
  }
  return "";
}

SavedCalibration saved_calibration(const TargetDesc& native) {
  const Result<std::string> path = calibration_file();
  std::error_code ignored;  // an unreadable folder
  if (!path || !std::filesystem::is_regular_file(*path, ignored)) return {};
  const Result<std::string> text = input::read_file(*path);
  if (!text) return {{}, "cannot be read"};
  Calibration c;
  if (std::string wrong = read_calibration(*text, c); !wrong.empty()) return {{}, wrong};
  if (const std::string here = processor_name(); c.processor != here)
    return {{}, format("is of the processor '{}', and this is '{}'", c.processor, here)};
  if (c.cpu != native.cpu) return {{}, format("is of '{}', and this is '{}'", c.cpu, native.cpu)};
  return {c, ""};
}

void apply(Calibration c, TargetDesc& t) {
  for (const Figure& f : figures) f.described(t) = f.measured(c);
}

bool is_calibrated(TargetDesc t) {
  std::optional<Calibration> c = saved_calibration(t).figures;
  return c && std::ranges::all_of(figures, [&](const Figure& f) { return f.measured(*c) == f.described(t); });
}

}  // namespace relay::measure
