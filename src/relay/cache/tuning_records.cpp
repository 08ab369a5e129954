#include "relay/cache/tuning_records.h"

#include <sqlite3.h>

#include <cstdlib>
#include <filesystem>
#include <memory>

#include "relay/cache/cache.h"

namespace relay::cache {

std::optional<std::string> default_tuning_records() {
  const char* given = std::getenv("RELAY_TUNING_RECORDS");
  if (given && *given) return std::string(given) == "off" ? std::nullopt : std::optional<std::string>(given);
  const std::optional<std::string> folder = default_cache_folder();
  return folder ? std::optional(*folder + "/tuning.db") : std::nullopt;
}

Result<TuningRecords> read_tuning_records(const std::string& path, const std::string& machine,
                                          const std::string& compiler) {
  TuningRecords out;
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return out;
  auto fail = [&](const std::string& reason) {
    return Diagnostic{DiagnosticKind::corrupt_file,
                      format("the tuning records {} cannot be read: {}", path, reason),
                      {},
                      {},
                      {},
                      "compile with --no-tuned, name another file with --records, or remove this one"};
  };
  if (!std::filesystem::is_regular_file(path, error)) return fail("not a file");  // a pipe would wait for its writer
  sqlite3* opened = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &opened, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, nullptr);
  const std::unique_ptr<sqlite3, int (*)(sqlite3*)> file(opened, sqlite3_close);
  if (code != SQLITE_OK) return fail(sqlite3_errstr(code));
  sqlite3_busy_timeout(file.get(), 5000);  // milliseconds: a tuner writes for a few
  sqlite3_stmt* prepared = nullptr;
  if (sqlite3_prepare_v2(file.get(), "SELECT key, decisions, date FROM records WHERE machine = ? AND compiler = ?", -1,
                         &prepared, nullptr) != SQLITE_OK)
    return fail(sqlite3_errmsg(file.get()));
  const std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)> rows(prepared, sqlite3_finalize);
  sqlite3_bind_text(prepared, 1, machine.data(), static_cast<int>(machine.size()), SQLITE_TRANSIENT);
  sqlite3_bind_text(prepared, 2, compiler.data(), static_cast<int>(compiler.size()), SQLITE_TRANSIENT);
  auto text = [&](int column) {
    const unsigned char* t = sqlite3_column_text(prepared, column);
    return std::string(t ? reinterpret_cast<const char*>(t) : "");
  };
  int step = SQLITE_ROW;
  while ((step = sqlite3_step(prepared)) == SQLITE_ROW) out.decisions[text(0)] = text(1), out.dates[text(0)] = text(2);
  if (step != SQLITE_DONE) return fail(sqlite3_errmsg(file.get()));
  return out;
}

}  // namespace relay::cache
