// A model ready to run: compiled, or from the cache.
//
//   RELAY_ASSIGN(std::unique_ptr<cache::Cache> cache, cache::open_default_cache());
//   RELAY_ASSIGN(ReadyModel ready, prepare_model("net.onnx", options, cache.get(), warnings));
#pragma once

#include "relay/cache/cache.h"
#include "relay/driver/compile.h"
#include "relay/driver/load.h"

namespace relay::driver {

// Everything besides the model's files that determines an artifact: equal texts for equal options, different texts for
// different options.
std::string cache_request(const Options& options);

// A model ready to run: from the cache, or read, compiled and stored there.
struct ReadyModel {
  Model model;  // its executable is set if it was an artifact or came from the cache
  std::shared_ptr<runtime::Executable> executable;
  std::optional<Compiled> compiled;  // unset: an artifact, or `cached`
  std::optional<cache::CachedModel> cached;
  std::vector<std::string> notes;  // about the cache
};
// The parts of a model that are kept after it was compiled into the cache.
enum class Keep : uint8_t {
  Stages,  // all, for tools that show them
  Code,    // those that runs need: of the modules only the interfaces, and no lowered functions
};
// `cache` may be null. `warnings` of reading the model are filled in even if reading or compiling fails.
Result<ReadyModel> prepare_model(const std::string& path, Options options, cache::Cache* cache, Diagnostics& warnings,
                                 Keep keep = Keep::Stages);

// The same in two steps for a model whose program a caller builds from files, so that it is built only if the cache
// lacks it. `reader` names the caller and its version.
struct BuiltModel {
  std::string path;                // names the model; a file or a folder
  std::vector<std::string> files;  // the files that determine the program
  std::string reader;
};
Result<std::optional<ReadyModel>> find_ready(const BuiltModel& model, const Options& options, cache::Cache& cache);
// `since`: the time before the files were read (cache::clock_now()).
Result<ReadyModel> compile_and_keep(const BuiltModel& model, ir::Module module, Options options, double since,
                                    cache::Cache* cache);

}  // namespace relay::driver
