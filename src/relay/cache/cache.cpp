#include "relay/cache/cache.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "relay/base/bytes.h"
#include "relay/base/output_file.h"
#include "relay/cache/build_id.h"

namespace relay::cache {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

// --- location and size -----------------------------------------------------------------------------------------------

std::optional<std::string> default_cache_folder() {
  auto given = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value ? value : "");
  };
  if (std::string folder = given("RELAY_CACHE"); !folder.empty())
    return folder == "off" ? std::nullopt : std::optional(folder);
  if (std::string base = given("XDG_CACHE_HOME"); !base.empty()) return base + "/relay";
  if (std::string home = given("HOME"); !home.empty()) return home + "/.cache/relay";
  return {};
}

Result<int64_t> parse_bytes(std::string_view text) {
  int64_t number = 0;
  const char* end = text.data() + text.size();
  std::from_chars_result read = std::from_chars(text.data(), end, number);
  std::string_view unit(read.ptr, static_cast<size_t>(end - read.ptr));
  int shift = unit.empty() || unit == "B" ? 0 : unit == "K" ? 10 : unit == "M" ? 20 : unit == "G" ? 30 : -1;
  if (read.ec != std::errc() || shift < 0 || number < 0 || number > (INT64_MAX >> shift))
    return Diagnostic{DiagnosticKind::bad_option, format("'{}' is not a number of bytes", text), {}, {}, {},
                      "write 500M or 2G"};
  return number << shift;
}

Result<int64_t> default_cache_bytes() {
  const char* given = std::getenv("RELAY_CACHE_SIZE");
  return given && *given ? parse_bytes(given) : int64_t{8} << 30;
}

Result<std::unique_ptr<Cache>> open_default_cache() {
  std::optional<std::string> folder = default_cache_folder();
  if (!folder) return std::unique_ptr<Cache>();
  RELAY_ASSIGN(int64_t most, default_cache_bytes());
  return Cache::open(*folder, most);
}

// --- SQLite ----------------------------------------------------------------------------------------------------------

namespace {

// A prepared statement. Texts and numbers are bound in order; columns may be read while step() returns true.
class Statement {
 public:
  Statement(sqlite3* index, const char* sql) : index_(index) {
    code_ = sqlite3_prepare_v2(index, sql, -1, &statement_, nullptr);
  }
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& bind(const std::string& text) {
    sqlite3_bind_text(statement_, ++bound_, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT);
    return *this;
  }
  Statement& bind_bytes(const std::string& bytes) {
    sqlite3_bind_blob64(statement_, ++bound_, bytes.data(), bytes.size(), SQLITE_STATIC);
    return *this;
  }
  Statement& bind(int64_t number) {
    sqlite3_bind_int64(statement_, ++bound_, number);
    return *this;
  }
  Statement& bind(double number) {
    sqlite3_bind_double(statement_, ++bound_, number);
    return *this;
  }
  bool step() {
    if (code_ == SQLITE_OK || code_ == SQLITE_ROW) code_ = sqlite3_step(statement_);
    return code_ == SQLITE_ROW;
  }
  Status run() {  // to the end
    while (step()) {
    }
    return status();
  }
  Status status() const {
    if (code_ == SQLITE_OK || code_ == SQLITE_ROW || code_ == SQLITE_DONE) return ok();
    return Diagnostic{DiagnosticKind::corrupt_file,
                      format("the cache's index: {}", sqlite3_errmsg(index_)),
                      {},
                      {},
                      {},
                      "empty the cache with `relay cache clear`, or set RELAY_CACHE=off"};
  }
  std::string text(int column) const {
    const unsigned char* t = sqlite3_column_text(statement_, column);
    return t ? reinterpret_cast<const char*>(t) : "";
  }
  std::string bytes(int column) const {
    const void* data = sqlite3_column_blob(statement_, column);
    return data ? std::string(static_cast<const char*>(data),
                              static_cast<size_t>(sqlite3_column_bytes(statement_, column)))
                : std::string();
  }
  int64_t number(int column) const { return sqlite3_column_int64(statement_, column); }
  double real(int column) const { return sqlite3_column_double(statement_, column); }

