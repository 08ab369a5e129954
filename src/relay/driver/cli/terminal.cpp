#include "relay/driver/cli/terminal.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <system_error>

namespace relay::cli {

static bool quiet = false;

static bool is_terminal(int descriptor) {
  const char* term = std::getenv("TERM");
  return isatty(descriptor) && !(term && std::string_view(term) == "dumb");
}

static bool on_terminal() { return is_terminal(STDERR_FILENO); }

bool use_colour(int descriptor) {
  const char* no_colour = std::getenv("NO_COLOR");
  return is_terminal(descriptor) && !(no_colour && *no_colour);
}

void set_quiet(bool value) { quiet = value; }

bool is_quiet() { return quiet; }

static void clear_line() {
  if (on_terminal()) std::fputs("\r\033[K", stderr);
}

void print_message(const std::string& line) {
  if (quiet) return;
  std::cout.flush();  // in order, even if both go to one file
  clear_line();
  std::fprintf(stderr, "relay: %s\n", printable(readable(line)).c_str());
}

void print(const std::string& line) { std::cout << printable_line(readable(line)) << "\n"; }

std::string coloured(const std::string& text) {
  std::string out;
  for (std::string_view line : split(text, '\n')) {
    if (!out.empty()) out += '\n';
    size_t head = line.find(']');
    bool error = starts_with(line, "error["), warning = starts_with(line, "warning[");
    if ((error || warning) && head != std::string_view::npos)
      out += format("\033[1;{}m{}\033[0m{}", error ? 31 : 35, line.substr(0, head + 1), line.substr(head + 1));
    else if (starts_with(line, "  help: "))
      out += format("  \033[36mhelp\033[0m: {}", line.substr(8));
    else
      out += line;
  }
  return out;
}

void show(const Diagnostics& diagnostics) {
  if (diagnostics.empty()) return;
  std::cout.flush();
  clear_line();
  std::string text = render(diagnostics);
  std::cerr << (use_colour(STDERR_FILENO) ? coloured(text) : text);
}

void show(const Diagnostic& diagnostic) { show(Diagnostics{diagnostic}); }

Progress::Progress(std::string what) : what_(std::move(what)) {
  if (quiet || !on_terminal()) return;
  try {
    thread_ = std::thread([this] { show_until_done(); });
  } catch (const std::system_error&) {
    // No thread can be created: the work continues without the line.
  }
}

void Progress::show_until_done() {
  using namespace std::chrono_literals;
  std::unique_lock<std::mutex> lock(mutex_);
  if (changed_.wait_for(lock, 2s, [this] { return done_; })) return;
  do {
    auto seconds = std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - begin_);
    std::fprintf(stderr, "\r\033[Krelay: %s, %lld s", printable(what_).c_str(),
                 static_cast<long long>(seconds.count()));
  } while (!changed_.wait_for(lock, 500ms, [this] { return done_; }));
  clear_line();
}

Progress::~Progress() {
  if (!thread_.joinable()) return;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    done_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

}  // namespace relay::cli
