#include "relay/base/output_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>

namespace relay {

// The drafts of this process, readable by a signal handler: a name is complete while its slot is Taken.
namespace {
constexpr int slots = 32;
enum SlotState : int { Free, Filling, Taken };
struct Slot {
  std::atomic<int> state = Free;
  char path[PATH_MAX] = {};
};
Slot drafts[slots];
static_assert(std::atomic<int>::is_always_lock_free);

int keep_draft(const std::string& path) {
  for (int i = 0; i < slots && path.size() < PATH_MAX; ++i) {
    int expected = Free;
    if (!drafts[i].state.compare_exchange_strong(expected, Filling)) continue;
    std::memcpy(drafts[i].path, path.c_str(), path.size() + 1);
    drafts[i].state = Taken;
    return i;
  }
  return -1;
}

extern "C" void remove_drafts(int signal) {
  for (const Slot& slot : drafts)
    if (slot.state.load() == Taken) ::unlink(slot.path);
  ::raise(signal);  // its default action is restored (SA_RESETHAND)
}

// Follows the final symbolic links of a path, whether the target exists or not.
std::string follow_links(std::string path) {
  for (int links = 0; links < 40; ++links) {
    char to[PATH_MAX];
    ssize_t count = ::readlink(path.c_str(), to, sizeof to);
    if (count <= 0 || static_cast<size_t>(count) == sizeof to) break;
    std::string next(to, static_cast<size_t>(count));
    size_t slash = path.rfind('/');
    path = next[0] == '/' || slash == std::string::npos ? next : path.substr(0, slash + 1) + next;
  }
  return path;
}
}  // namespace

// Both tests must agree: another container has other process numbers but the same locks, and process numbers are soon
// reused.
bool is_abandoned_draft(const std::string& path) {
  if (!path.ends_with(".part")) return false;
  const size_t number = path.rfind('.', path.size() - 6), begin = number ? path.rfind('.', number - 1) : number;
  if (number == std::string::npos || begin == std::string::npos) return false;
  int64_t process = 0;
  const char* end = path.data() + number;
  const std::from_chars_result read = std::from_chars(path.data() + begin + 1, end, process);
  if (read.ec != std::errc() || read.ptr != end || process <= 0 || process > INT_MAX) return false;
  if (::kill(static_cast<pid_t>(process), 0) == 0 || errno != ESRCH) return false;
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (descriptor < 0) return false;
  struct stat about{};
  const bool abandoned =
      ::fstat(descriptor, &about) == 0 && S_ISREG(about.st_mode) && ::flock(descriptor, LOCK_EX | LOCK_NB) == 0;
  ::close(descriptor);
  return abandoned;
}

// Removes drafts that earlier processes left of the same file.
static void remove_abandoned_drafts(const std::string& target) {
  const size_t slash = target.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : target.substr(0, slash + 1),
                    begin = target.substr(slash == std::string::npos ? 0 : slash + 1) + ".";
  DIR* open = ::opendir(folder.c_str());
  if (!open) return;
  while (const dirent* entry = ::readdir(open)) {
    const std::string name = entry->d_name, path = slash == std::string::npos ? name : folder + name;
    if (name.starts_with(begin) && is_abandoned_draft(path) &&
        std::count(name.begin() + static_cast<int64_t>(begin.size()), name.end(), '.') == 2)
      ::unlink(path.c_str());
  }
  ::closedir(open);
}

void remove_drafts_on_signals() {
  ::signal(SIGXFSZ, SIG_IGN);  // beyond the file size limit, a write fails instead and reports it
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction now{};
    if (::sigaction(signal, nullptr, &now) != 0 || (now.sa_flags & SA_SIGINFO) || now.sa_handler != SIG_DFL) continue;
    now = {};
    now.sa_handler = remove_drafts;
    now.sa_flags = static_cast<int>(SA_RESETHAND);
    ::sigaction(signal, &now, nullptr);
  }
}

Diagnostic OutputFile::cannot_write(int error) const {
  return Diagnostic{DiagnosticKind::file_not_found,
                    format("{} cannot be written: {}", path_, std::strerror(error)),
                    {},
                    {},
                    {},
                    "write to a folder that exists, may be written and has room"};
}

Result<OutputFile> OutputFile::open(const std::string& path) {
  static std::atomic<unsigned> number = 0;
  struct stat about{};
  bool there = ::stat(path.c_str(), &about) == 0;
  if (there && S_ISDIR(about.st_mode)) return OutputFile(path, path, "", nullptr, -1).cannot_write(EISDIR);
  if (there && !S_ISREG(about.st_mode)) {
    int descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY);
    OutputFile out(path, path, "", descriptor < 0 ? nullptr : ::fdopen(descriptor, "wb"), -1);
    if (!out.file_) return out.cannot_write(errno);
    return out;
  }
  std::string target = follow_links(path), draft = format("{}.{}.{}.part", target, ::getpid(), number++);
  remove_abandoned_drafts(target);
  int slot = keep_draft(draft);
  OutputFile out(path, target, draft, std::fopen(draft.c_str(), "wbe"), slot);
  if (!out.file_) return out.cannot_write(errno);
  ::flock(::fileno(out.file_), LOCK_EX | LOCK_NB);  // held as long as this process has it open
  return out;
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::move(other.path_)),
      target_(std::move(other.target_)),
      draft_(std::move(other.draft_)),
      file_(std::exchange(other.file_, nullptr)),
      slot_(std::exchange(other.slot_, -1)),
      error_(other.error_) {
  other.draft_.clear();
}

OutputFile::~OutputFile() { forget(); }

void OutputFile::forget() {
  if (file_) std::fclose(std::exchange(file_, nullptr));
  if (!draft_.empty()) std::remove(draft_.c_str());
  draft_.clear();
  if (slot_ >= 0) drafts[std::exchange(slot_, -1)].state = Free;
}

void OutputFile::write(std::string_view bytes) {
  if (error_ == 0 && std::fwrite(bytes.data(), 1, bytes.size(), file_) != bytes.size()) error_ = errno ? errno : EIO;
}

Status OutputFile::close() {
  if (std::fclose(std::exchange(file_, nullptr)) != 0 && error_ == 0) error_ = errno;
  if (error_ == 0 && !draft_.empty()) {
    if (std::rename(draft_.c_str(), target_.c_str()) != 0)
      error_ = errno;
    else
      draft_.clear();
  }
  int error = error_;
  forget();
  if (error != 0) return cannot_write(error);
  return ok();
}

Status write_file(const std::string& path, std::string_view bytes) {
  RELAY_ASSIGN(OutputFile file, OutputFile::open(path));
  file.write(bytes);
  return file.close();
}

}  // namespace relay
