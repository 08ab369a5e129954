// Records of measured schedules, as `relay tune` writes them (python/relay/tools/tune.py): a SQLite file with the table
//
//   records(key, machine, compiler, decisions, default_us, us, threads, kernel, date)
//
// key: the computation of a group (lower/schedule_group.h); decisions: those that were fastest
// (lower/schedule/candidates.h); date: YYYY-MM-DD. A record is used only if the machine and the compiler are the same.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "relay/base/diagnostics.h"

namespace relay::cache {

struct TuningRecords {
  std::map<std::string, std::string> decisions;  // by key
  std::map<std::string, std::string> dates;      // by key
};

// RELAY_TUNING_RECORDS names a file, or is "off"; the default is tuning.db in the cache's folder. Unset if records, or
// caching, are off.
std::optional<std::string> default_tuning_records();

// The records of one machine and compiler; none if there is no such file. A file that cannot be read is a diagnostic.
Result<TuningRecords> read_tuning_records(const std::string& path, const std::string& machine,
                                          const std::string& compiler);

}  // namespace relay::cache
