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

namespace relay::measure {

using Json = nlohmann::ordered_json;

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (starts_with(line, "model name")) return std::string(trim(std::string_view(line).substr(line.find(':') + 1)));
  return "unknown";
}

// Seconds of processor time: that all have used since the system started (what a virtual machine was denied included),
// and that this process has used.
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
  std::vector<double> figures[4];
  for (int round = 0; round < rounds; ++round) {
    const Ceilings c = measure_ceilings(native);
    const double values[] = {c.fma_gflops, c.l2_gbps, c.l3_gbps, c.memory_gbps};
    for (size_t k = 0; k < 4; ++k) figures[k].push_back(values[k]);
  }
  Calibrated out;
  out.busy_cores = std::max(0.0, (seconds_of_all() - all - (seconds_of_this() - own)) / (now() - begin));
  double best[4];
  for (size_t k = 0; k < 4; ++k) {
    std::sort(figures[k].begin(), figures[k].end());
    best[k] = figures[k].back();
    out.spread = std::max(out.spread, 1 - figures[k][rounds / 2] / best[k]);
  }
  char date[16] = "";
  const std::time_t today = std::time(nullptr);
  if (tm parts{}; gmtime_r(&today, &parts)) std::strftime(date, sizeof date, "%F", &parts);
  const double operations = 2 * native.fma_per_cycle * native.vector_bytes / 4;  // a cycle
  out.figures = {processor_name(), native.cpu, date, best[0] / operations, best[1], best[2], best[3]};
  return out;
}

std::optional<std::string> calibration_file() {
  const std::optional<std::string> folder = cache::default_cache_folder();
  return folder ? std::optional(*folder + "/machine.json") : std::nullopt;
}

Status save(const Calibration& c) {
  const std::optional<std::string> path = calibration_file();
  if (!path)
    return Diagnostic{
        DiagnosticKind::bad_option,   "there is no folder to keep a calibration in: RELAY_CACHE is off", {}, {}, {},
        "set RELAY_CACHE to a folder"};
  const Json figures = {{"processor", c.processor}, {"cpu", c.cpu},         {"date", c.date},          {"ghz", c.ghz},
                        {"l2_gbps", c.l2_gbps},     {"l3_gbps", c.l3_gbps}, {"dram_gbps", c.dram_gbps}};
  std::error_code ignored;  // what is wrong with the folder, writing says
  std::filesystem::create_directories(std::filesystem::path(*path).parent_path(), ignored);
  return write_file(*path, figures.dump(2) + "\n");
}

std::optional<Calibration> saved_calibration() {
  const std::optional<std::string> path = calibration_file();
  std::error_code ignored;  // a folder that may not be looked into
  if (!path || !std::filesystem::is_regular_file(*path, ignored)) return {};
  const Result<std::string> text = input::read_file(*path);
  if (!text) return {};
  const Json json = Json::parse(*text, nullptr, false);
  if (!json.is_object()) return {};
  Calibration c;
  for (auto [name, to] : {std::pair("processor", &c.processor), {"cpu", &c.cpu}, {"date", &c.date}}) {
    if (!json.contains(name) || !json[name].is_string()) return {};
    *to = json[name];
  }
  for (auto [name, to] :
       {std::pair("ghz", &c.ghz), {"l2_gbps", &c.l2_gbps}, {"l3_gbps", &c.l3_gbps}, {"dram_gbps", &c.dram_gbps}}) {
    if (!json.contains(name) || !json[name].is_number()) return {};
    *to = json[name];
    if (!(*to > 0.01 && *to < 1e6)) return {};
  }
  if (c.processor != processor_name()) return {};
  return c;
}

void apply(const Calibration& c, TargetDesc& t) {
  if (c.cpu != t.cpu) return;
  t.ghz = c.ghz, t.l2_gbps = c.l2_gbps, t.l3_gbps = c.l3_gbps, t.dram_gbps = c.dram_gbps;
}

bool is_calibrated(const TargetDesc& t) {
  const std::optional<Calibration> c = saved_calibration();
  return c && c->cpu == t.cpu && c->ghz == t.ghz && c->l2_gbps == t.l2_gbps && c->l3_gbps == t.l3_gbps &&
         c->dram_gbps == t.dram_gbps;
}

}  // namespace relay::measure
