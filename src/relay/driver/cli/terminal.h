// Messages on stderr: lines, diagnostics (in colour on a terminal), and the duration of running work.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "relay/base/diagnostics.h"
#include "relay/base/printable.h"

namespace relay::cli {

// Suppresses all messages but errors from now on.
void set_quiet(bool quiet);
bool is_quiet();
// Prints "relay: ..." on stderr.
void print_message(const std::string& line);
// Prints a line of a result on stdout. Names in it are untrusted: they are escaped and cut after 200 bytes.
void print(const std::string& line);
// Prints diagnostics on stderr, in colour if stderr is a terminal, NO_COLOR is unset and TERM is not "dumb".
void show(const Diagnostics& diagnostics);
void show(const Diagnostic& diagnostic);
// True if output to this descriptor is coloured.
bool use_colour(int descriptor);
// The rendered text in colours.
std::string coloured(const std::string& text);

// Shows, after 2 s, a line on the terminal with the current work and its duration, until destroyed.
class Progress {
 public:
  explicit Progress(std::string what);
  ~Progress();
  Progress(const Progress&) = delete;

 private:
  void show_until_done();
  std::string what_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
  std::thread thread_;  // not started unless stderr is a terminal
};

}  // namespace relay::cli