 private:
  sqlite3* index_;
  sqlite3_stmt* statement_ = nullptr;
  int bound_ = 0, code_ = SQLITE_OK;
};

// Rolled back unless committed.
class Transaction {
 public:
  explicit Transaction(sqlite3* index) : index_(index) { status_ = Statement(index, "BEGIN IMMEDIATE").run(); }
  ~Transaction() {
    if (status_ && !done_) sqlite3_exec(index_, "ROLLBACK", nullptr, nullptr, nullptr);
  }
  Transaction(const Transaction&) = delete;
  const Status& begun() const { return status_; }
  Status commit() {
    done_ = true;
    return Statement(index_, "COMMIT").run();
  }

 private:
  sqlite3* index_;
  Status status_ = ok();
  bool done_ = false;
};

}  // namespace

static constexpr int index_version = 3;
static const char* const schema =
    "CREATE TABLE IF NOT EXISTS contents(path TEXT PRIMARY KEY, identity TEXT, hash TEXT);"
    "CREATE TABLE IF NOT EXISTS files(model TEXT, place INTEGER, path TEXT, PRIMARY KEY(model, place));"
    "CREATE TABLE IF NOT EXISTS models(key TEXT PRIMARY KEY, model TEXT, how TEXT, notes TEXT, bytes INTEGER,"
    " compile_ms REAL, made REAL, used REAL);"
    "CREATE TABLE IF NOT EXISTS kernels(key TEXT PRIMARY KEY, hash TEXT, bytes INTEGER, used REAL, object BLOB);"
    "CREATE TABLE IF NOT EXISTS packages(path TEXT PRIMARY KEY, taken INTEGER);";

// The index of this version, or null; `useless`: the existing file is not an index, or is that of another version.
static sqlite3* open_index(const std::string& path, bool& useless) {
  struct stat about{};
  useless = stat(path.c_str(), &about) == 0 && !S_ISREG(about.st_mode);
  if (useless) return nullptr;  // a pipe would wait for its writer
  sqlite3* index = nullptr;
  bool good = sqlite3_open_v2(path.c_str(), &index, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_FULLMUTEX,
                              nullptr) == SQLITE_OK;
  sqlite3_busy_timeout(index, 5000);
  // Models lost in a crash of the machine are recompiled.
  good = good && sqlite3_exec(index, "PRAGMA synchronous = OFF", nullptr, nullptr, nullptr) == SQLITE_OK;
  int64_t version = -1;
  if (good) {
    Statement ask(index, "PRAGMA user_version");
    if (ask.step()) version = ask.number(0);
  }
  int code = sqlite3_errcode(index);  // a locked index has none of these codes
  useless = code == SQLITE_CORRUPT || code == SQLITE_NOTADB || (version > 0 && version != index_version);
  if (version == index_version) return index;
  if (version == 0 && sqlite3_exec(index, "PRAGMA auto_vacuum = INCREMENTAL", nullptr, nullptr, nullptr) == SQLITE_OK &&
      sqlite3_exec(index, schema, nullptr, nullptr, nullptr) == SQLITE_OK &&
      sqlite3_exec(index, format("PRAGMA user_version = {}", index_version).c_str(), nullptr, nullptr, nullptr) ==
          SQLITE_OK)
    return index;
  sqlite3_close(index);
  return nullptr;
}

Result<std::unique_ptr<Cache>> Cache::open(const std::string& folder, int64_t max_bytes) {
  std::error_code error;
  fs::create_directories(folder, error);
  std::string path = folder + "/index.db";
  bool useless = false;
  sqlite3* index = error ? nullptr : open_index(path, useless);
  if (!index && useless && access(path.c_str(), W_OK) == 0) {
    fs::remove(path, error);
    fs::remove(path + "-journal", error);
    index = open_index(path, useless);
  }
  if (!index)
    return Diagnostic{DiagnosticKind::file_not_found,
                      format("the cache {} cannot be used{}", folder, error ? ": " + error.message() : ""),
                      {},
                      {},
                      {},
                      "RELAY_CACHE names another folder, or is 'off'"};
  return std::unique_ptr<Cache>(new Cache(folder, max_bytes, index));
}

Cache::Cache(std::string folder, int64_t max_bytes, sqlite3* index, bool is_package)
    : folder_(std::move(folder)), max_bytes_(max_bytes), index_(index), is_package_(is_package) {}
Cache::~Cache() { sqlite3_close(index_); }

// --- keys ------------------------------------------------------------------------------------------------------------

