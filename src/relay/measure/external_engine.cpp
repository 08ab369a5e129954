#include "relay/measure/external_engine.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "relay/input/python.h"

namespace relay::measure {

using Json = nlohmann::json;

// Runs a file of python/relay/tools without importing the package.
static const char* const bootstrap =
    "import importlib.util, pathlib, runpy, sys\n"
    "spec = importlib.util.find_spec('relay')\n"
    "if spec is None or not spec.submodule_search_locations: sys.exit('the Python package relay is not installed for ' "
    "+ sys.executable)\n"
    "runpy.run_path(str(pathlib.Path(list(spec.submodule_search_locations)[0]) / 'tools' / sys.argv.pop(1)), "
    "run_name='__main__')\n";

static Diagnostic failure(const std::string& what) {
  return Diagnostic{DiagnosticKind::bad_option,
                    what,
                    {},
                    {},
                    {},
                    "it runs in Python: set RELAY_PYTHON to an interpreter with the packages relay, onnxruntime and "
                    "those of the other engines to measure"};
}

struct PythonProcess {
  pid_t pid = -1;
  int in = -1, out = -1;  // its stdin, its stdout
};

static Result<PythonProcess> start_python(const std::string& program, const std::string& file,
                                          const std::vector<std::string>& arguments) {
  std::vector<std::string> words{input::python_interpreters(program)[0], "-c", bootstrap, file};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  int to[2], from[2];
  if (pipe2(to, O_CLOEXEC) != 0) return failure(std::strerror(errno));
  if (pipe2(from, O_CLOEXEC) != 0) {
    close(to[0]), close(to[1]);
    return failure(std::strerror(errno));
  }
  pid_t pid = fork();
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // stopped, it would outlive us
    dup2(to[0], 0);
    dup2(from[1], 1);
    execvp(argv[0], argv.data());
    _exit(127);
  }
  close(to[0]), close(from[1]);
  if (pid < 0) {
    close(to[1]), close(from[0]);
    return failure(std::strerror(errno));
  }
  signal(SIGPIPE, SIG_IGN);  // the end of the process is reported as a diagnostic
  return PythonProcess{pid, to[1], from[0]};
}

Result<std::string> run_package_file(const std::string& program, const std::string& file,
                                     const std::vector<std::string>& arguments) {
  RELAY_ASSIGN(PythonProcess process, start_python(program, file, arguments));
  close(process.in);
  std::string printed;
  char buffer[65536];
  for (ssize_t count; (count = read(process.out, buffer, sizeof buffer)) > 0;)
    printed.append(buffer, static_cast<size_t>(count));
  close(process.out);
  int status = 0;
  waitpid(process.pid, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 2)
    return Diagnostic{DiagnosticKind::bad_option, format("{} stopped", file), {}, {}, {}, "its message is above"};
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    return failure(format("{} failed; its own message is above", file));
  return printed;
}

std::string torch_program(const std::string& model) {
  return std::filesystem::path(model).replace_extension(".pt2").string();
}

ExternalEngine::ExternalEngine(ExternalEngine&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      in_(std::exchange(other.in_, -1)),
      out_(std::exchange(other.out_, -1)),
      pending_(std::move(other.pending_)),
      name_(std::move(other.name_)),
      version_(std::move(other.version_)),
      folder_(std::exchange(other.folder_, {})),
      outputs_(std::move(other.outputs_)),
      ready_ms_(other.ready_ms_),
      peak_bytes_(other.peak_bytes_) {}

ExternalEngine::~ExternalEngine() {
  if (in_ >= 0) close(in_);
  if (out_ >= 0) close(out_);
  if (pid_ > 0) {
    kill(pid_, SIGKILL);  // a stopped process takes no other signal
    waitpid(pid_, nullptr, 0);
  }
  std::error_code ignored;
  if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
}

Diagnostic ExternalEngine::failed(const std::string& what) const {
  return failure(format("{} cannot be measured: {}", name_, what));
}

// Waits for the end of the process, which has closed its stdout.
Diagnostic ExternalEngine::ended() {
  int status = 0;
  waitpid(std::exchange(pid_, -1), &status, 0);
  if (!WIFSIGNALED(status)) return failed("it ended; its own message is above");
  Diagnostic crash = failed(format("it crashed ({})", strsignal(WTERMSIG(status))));
  crash.help = "the fault is in that engine: measure without it";
  return crash;
}

// A line of its stdout; fails after `seconds` without one.
Result<std::string> ExternalEngine::read_line(int seconds) {
  while (pending_.find('\n') == std::string::npos) {
    struct pollfd ready{out_, POLLIN, 0};
    if (poll(&ready, 1, seconds * 1000) <= 0) return failed("it does not answer");
    char buffer[65536];
    ssize_t count = read(out_, buffer, sizeof buffer);
    if (count <= 0) return ended();
    pending_.append(buffer, static_cast<size_t>(count));
  }
  size_t end = pending_.find('\n');
  std::string line = pending_.substr(0, end);
  pending_.erase(0, end + 1);
  return line;
}

Result<ExternalEngine> ExternalEngine::start(const ExternalEngineOptions& options, const std::vector<Tensor>& inputs) {
  ExternalEngine engine;
  engine.name_ = options.engine;
  char folder[] = "/tmp/relay-bench-XXXXXX";
  if (!mkdtemp(folder)) return engine.failed(format("{}: {}", folder, std::strerror(errno)));
  engine.folder_ = folder;
  input::NamedArrays named;
  for (size_t i = 0; i < inputs.size(); ++i) named.emplace_back(std::to_string(i), inputs[i]);
  std::string inputs_file = engine.folder_ + "/inputs.npz", outputs_file = engine.folder_ + "/outputs.npz";
  RELAY_RETURN_IF_ERROR(input::write_npz(inputs_file, named));
  RELAY_ASSIGN(PythonProcess process, start_python(options.program, "bench.py",
                                                   {options.engine, options.model, std::to_string(options.threads),
                                                    inputs_file, outputs_file}));
  engine.pid_ = process.pid, engine.in_ = process.in, engine.out_ = process.out;
  RELAY_ASSIGN(std::string line, engine.read_line(1200));  // some engines compile for minutes
  Json ready = Json::parse(line, nullptr, false);
  if (!ready.is_object() || !ready.contains("version"))
    return engine.failed(ready.is_object() && ready.contains("error") && ready["error"].is_string()
                             ? ready["error"].get<std::string>()
                             : line);
  kill(engine.pid_, SIGSTOP);
  engine.version_ = ready["version"].get<std::string>();
  engine.ready_ms_ = ready.value("ready_ms", 0.0), engine.peak_bytes_ = ready.value("peak_bytes", int64_t{0});
  RELAY_ASSIGN(input::NamedArrays outputs, input::read_npz(outputs_file));
  for (auto& [name, value] : outputs) engine.outputs_.push_back(std::move(value));
  return engine;
}

Result<std::vector<double>> ExternalEngine::run(double seconds) {
  kill(pid_, SIGCONT);
  std::string request = format("{:.6f}\n", seconds);
  if (write(in_, request.data(), request.size()) != static_cast<ssize_t>(request.size())) return ended();
  RELAY_ASSIGN(std::string line, read_line(120 + static_cast<int>(seconds)));
  kill(pid_, SIGSTOP);
  Json times = Json::parse(line, nullptr, false);
  if (!times.is_array()) return failed(line);
  std::vector<double> out;
  for (const Json& us : times)
    if (us.is_number()) out.push_back(us.get<double>());
  return out;
}

}  // namespace relay::measure
