#include "relay/driver/isolated_step.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <nlohmann/json.hpp>

#include "relay/base/sanitizer.h"

namespace relay::driver {

using Json = nlohmann::json;

bool is_right(const Outcome& outcome, double tolerance) { return within(outcome.differences, tolerance); }

bool is_same_fault(const Outcome& a, const Outcome& b, double tolerance) {
  return !is_right(a, tolerance) && !is_right(b, tolerance) && a.fault == b.fault;
}

std::string str(const Outcome& outcome, double tolerance) {
  if (is_right(outcome, tolerance)) return "right";
  if (outcome.fault.empty()) return "different";
  return outcome.fault[0] == 'R' ? format("refused ({})", outcome.fault) : outcome.fault;
}

static Outcome without_results(std::string fault, const std::string& message) {
  return {.differences = {{.output = "the run", .other = format("no result: {}: {}", fault, message)}},
          .fault = std::move(fault)};
}

Outcome refused(const Diagnostics& errors) { return without_results(info(errors[0].kind).code, errors[0].message); }

// CBOR keeps infinities, unlike JSON as text.
static std::vector<uint8_t> to_bytes(const Outcome& outcome) {
  Json all = Json::array();
  for (const Difference& d : outcome.differences)
    all.push_back({d.output, d.absolute, d.relative, d.ulps, d.elements, d.other});
  return Json::to_cbor({{"differences", all}, {"fault", outcome.fault}, {"applied", outcome.applied}});
}

static Outcome from_bytes(const std::vector<uint8_t>& bytes) {
  const Json read = Json::from_cbor(bytes);
  Outcome out{.fault = read["fault"], .applied = read["applied"].get<transform::Applied>()};
  for (const Json& d : read["differences"])
    out.differences.push_back({.output = d[0],
                               .absolute = d[1].get<double>(),
                               .relative = d[2].get<double>(),
                               .ulps = d[3].get<double>(),
                               .elements = d[4].get<int64_t>(),
                               .other = d[5]});
  return out;
}

namespace {
// The progress of a child, in memory shared with its parent.
class Place {
 public:
  Place() : text_(static_cast<char*>(mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {}
  ~Place() {
    if (is_there()) munmap(text_, size);
  }
  Place(const Place&) = delete;
  bool is_there() const { return text_ != MAP_FAILED; }
  void set(const std::string& text) { text_[text.copy(text_, size - 1)] = 0; }
  std::string get() const { return text_; }

 private:
  static constexpr size_t size = 4096;
  char* text_;
};
}  // namespace

static Outcome run(const std::function<Outcome(const At&)>& step, Place& place) {
  try {
    return step([&](const std::string& where) { place.set(where); });
  } catch (const std::exception& e) {
    return without_results("internal error", format("{}, while {}", e.what(), place.get()));
  }
}

static Outcome no_process() { return without_results("no process", strerror(errno)); }

Outcome run_isolated(const std::function<Outcome(const At&)>& step) {
  Place place;
  if (!place.is_there()) return no_process();
  place.set("starting");
  if (has_thread_sanitizer) return run(step, place);
  int ends[2];
  if (pipe(ends) != 0) return no_process();
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    close(ends[0]);
    const std::vector<uint8_t> bytes = to_bytes(run(step, place));
    for (size_t sent = 0; sent < bytes.size();) {
      const ssize_t count = write(ends[1], bytes.data() + sent, bytes.size() - sent);
      if (count < 0) _exit(1);
      sent += static_cast<size_t>(count);
    }
    _exit(0);
  }
  close(ends[1]);
  std::vector<uint8_t> bytes;
  uint8_t buffer[65536];
  for (ssize_t count; child > 0 && (count = read(ends[0], buffer, sizeof buffer)) > 0;)
    bytes.insert(bytes.end(), buffer, buffer + count);
  close(ends[0]);
  if (child < 0) return no_process();
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) {
    const char* name = sigabbrev_np(WTERMSIG(status));
    return without_results(name ? format("SIG{}", name) : format("signal {}", WTERMSIG(status)),
                           format("the process ended while {}", place.get()));
  }
  if (WEXITSTATUS(status) != 0 || bytes.empty())
    return without_results(format("exit status {}", WEXITSTATUS(status)),
                           format("the process ended while {}", place.get()));
  return from_bytes(bytes);
}

}  // namespace relay::driver