static std::string hash_of(std::string_view bytes) {
  XXH128_hash_t h = XXH3_128bits(bytes.data(), bytes.size());
  return format("{:016x}{:016x}", h.high64, h.low64);
}

static constexpr double forever = 1e18;  // seconds

static double changed_at(const struct stat& about) {
  return static_cast<double>(about.st_mtim.tv_sec) + static_cast<double>(about.st_mtim.tv_nsec) * 1e-9;
}

double clock_now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

static std::string identity(const struct stat& about) {
  return format("{}:{}:{}:{}.{:09}", about.st_dev, about.st_ino, about.st_size, about.st_mtim.tv_sec,
                about.st_mtim.tv_nsec);
}

static Result<std::string> hash_of_file(const std::string& path, size_t bytes) {
  if (bytes == 0) return hash_of("");
  int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  void* memory = file < 0 ? MAP_FAILED : ::mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE | MAP_POPULATE, file, 0);
  if (file >= 0) ::close(file);
  if (memory == MAP_FAILED)
    return Diagnostic{DiagnosticKind::file_not_found,
                      format("{}: {}", path, std::strerror(errno)),
                      {},
                      {},
                      {},
                      "check that the file exists and is readable"};
  std::string hash = hash_of({static_cast<const char*>(memory), bytes});
  ::munmap(memory, bytes);
  return hash;
}

// The identity of this build of the compiler: that of the file that has it.
static const std::string& compiler_identity() {
  static const std::string made = [] {
    struct stat about{};
    return stat(this_file().c_str(), &about) == 0 ? identity(about) : std::string();
  }();
  return made;
}

Result<std::string> Cache::key_of(const std::vector<std::string>& files, const std::string& request) {
  std::string all = format("{}\n{}\n", compiler_identity(), request);
  for (const std::string& path : files) {
    struct stat about{};
    if (stat(path.c_str(), &about) != 0 || !S_ISREG(about.st_mode))
      return Diagnostic{
          DiagnosticKind::file_not_found, format("{} does not exist", path), {}, {}, {}, "check the path"};
    std::string who = identity(about), hash;
    Statement known(index_, "SELECT hash FROM contents WHERE path = ? AND identity = ?");
    if (known.bind(path).bind(who).step()) hash = known.text(0);
    RELAY_RETURN_IF_ERROR(known.status());
    if (hash.empty()) {
      RELAY_ASSIGN(hash, hash_of_file(path, static_cast<size_t>(about.st_size)));
      // A file that changed just now may change again within the same tick of the file system's clock.
      if (clock_now() - changed_at(about) > 0.1) {
        Statement keep(index_, "INSERT OR REPLACE INTO contents VALUES(?, ?, ?)");
        RELAY_RETURN_IF_ERROR(keep.bind(path).bind(who).bind(hash).run());
      }
    }
    all += hash + "\n";
  }
  return hash_of(all);
}

// --- finding and storing ---------------------------------------------------------------------------------------------

static const char* const columns = "key, model, how, notes, bytes, compile_ms, made, used";

static CachedModel read_row(const Statement& row, const std::string& folder) {
  CachedModel out;
  out.key = row.text(0), out.artifact = format("{}/{}.rart", folder, out.key);
  out.model = row.text(1), out.options = row.text(2);
  Json notes = Json::parse(row.text(3), nullptr, false);
  if (notes.is_array())
    for (const Json& note : notes)
      if (note.is_string()) out.notes.push_back(note.get<std::string>());
  out.bytes = row.number(4), out.compile_ms = row.real(5), out.made = row.real(6), out.used = row.real(7);
  return out;
}

static std::string absolute(const std::string& path) {
  std::error_code error;
  fs::path out = fs::canonical(path, error);
  return error ? path : out.string();
}

Result<std::optional<CachedModel>> Cache::find(const std::string& given, const std::string& request) {
  std::string model = absolute(given);
  std::vector<std::string> files;
  Statement ask(index_, "SELECT path FROM files WHERE model = ? ORDER BY place");
  for (ask.bind(model); ask.step();) files.push_back(ask.text(0));
  RELAY_RETURN_IF_ERROR(ask.status());
  if (files.empty()) files.push_back(model);
  Result<std::string> key = key_of(files, request);
  if (!key) return std::optional<CachedModel>();  // reading the model reports the error
  Statement look(index_, format("SELECT {} FROM models WHERE key = ?", columns).c_str());
  look.bind(*key);
  if (!look.step()) {
    RELAY_RETURN_IF_ERROR(look.status());
    return std::optional<CachedModel>();
  }
  CachedModel found = read_row(look, folder_);
  double time = clock_now();
  if (time - found.used > 3600) {  // a coarse clock: most runs need not write
    Statement touch(index_, "UPDATE models SET used = ? WHERE key = ?");
    RELAY_RETURN_IF_ERROR(touch.bind(time).bind(found.key).run());
  }
  return std::optional(std::move(found));
}

