#include "core.h"

#include "callback.h"
#include "relay/driver/cli/cli.h"
#include "relay/driver/cli/python_verbs.h"
#include "relay/driver/load.h"
#include "relay/driver/version.h"

using namespace relay::python;

namespace relay::python {

// The problems that a relay.CompileError holds.
static Diagnostics problems_of(nb::handle error) {
  Diagnostics out;
  for (nb::handle one : error.attr("diagnostics")) {
    const std::string kind = nb::cast<std::string>(one.attr("kind"));
    Diagnostic d{DiagnosticKind::bad_model, nb::cast<std::string>(one.attr("message"))};
    for (const DiagnosticInfo& info : all_diagnostics())
      if (info.name == kind) d.kind = info.kind;
    if (!one.attr("node").is_none())
      d.span.node = std::make_shared<const std::string>(nb::cast<std::string>(one.attr("node")));
    d.notes = nb::cast<std::vector<std::string>>(one.attr("notes"));
    d.help = nb::cast<std::string>(one.attr("help"));
    out.push_back(std::move(d));
  }
  return out;
}

// A model as the function `import_file` of Python reads it: (module, paths of the files).
static Result<relay::driver::PythonModel> import_by_python(const nb::object& import_file, const std::string& path,
                                                           const std::map<std::string, std::vector<int64_t>>& shapes,
                                                           const std::string& layout) {
  nb::gil_scoped_acquire held;
  try {
    const nb::tuple read = nb::cast<nb::tuple>(import_file(path, shapes, layout));
    return relay::driver::PythonModel{nb::cast<PyModule>(read[0]).module, nb::cast<std::vector<std::string>>(read[1])};
  } catch (nb::python_error& e) {
    if (e.matches(nb::module_::import_("relay.errors").attr("CompileError"))) return problems_of(e.value());
    return Diagnostic{DiagnosticKind::bad_model,
                      format("{} cannot be imported: {}", path, e.what()),
                      {},
                      {},
                      {},
                      "import it in Python with relay.load to see the place"};
  }
}

}  // namespace relay::python

NB_MODULE(_core, m) {
  m.doc() = "The compiler core. Use the package relay, which is built on it.";
  m.attr("version") = relay::version;
  add_errors(m);
  add_arrays(m);
  add_operators(m);
  add_te(m);
  add_splits(m);
  add_custom_operators(m);
  add_external(m);
  add_tflite(m);
  add_types(m);
  add_attributes(m);
  add_nodes(m);
  add_data(m);
  add_modules(m);
  add_analysis(m);
  add_dataflow_patterns(m);
  add_program_values(m);
  add_options(m);
  add_compiled(m);
  add_explore(m);
  add_quantise(m);
  m.def(
      "main",
      [](const std::vector<std::string>& arguments, const nb::object& import_file) {
        std::vector<const char*> argv;
        for (const std::string& argument : arguments) argv.push_back(argument.c_str());
        relay::driver::set_python_importer([&](const std::string& path, const auto& shapes, const std::string& layout) {
          return import_by_python(import_file, path, shapes, layout);
        });
        int status = 0;
        {
          nb::gil_scoped_release released;
          status = relay::cli::run_command_line(static_cast<int>(argv.size()), argv.data());
        }
        relay::driver::set_python_importer(nullptr);
        return status;
      },
      nb::arg("argv"), nb::arg("import_file"),
      "Runs the command line and returns the exit status. The function reads a model of another framework, (path, "
      "shapes), and returns the module and the paths of the files that it read.");
  m.def(
      "python_verbs",
      [] {
        std::map<std::string, std::string> out;
        for (const relay::cli::PythonVerb& verb : relay::cli::python_verbs()) out[verb.name] = verb.function;
        return out;
      },
      "The verbs that are written in Python, with their functions as \"module:name\".");
  // Operators, types and diagnostics live as long as the process; they may still exist at Python's shutdown.
  nb::set_leak_warnings(false);
}
