// A file that is written whole or not at all.
//
//   RELAY_ASSIGN(OutputFile file, OutputFile::open("net.rart"));
//   file.write(bytes);
//   return file.close();                   without it, nothing is left behind
//
// What is written goes beside the file first (a draft, NAME.PID.N.part) and takes its name at the end, so that nobody
// sees half a file and a program that has the old one mapped keeps it. A symbolic link stays one: what it names is
// written. Devices, pipes and sockets (/dev/null, /dev/stdout) are written in place.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

#include "relay/base/diagnostics.h"

namespace relay {

class OutputFile {
 public:
  static Result<OutputFile> open(const std::string& path);
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  ~OutputFile();
  void write(std::string_view bytes);  // what goes wrong is said by close()
  Status close();

 private:
  OutputFile(std::string path, std::string target, std::string draft, std::FILE* file, int slot)
      : path_(std::move(path)), target_(std::move(target)), draft_(std::move(draft)), file_(file), slot_(slot) {}
  void forget();
  Diagnostic cannot_write(int error) const;
  std::string path_, target_, draft_;  // as given; with links followed; empty: in place
  std::FILE* file_;
  int slot_;  // of the list of drafts; -1: not in it
  int error_ = 0;
};

Status write_file(const std::string& path, std::string_view bytes);

// A draft, FILE.PROCESS.NUMBER.part, whose process has ended without a chance to remove it, such as one that was
// killed. Opening FILE again removes it.
bool is_abandoned_draft(const std::string& path);

// From now on SIGINT, SIGTERM and SIGHUP, where they would end this process, remove its drafts first.
void remove_drafts_on_signals();

}  // namespace relay