Result<CachedModel> Cache::store(const NewModel& model, const std::string& request) {
  auto not_kept = [](std::string why) {
    return Diagnostic{DiagnosticKind::limit_exceeded,
                      std::move(why),
                      {},
                      {},
                      {},
                      "compile it to a separate file: relay compile MODEL -o FILE.rart"};
  };
  const double begin = clock_now();
  std::vector<std::string> files;
  for (const std::string& file : model.files) {
    files.push_back(absolute(file));
    struct stat about{};
    if (stat(files.back().c_str(), &about) != 0 || changed_at(about) >= model.read_since)
      return not_kept(format("{} changed while it was compiled", file));
  }
  if (model.weight_bytes > max_bytes_)
    return not_kept(format("its weights are {}, and the cache may take {} (RELAY_CACHE_SIZE)",
                           bytes_text(model.weight_bytes), bytes_text(max_bytes_)));
  CachedModel made;
  made.model = absolute(model.model), made.options = model.options, made.notes = model.notes;
  RELAY_ASSIGN(made.key, key_of(files, request));
  made.artifact = format("{}/{}.rart", folder_, made.key);
  RELAY_RETURN_IF_ERROR(model.write_artifact(made.artifact));
  std::error_code error;
  made.bytes = static_cast<int64_t>(fs::file_size(made.artifact, error));
  made.made = made.used = clock_now();
  made.compile_ms = model.compile_ms + (made.made - begin) * 1e3;

  Transaction writing(index_);
  RELAY_RETURN_IF_ERROR(writing.begun());
  RELAY_RETURN_IF_ERROR(Statement(index_, "DELETE FROM files WHERE model = ?").bind(made.model).run());
  for (size_t i = 0; i < files.size(); ++i)
    RELAY_RETURN_IF_ERROR(Statement(index_, "INSERT INTO files VALUES(?, ?, ?)")
                              .bind(made.model)
                              .bind(static_cast<int64_t>(i))
                              .bind(files[i])
                              .run());
  Statement keep(index_, "INSERT OR REPLACE INTO models VALUES(?, ?, ?, ?, ?, ?, ?, ?)");
  keep.bind(made.key).bind(made.model).bind(made.options);
  keep.bind(Json(made.notes).dump(-1, ' ', false, Json::error_handler_t::replace));
  RELAY_RETURN_IF_ERROR(keep.bind(made.bytes).bind(made.compile_ms).bind(made.made).bind(made.used).run());
  RELAY_RETURN_IF_ERROR(writing.commit());
  RELAY_RETURN_IF_ERROR(prune(max_bytes_, forever));
  return made;
}

Result<std::vector<CachedModel>> Cache::list() {
  std::vector<CachedModel> out;
  Statement ask(index_, format("SELECT {} FROM models ORDER BY used DESC, made DESC", columns).c_str());
  while (ask.step()) out.push_back(read_row(ask, folder_));
  RELAY_RETURN_IF_ERROR(ask.status());
  return out;
}

Status Cache::remove(const CachedModel& model) {
  RELAY_RETURN_IF_ERROR(Statement(index_, "DELETE FROM models WHERE key = ?").bind(model.key).run());
  std::error_code ignored;  // a mapped artifact stays readable until it is unmapped
  fs::remove(model.artifact, ignored);
  return ok();
}

