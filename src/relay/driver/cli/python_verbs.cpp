#include "relay/driver/cli/python_verbs.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "relay/base/text.h"
#include "relay/input/python.h"

namespace relay::cli {

const std::vector<PythonVerb>& python_verbs() {
  static const std::vector<PythonVerb> verbs = {
#define RELAY_PYTHON_VERB(name, function, what) {name, function, what},
#include "relay/driver/cli/python_verbs.def"
#undef RELAY_PYTHON_VERB
  };
  return verbs;
}

void add_python_verbs(CLI::App& app) {
  for (const PythonVerb& verb : python_verbs())
    app.add_subcommand(verb.name, verb.what)
        ->footer(format("It is written in Python, and `relay {} --help` lists its options.", verb.name));
}

Diagnostic continue_in_python(int argc, const char* const* argv, int first, const std::vector<std::string>& packages,
                              const std::string& reason) {
  const std::vector<std::string> interpreters = input::python_interpreters(argv[0]);
  const std::optional<std::string> python = input::python_with(interpreters, packages);
  if (!python)
    return Diagnostic{DiagnosticKind::bad_option,
                      format("{}, and no Python with the package{} {} was found", reason,
                             packages.size() > 1 ? "s" : "", join(packages, " and ")),
                      {},
                      {},
                      {format("tried: {}", join(interpreters, ", "))},
                      "name one with RELAY_PYTHON=/path/to/python"};
  std::vector<const char*> words{python->c_str(), "-m", "relay"};
  words.insert(words.end(), argv + first, argv + argc);
  words.push_back(nullptr);
  execvp(words[0], const_cast<char* const*>(words.data()));
  return Diagnostic{DiagnosticKind::file_not_found,
                    format("{} cannot be started: {}", *python, std::strerror(errno)),
                    {},
                    {},
                    {},
                    "name another interpreter with RELAY_PYTHON=/path/to/python"};
}

}  // namespace relay::cli
