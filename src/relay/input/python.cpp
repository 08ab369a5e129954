#include "relay/input/python.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

namespace relay::input {

std::vector<std::string> python_interpreters(const std::string& program) {
  namespace fs = std::filesystem;
  if (const char* given = std::getenv("RELAY_PYTHON"); given && *given) return {given};
  std::error_code error;
  std::vector<fs::path> candidates;
  if (program.find('/') != std::string::npos) candidates.push_back(fs::path(program).parent_path() / "python");
  fs::path self = fs::read_symlink("/proc/self/exe", error);
  if (!error) {
    candidates.push_back(self.parent_path() / "python");
    candidates.push_back(self.parent_path() / "../../../.venv/bin/python");
  }
  std::vector<std::string> out;
  for (const fs::path& candidate : candidates)
    if (access(candidate.c_str(), X_OK) == 0) out.push_back(candidate.string());
  out.emplace_back("python3");
  return out;
}

static bool finds(const std::string& interpreter, const std::vector<std::string>& packages) {
  std::vector<std::string> words{
      interpreter, "-c",
      "import importlib.util, sys\nsys.exit(not all(importlib.util.find_spec(name) for name in sys.argv[1:]))"};
  words.insert(words.end(), packages.begin(), packages.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const pid_t pid = fork();
  if (pid == 0) {
    if (const int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC); nowhere >= 0)
      dup2(nowhere, 0), dup2(nowhere, 1), dup2(nowhere, 2);
    execvp(argv[0], argv.data());
    _exit(127);
  }
  int status = 0;
  return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

std::optional<std::string> python_with(const std::vector<std::string>& interpreters,
                                       const std::vector<std::string>& packages) {
  for (const std::string& interpreter : interpreters)
    if (finds(interpreter, packages)) return interpreter;
  return {};
}

}  // namespace relay::input
