#include "core.h"

#include "callback.h"
#include "relay/driver/cli/cli.h"
#include "relay/driver/version.h"

using namespace relay::python;

NB_MODULE(_core, m) {
  m.doc() = "The compiler. Use the package relay, which is made of this.";
  m.attr("version") = relay::version;
  add_errors(m);
  add_arrays(m);
  add_operators(m);
  add_te(m);
  add_custom_operators(m);
  add_external(m);
  add_types(m);
  add_attributes(m);
  add_nodes(m);
  add_data(m);
  add_modules(m);
  add_analysis(m);
  add_dataflow_patterns(m);
  add_program_values(m);
  add_compiled(m);
  m.def(
      "main",
      [](const std::vector<std::string>& arguments) {
        std::vector<const char*> argv;
        for (const std::string& argument : arguments) argv.push_back(argument.c_str());
        nb::gil_scoped_release released;
        return relay::cli::run_command_line(static_cast<int>(argv.size()), argv.data());
      },
      nb::arg("argv"), "The command line: runs it, gives the exit status.");
  // Operators, types and diagnostics live as long as the process; they may still exist at Python's shutdown.
  nb::set_leak_warnings(false);
}