Result<std::vector<Cache::Stray>> Cache::strays() {
  std::vector<Stray> out;
  std::error_code error;
  for (const fs::directory_entry& file : fs::directory_iterator(folder_, error)) {
    std::string name = file.path().filename().string();
    size_t dot = name.find(".rart");
    struct stat about{};
    if (dot == std::string::npos || stat(file.path().c_str(), &about) != 0) continue;
    Statement known(index_, "SELECT 1 FROM models WHERE key = ?");
    if (name.size() == dot + 5 && known.bind(name.substr(0, dot)).step()) continue;
    bool young = name.size() == dot + 5 && clock_now() - changed_at(about) < 60;  // its row is about to be written
    const bool written = name.ends_with(".part") && !is_abandoned_draft(file.path().string());
    out.push_back({file.path().string(), static_cast<int64_t>(about.st_size), young || written});
  }
  return out;
}

// --- kernels ---------------------------------------------------------------------------------------------------------

// In a package, a kernel has the same key for all builds.
std::string Cache::key_of_kernel(const std::string& key) const {
  return hash_of((is_package_ ? std::string() : compiler_identity()) + "\n" + key);
}

Result<std::optional<std::string>> Cache::find_kernel(const std::string& key) {
  const std::string mine = key_of_kernel(key);
  Statement look(index_, "SELECT hash, object FROM kernels WHERE key = ?");
  if (!look.bind(mine).step()) {
    RELAY_RETURN_IF_ERROR(look.status());
    return std::optional<std::string>();
  }
  std::string object = look.bytes(1);
  if (hash_of(object) == look.text(0)) return std::optional(std::move(object));
  if (is_package_) return std::optional<std::string>();
  RELAY_RETURN_IF_ERROR(Statement(index_, "DELETE FROM kernels WHERE key = ?").bind(mine).run());
  return std::optional<std::string>();
}

Status Cache::keep_kernels(std::span<const CachedKernel> kernels, std::span<const std::string> used) {
  const double time = clock_now();
  Transaction writing(index_);
  RELAY_RETURN_IF_ERROR(writing.begun());
  for (const CachedKernel& k : kernels) {
    Statement keep(index_, "INSERT OR REPLACE INTO kernels VALUES(?, ?, ?, ?, ?)");
    keep.bind(key_of_kernel(k.key)).bind(hash_of(k.object)).bind(static_cast<int64_t>(k.object.size())).bind(time);
    RELAY_RETURN_IF_ERROR(keep.bind_bytes(k.object).run());
  }
  for (const std::string& key : used) {  // a coarse clock: most uses need not write
    Statement touch(index_, "UPDATE kernels SET used = ? WHERE key = ? AND used < ?");
    RELAY_RETURN_IF_ERROR(touch.bind(time).bind(key_of_kernel(key)).bind(time - 3600).run());
  }
  RELAY_RETURN_IF_ERROR(writing.commit());
  if (kernels.empty() || is_package_) return ok();
  RELAY_ASSIGN(const Pruned removed, prune(max_bytes_, forever));
  (void)removed;
  return ok();
}

Result<Cache::Kernels> Cache::kernels() {
  Kernels out;
  Statement ask(index_, "SELECT count(*), sum(bytes) FROM kernels");
  if (ask.step()) out = {ask.number(0), ask.number(1)};
  RELAY_RETURN_IF_ERROR(ask.status());
  return out;
}

Status Cache::count_taken(const std::string& package, int64_t kernels) {
  Statement count(index_,
                  "INSERT INTO packages VALUES(?, ?) ON CONFLICT(path) DO UPDATE SET taken = taken + excluded.taken");
  return count.bind(package).bind(kernels).run();
}

Result<int64_t> Cache::taken(const std::string& package) {
  Statement ask(index_, "SELECT taken FROM packages WHERE path = ?");
  const int64_t out = ask.bind(package).step() ? ask.number(0) : 0;
  RELAY_RETURN_IF_ERROR(ask.status());
  return out;
}

// --- packages --------------------------------------------------------------------------------------------------------

static constexpr int package_version = 1;

std::optional<std::string> default_kernel_package() {
  const char* given = std::getenv("RELAY_KERNELS");
  if (given && *given) return std::string(given) == "off" ? std::nullopt : std::optional<std::string>(given);
  std::error_code error;
  const std::string beside = (fs::canonical(this_file(), error).parent_path() / "kernels.db").string();
  return !error && fs::exists(beside, error) ? std::optional(beside) : std::nullopt;
}

static Diagnostic no_package(const std::string& path, const std::string& reason) {
  return {DiagnosticKind::corrupt_file,
          format("the package of kernels {} cannot be used: {}", path, reason),
          {},
          {},
          {},
          "make it again with `make kernels`, or set RELAY_KERNELS=off"};
}

