// What is said beside the results, on stderr: lines, diagnostics (in colour on a terminal), and how long work takes
// already.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "relay/base/diagnostics.h"
#include "relay/base/printable.h"

namespace relay::cli {

// After this, only errors are said.
void set_quiet(bool quiet);
// "relay: ..." on stderr.
void say(const std::string& line);
// A line of a result on stdout. Names in it may hold anything: they are shown escaped, and not beyond 200 bytes.
void print(const std::string& line);
// Diagnostics on stderr. Coloured where stderr is a terminal, NO_COLOR is not set and TERM is not "dumb".
void show(const Diagnostics& diagnostics);
void show(const Diagnostic& diagnostic);
// Whether what goes to this descriptor is coloured.
bool use_colour(int descriptor);
// The rendered text in colours.
std::string coloured(const std::string& text);

// While it lives: after 2 s a line on the terminal that says what is being done and for how long, gone at the end.
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
  std::thread thread_;  // none where stderr is no terminal
};

}  // namespace relay::cli
