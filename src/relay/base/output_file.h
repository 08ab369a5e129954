// A file that is written completely or not at all.
//
//   RELAY_ASSIGN(OutputFile file, OutputFile::open("net.rart"));
//   file.write(bytes);
//   return file.close();                   without it, no file remains
//
// The contents go to a draft in the same folder first (NAME.PID.N.part), which is renamed at the end. So readers never
// see a partial file, and programs keep the old version that they have mapped. A symbolic link is kept: its target is
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
  void write(std::string_view bytes);  // errors are reported by close()
  Status close();

 private:
  OutputFile(std::string path, std::string target, std::string draft, std::FILE* file, int slot)
      : path_(std::move(path)), target_(std::move(target)), draft_(std::move(draft)), file_(file), slot_(slot) {}
  void forget();
  Diagnostic cannot_write(int error) const;
  std::string path_, target_, draft_;  // as specified; with links followed; empty if written in place
  std::FILE* file_;
  int slot_;  // index in the list of drafts; -1 if absent
  int error_ = 0;
};

Status write_file(const std::string& path, std::string_view bytes);

// True for a draft, FILE.PROCESS.NUMBER.part, whose process ended without removing it, for example because it was
// killed. Opening FILE removes it.
bool is_abandoned_draft(const std::string& path);

// Makes SIGINT, SIGTERM and SIGHUP remove this process's drafts first, if they would end the process.
void remove_drafts_on_signals();

}  // namespace relay
