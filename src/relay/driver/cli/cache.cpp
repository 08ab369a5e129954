// relay cache: lists the cache of compiled models, and removes models from it.
#include "relay/cache/cache.h"

#include <chrono>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "relay/base/bytes.h"
#include "relay/base/printable.h"
#include "relay/driver/cli/cli.h"

namespace relay::cli {

using Json = nlohmann::ordered_json;

namespace {
struct CacheOptions {
  bool json = false;
  std::string max_size;
  double unused_days = -1;
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
  CLI::App* verb =
      add_verb(app, "cache", "List the compiled models that are kept on disk, or remove some",
               "  relay cache ls\n"
               "  relay cache prune --max-size 1G\n"
               "  relay cache prune --max-size 0        all of them\n"
               "`relay run`, and relay.compile(path, cache=True) in Python, look here first. A model is found by the\n"
               "contents of its files, the options and the version of the compiler. Models share their kernels there,\n"
               "which count for its size. RELAY_CACHE names the folder\n"
               "(without: relay/ in XDG_CACHE_HOME or ~/.cache) or is 'off'; RELAY_CACHE_SIZE is the largest size\n"
               "(8G): the least recently used models are removed first.");
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
}

}  // namespace relay::cli