Result<std::unique_ptr<Cache>> Cache::open_package(const std::string& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return no_package(path, "it is not a file");  // a pipe would wait
  sqlite3* file = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &file, SQLITE_OPEN_READONLY | SQLITE_OPEN_FULLMUTEX, nullptr);
  std::unique_ptr<Cache> out(new Cache(path, 0, file, true));
  if (code != SQLITE_OK) return no_package(path, sqlite3_errstr(code));
  Statement version(file, "PRAGMA user_version");
  if (!version.step()) return no_package(path, sqlite3_errmsg(file));
  if (version.number(0) != package_version) return no_package(path, "it has another format");
  Statement mine(file, "SELECT 1 FROM builds WHERE id = ?");
  const bool found = !this_build().empty() && mine.bind(this_build()).step();
  if (!mine.status()) return no_package(path, sqlite3_errmsg(file));
  if (!found) return no_package(path, "it was made for another build of Relay");
  return out;
}

Result<std::unique_ptr<Cache>> Cache::write_package(const std::string& path, std::span<const std::string> builds) {
  sqlite3* file = nullptr;
  const int code =
      sqlite3_open_v2(path.c_str(), &file, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_FULLMUTEX, nullptr);
  std::unique_ptr<Cache> out(new Cache(path, 0, file, true));
  const std::string all = format("{}CREATE TABLE IF NOT EXISTS builds(id TEXT PRIMARY KEY); PRAGMA user_version = {}",
                                 schema, package_version);
  if (code != SQLITE_OK || sqlite3_exec(file, all.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK)
    return no_package(path, sqlite3_errmsg(file));
  for (const std::string& build : builds)
    RELAY_RETURN_IF_ERROR(Statement(file, "INSERT OR IGNORE INTO builds VALUES(?)").bind(build).run());
  return out;
}

Result<Cache::Pruned> Cache::prune(int64_t max_bytes, double unused_for) {
  Pruned out;
  RELAY_ASSIGN(const std::vector<CachedModel> all, list());
  RELAY_ASSIGN(const Kernels kernels, this->kernels());
  int64_t kept = 0, models = 0;
  for (const CachedModel& m : all) models += m.bytes;
  const double time = clock_now();
  // Kernels in the order of their use, between the models; not read if there is room for all.
  const bool looks_at_kernels = models + kernels.bytes > max_bytes || unused_for < forever;
  Statement next(index_, "SELECT key, bytes, used FROM kernels ORDER BY used DESC");
  bool is_kernel = looks_at_kernels && next.step();
  std::vector<std::string> old;
  auto visit_kernels = [&](double until) {
    for (; is_kernel && next.real(2) >= until; is_kernel = next.step()) {
      if (time - next.real(2) <= unused_for && kept + next.number(1) <= max_bytes) {
        kept += next.number(1);
        continue;
      }
      old.push_back(next.text(0));
      out.kernels += 1, out.bytes += next.number(1);
    }
  };
  for (const CachedModel& m : all) {
    visit_kernels(m.used);
    struct stat about{};
    bool there = stat(m.artifact.c_str(), &about) == 0;
    if (there && time - m.used <= unused_for && kept + m.bytes <= max_bytes) {
      kept += m.bytes;
      continue;
    }
    RELAY_RETURN_IF_ERROR(remove(m));
    out.models += 1, out.bytes += m.bytes;
  }
  visit_kernels(-forever);
  RELAY_RETURN_IF_ERROR(next.status());
  if (!old.empty()) {
    Transaction writing(index_);
    RELAY_RETURN_IF_ERROR(writing.begun());
    for (const std::string& key : old)
      RELAY_RETURN_IF_ERROR(Statement(index_, "DELETE FROM kernels WHERE key = ?").bind(key).run());
    RELAY_RETURN_IF_ERROR(writing.commit());
    RELAY_RETURN_IF_ERROR(Statement(index_, "PRAGMA incremental_vacuum").run());
  }
  // Drafts of processes that died, and artifacts of a lost index.
  RELAY_ASSIGN(std::vector<Stray> strays, this->strays());
  std::error_code ignored;
  for (const Stray& stray : strays)
    if (!stray.in_use && fs::remove(stray.path, ignored)) out.models += 1, out.bytes += stray.bytes;
  return out;
}

}  // namespace relay::cache
