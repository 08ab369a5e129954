// Cache: compiled models on disk, so that a machine compiles a model once.
//
//   std::unique_ptr<Cache> cache = ...Cache::open(*default_cache_folder())
//   if (std::optional<CachedModel> found = cache->find("net.onnx", request)) load_executable(found->artifact);
//   else compile ..., cache->store(...)
//
// A folder with artifacts and index.db, which describes them (SQLite: any number of processes may use it at once). The
// name of an artifact is a hash of the contents of the model's files, of the options of compile(), and of this build of
// the compiler. The hash of a file's contents is kept with the file's identity (device, inode, size, time of change)
// and recomputed only if that changes. A damaged index is replaced by an empty one; the artifacts check themselves.
//
// The index also has object files of single kernels, by a hash of what they compute, so that models share them. They
// count for the size of the cache, and have checksums.
//
// A package is a file with such kernels for certain builds of the compiler, made by `relay cache pack`. Any number of
// users read it; nothing is added to it or removed.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "relay/base/diagnostics.h"

struct sqlite3;

namespace relay::cache {

// RELAY_CACHE names a folder, or is "off"; the default is relay/ in XDG_CACHE_HOME or ~/.cache. Unset if caching is
// off.
std::optional<std::string> default_cache_folder();
// RELAY_CACHE_SIZE, such as "2G"; the default is 8 GiB.
Result<int64_t> default_cache_bytes();
// The bytes of "500M", "2G", "0".
Result<int64_t> parse_bytes(std::string_view text);

struct CachedModel {
  std::string key, artifact;       // artifact: the path of the file
  std::string model;               // the path of its source
  std::string options;             // text for the user: "zen4, fp32, O2, 2 threads"
  std::vector<std::string> notes;  // notes of its compilation
  int64_t bytes = 0;
  double compile_ms = 0;
  double made = 0, used = 0;  // seconds since 1970
};

// The object file of a kernel; `key`: a hash of its text, of the target and of the effort.
struct CachedKernel {
  std::string key, object;
};

// A model to be stored.
struct NewModel {
  std::string model;               // the path of its source
  std::vector<std::string> files;  // the files that were read: the path, and those with weights
  double read_since = 0;           // the earliest time of reading, seconds since 1970
  std::string options;
  std::vector<std::string> notes;
  double compile_ms = 0;
  int64_t weight_bytes = 0;  // of the artifact
  std::function<Status(const std::string& path)> write_artifact;
};

class Cache {
 public:
  static Result<std::unique_ptr<Cache>> open(const std::string& folder, int64_t max_bytes);
  ~Cache();
  Cache(const Cache&) = delete;
  // A package, for reading. Fails if it cannot be used: it is damaged, or was not made for this build.
  static Result<std::unique_ptr<Cache>> open_package(const std::string& path);
  // A package to which kernels are added, for the builds with these ids (build_id.h); made if absent. Only
  // find_kernel(), keep_kernels() and kernels() work on packages.
  static Result<std::unique_ptr<Cache>> write_package(const std::string& path, std::span<const std::string> builds);
  // Opens the same cache again, on any thread, also after this object is destroyed.
  std::function<Result<std::unique_ptr<Cache>>()> opener() const {
    return [folder = folder_, bytes = max_bytes_] { return open(folder, bytes); };
  }
  const std::string& folder() const { return folder_; }  // of a package: its path
  bool is_package() const { return is_package_; }

  Result<std::optional<CachedModel>> find(const std::string& model, const std::string& request);
  // Writes the artifact and returns its entry. Fails if it cannot be kept: because files changed since they were read,
  // or the weights are larger than the cache. Then removes the least recently used models until all take at most
  // max_bytes. `request`: the same text for the same options of reading and compiling.
  Result<CachedModel> store(const NewModel& model, const std::string& request);
  Result<std::vector<CachedModel>> list();  // the most recently used first
  // Files of the cache that are not in its index: those being written now, and those left by killed processes.
  struct Stray {
    std::string path;
    int64_t bytes = 0;
    bool in_use = false;
  };
  Result<std::vector<Stray>> strays();
  struct Pruned {
    int64_t models = 0, kernels = 0, bytes = 0;
  };
  // Removes models and kernels that were unused for `unused_for` seconds, then the least recently used ones until the
  // rest takes at most `max_bytes`, and strays that are not in use.
  Result<Pruned> prune(int64_t max_bytes, double unused_for);
  Status remove(const CachedModel& model);  // for a model that cannot be loaded

  // The object file of this build's kernel; unset if there is none. A damaged one is removed.
  Result<std::optional<std::string>> find_kernel(const std::string& key);
  // Adds kernels, and notes that the kernels `used` were of use. Removes the least recently used models and kernels
  // until all take at most max_bytes.
  Status keep_kernels(std::span<const CachedKernel> kernels, std::span<const std::string> used);
  struct Kernels {
    int64_t count = 0, bytes = 0;
  };
  Result<Kernels> kernels();

  // Counts the kernels that were taken from a package instead of being compiled.
  Status count_taken(const std::string& package, int64_t kernels);
  Result<int64_t> taken(const std::string& package);

 private:
  Cache(std::string folder, int64_t max_bytes, sqlite3* index, bool is_package = false);
  std::string key_of_kernel(const std::string& key) const;
  Result<std::string> key_of(const std::vector<std::string>& files, const std::string& request);
  std::string folder_;
  int64_t max_bytes_;
  sqlite3* index_;
  bool is_package_;
};

// The cache that the environment names; null if caching is off.
Result<std::unique_ptr<Cache>> open_default_cache();

// RELAY_KERNELS names a package, or is "off". The default is kernels.db beside the program or library that has the
// compiler; unset if there is none.
std::optional<std::string> default_kernel_package();

// Seconds since 1970.
double clock_now();

}  // namespace relay::cache
