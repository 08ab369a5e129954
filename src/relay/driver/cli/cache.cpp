// relay cache: lists the cache of compiled models, removes models from it, and makes packages of kernels.
#include "relay/cache/cache.h"

#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "relay/base/bytes.h"
#include "relay/base/printable.h"
#include "relay/cache/build_id.h"
#include "relay/driver/cli/cli.h"
#include "relay/driver/compile.h"
#include "relay/driver/load.h"
#include "relay/driver/targets.h"
#include "relay/input/files.h"

namespace relay::cli {

using Json = nlohmann::ordered_json;

namespace {
struct CacheOptions {
  bool json = false;
  std::string max_size;
  double unused_days = -1;
};
struct PackOptions {
  std::vector<std::string> models, targets{"native"}, programs;
  std::string output;
};
}  // namespace

static Result<std::unique_ptr<cache::Cache>> open_cache() {
  RELAY_ASSIGN(std::unique_ptr<cache::Cache> cache, cache::open_default_cache());
  if (!cache)
    return Diagnostic{DiagnosticKind::bad_option, "the cache is off", {}, {}, {}, "RELAY_CACHE names its folder"};
  return cache;
}

// "3 minutes ago"
static std::string ago(double time) {
  double now = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  int64_t seconds = std::max<int64_t>(0, static_cast<int64_t>(now - time));
  if (seconds < 3600) return plural(seconds / 60, "minute", "minutes") + " ago";
  if (seconds < 2 * 86400) return plural(seconds / 3600, "hour", "hours") + " ago";
  return plural(seconds / 86400, "day", "days") + " ago";
}

// The package of common kernels, and how many of its kernels were of use.
static Status list_package(cache::Cache& cache) {
  const std::optional<std::string> path = cache::default_kernel_package();
  if (!path) return ok();
  RELAY_ASSIGN(const std::unique_ptr<cache::Cache> package, cache::Cache::open_package(*path));
  RELAY_ASSIGN(const cache::Cache::Kernels kernels, package->kernels());
  RELAY_ASSIGN(const int64_t taken, cache.taken(*path));
  print_message(format("{} in the package {}, {}; {} taken from it instead of being compiled",
                       plural(kernels.count, "kernel", "kernels"), printable_line(*path), bytes_text(kernels.bytes),
                       plural(taken, "kernel", "kernels")));
  return ok();
}

static Status list(const CacheOptions& options) {
  RELAY_ASSIGN(std::unique_ptr<cache::Cache> cache, open_cache());
  RELAY_ASSIGN(std::vector<cache::CachedModel> models, cache->list());
  RELAY_ASSIGN(std::vector<cache::Cache::Stray> strays, cache->strays());
  int64_t bytes = 0;
  Json json = Json::array();
  for (const cache::CachedModel& m : models) {
    bytes += m.bytes;
    if (options.json)
      json.push_back({{"key", m.key},
                      {"artifact", m.artifact},
                      {"model", m.model},
                      {"how", m.options},
                      {"bytes", m.bytes},
                      {"compile_ms", m.compile_ms},
                      {"made", m.made},
                      {"used", m.used}});
    else
      std::cout << format("{}  {:>11}  compiled in {:>8}, used {:<15}  {} ({})\n", m.key.substr(0, 8),
                          bytes_text(m.bytes), milliseconds(m.compile_ms), ago(m.used), printable_line(m.model),
                          printable_line(m.options));
  }
  for (const cache::Cache::Stray& stray : strays) {
    bytes += stray.bytes;
    if (!options.json)
      std::cout << format(
          "{:<8}  {:>11}  {}: {}\n", "-", bytes_text(stray.bytes),
          stray.in_use ? "being written" : "left by a process that has ended; `relay cache prune` removes it",
          printable_line(stray.path));
  }
  RELAY_ASSIGN(const cache::Cache::Kernels kernels, cache->kernels());
  bytes += kernels.bytes;
  if (options.json) std::cout << json.dump(2, ' ', false, Json::error_handler_t::replace) << "\n";
  RELAY_ASSIGN(int64_t most, cache::default_cache_bytes());
  const std::string also = kernels.count > 0 ? format(" and {}", plural(kernels.count, "kernel", "kernels")) : "";
  print_message(format("{}{} in {}, {} of at most {}", plural(static_cast<int64_t>(models.size()), "model", "models"),
                       also, *cache::default_cache_folder(), bytes_text(bytes), bytes_text(most)));
  return list_package(*cache);
}

// Compiles a model for a target; its kernels go to the package.
static Status pack_model(const std::string& path, const std::string& target, const driver::OpenCache& package) {
  driver::Options options;
  RELAY_ASSIGN(options.lower.target, driver::find_target(target));
  options.run.make_executable = false, options.run.kernels = package;
  RELAY_ASSIGN(const driver::Model model, driver::load_model(path, options));
  if (model.form == driver::ModelForm::Artifact)
    return Diagnostic{DiagnosticKind::bad_option, format("{} is compiled already", path), {}, {}, {},
                      "give the original model"};
  options.run.output_names = model.output_names;
  RELAY_ASSIGN(const driver::Compiled compiled, driver::compile(model.module, options));
  return driver::save(compiled, driver::FileForm::Object, "/dev/null");
}

static Status pack_all(const PackOptions& options, const driver::OpenCache& package) {
  RELAY_ASSIGN(const std::unique_ptr<cache::Cache> file, package());
  int64_t before = 0;
  for (const std::string& model : options.models)
    for (const std::string& target : options.targets) {
      RELAY_RETURN_IF_ERROR(pack_model(model, target, package));
      RELAY_ASSIGN(const cache::Cache::Kernels now, file->kernels());
      print_message(
          format("{} for {}: {} new", printable_line(model), target, plural(now.count - before, "kernel", "kernels")));
      before = now.count;
    }
  return ok();
}

static Status pack(const PackOptions& options) {
  RELAY_RETURN_IF_ERROR(input::check_output(options.output, options.models));
  std::vector<std::string> builds{cache::this_build()};
  if (builds[0].empty()) {
    RELAY_ASSIGN(builds[0], cache::build_of(cache::this_file()));
  }
  for (const std::string& program : options.programs) {
    RELAY_ASSIGN(std::string build, cache::build_of(program));
    builds.push_back(std::move(build));
  }
  const std::string draft = format("{}.{}.0.part", options.output, getpid());
  const Status packed = pack_all(options, [draft, builds] { return cache::Cache::write_package(draft, builds); });
  std::error_code error;
  if (!packed) {
    std::filesystem::remove(draft, error);
    return packed;
  }
  std::filesystem::rename(draft, options.output, error);
  if (error)
    return Diagnostic{DiagnosticKind::file_not_found,
                      format("{}: {}", options.output, error.message()),
                      {},
                      {},
                      {},
                      "name a file in a folder that can be written"};
  RELAY_ASSIGN(const std::unique_ptr<cache::Cache> made, cache::Cache::open_package(options.output));
  RELAY_ASSIGN(const cache::Cache::Kernels kernels, made->kernels());
  print_message(format("{}: {} for {}, {}; RELAY_KERNELS={} uses them", options.output,
                       plural(kernels.count, "kernel", "kernels"),
                       plural(static_cast<int64_t>(builds.size()), "build of Relay", "builds of Relay"),
                       bytes_text(kernels.bytes), options.output));
  return ok();
}

static Status prune(const CacheOptions& options) {
  RELAY_ASSIGN(std::unique_ptr<cache::Cache> cache, open_cache());
  RELAY_ASSIGN(int64_t most,
               options.max_size.empty() ? cache::default_cache_bytes() : cache::parse_bytes(options.max_size));
  double unused = options.unused_days < 0 ? 1e18 : options.unused_days * 86400;
  RELAY_ASSIGN(cache::Cache::Pruned removed, cache->prune(most, unused));
  const std::string also = removed.kernels > 0 ? format(" and {}", plural(removed.kernels, "kernel", "kernels")) : "";
  print_message(format("removed {}{}, {}", plural(removed.models, "file", "files"), also, bytes_text(removed.bytes)));
  return ok();
}

void add_cache(CLI::App& app, SelectedVerb& selected) {
  CLI::App* verb = add_verb(
      app, "cache", "List the compiled models that are kept on disk, remove some, or pack kernels",
      "  relay cache ls\n"
      "  relay cache prune --max-size 1G\n"
      "  relay cache prune --max-size 0        all of them\n"
      "  relay cache pack a.onnx b.onnx -o kernels.db --target zen3 --target zen4\n"
      "`relay run`, and relay.compile(path, cache=True) in Python, look here first. A model is found by the\n"
      "contents of its files, the options and the version of the compiler. Models share their kernels there,\n"
      "which count for its size. RELAY_CACHE names the folder\n"
      "(without: relay/ in XDG_CACHE_HOME or ~/.cache) or is 'off'; RELAY_CACHE_SIZE is the largest size\n"
      "(8G): the least recently used models are removed first. RELAY_KERNELS names a package of kernels, which\n"
      "are taken from it instead of being compiled (without: kernels.db beside the program), or is 'off'.");
  std::shared_ptr<CacheOptions> options = std::make_shared<CacheOptions>();
  verb->require_subcommand(1);
  CLI::App* ls = verb->add_subcommand("ls", "List the models, the most recently used first");
  ls->add_flag("--json", options->json, "Print the list as JSON");
  ls->callback([options, &selected] { selected.run = [options] { return list(*options); }; });
  CLI::App* remove = verb->add_subcommand("prune", "Remove the least recently used models");
  remove->add_option("--max-size", options->max_size, "Remove models until the rest has at most this size: 500M, 2G, 0")
      ->type_name("SIZE");
  remove->add_option("--unused", options->unused_days, "Also remove models unused for DAYS days")->type_name("DAYS");
  remove->callback([options, &selected] { selected.run = [options] { return prune(*options); }; });
  std::shared_ptr<PackOptions> packing = std::make_shared<PackOptions>();
  CLI::App* make = verb->add_subcommand("pack", "Compile the kernels of models into a package that other runs read");
  make->add_option("MODEL", packing->models, "ONNX files or Relay programs")->required()->type_name("TEXT");
  make->add_option("-o,--output", packing->output, "File to write")->required()->type_name("FILE");
  make->add_option("--target", packing->targets, "Processor (repeat for more); native is this machine")
      ->type_name("TEXT")
      ->capture_default_str();
  make->add_option("--also-for", packing->programs,
                   "Another program or library with the same build of the compiler, such as the Python package's "
                   "_core.abi3.so, which may use the package too (repeat for more)")
      ->type_name("FILE");
  make->callback([packing, &selected] { selected.run = [packing] { return pack(*packing); }; });
}

}  // namespace relay::cli
