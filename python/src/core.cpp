#include "core.h"

#include "callback.h"
#include "relay/driver/cli/cli.h"
#include "relay/driver/cli/python_verbs.h"
#include "relay/driver/load.h"
#include "relay/driver/pjrt_run.h"
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

// The result of `run`, which calls Python; its error as diagnostics. `failed`: the beginning of the message about any
// other exception, and `help` its way out.
template <class Run>
static auto in_python(const Run& run, const std::string& failed, const std::string& help) -> Result<decltype(run())> {
  nb::gil_scoped_acquire held;
  try {
    return run();
  } catch (nb::python_error& e) {
    if (e.matches(nb::module_::import_("relay.errors").attr("CompileError"))) return problems_of(e.value());
    return Diagnostic{DiagnosticKind::bad_model, format("{}: {}", failed, e.what()), {}, {}, {}, help};
  }
}

// A model as the function `import_file` of Python reads it: (module, paths of the files).
static Result<relay::driver::PythonModel> import_by_python(const nb::object& import_file, const std::string& path,
                                                           const std::map<std::string, std::vector<int64_t>>& shapes,
                                                           const std::string& layout) {
  return in_python(
      [&] {
        const nb::tuple read = nb::cast<nb::tuple>(import_file(path, shapes, layout));
        return relay::driver::PythonModel{nb::cast<PyModule>(read[0]).module,
                                          nb::cast<std::vector<std::string>>(read[1])};
      },
      format("{} cannot be imported", path), "import it in Python with relay.load to see the place");
}

// A run as the function `run_on_pjrt` of Python does it: (results, device, milliseconds of compiling, of running).
static Result<relay::driver::PjrtRun> run_by_python(const nb::object& run_on_pjrt, const ir::Module& module,
                                                    const std::string& plugin, const std::vector<Tensor>& inputs) {
  return in_python(
      [&] {
        std::vector<Array> given;
        for (const Tensor& input : inputs) given.push_back({input, false});
        const nb::tuple done = nb::cast<nb::tuple>(run_on_pjrt(PyModule{module, {}}, plugin, given));
        relay::driver::PjrtRun out{.results = {},
                                   .device = nb::cast<std::string>(done[1]),
                                   .compile_ms = nb::cast<double>(done[2]),
                                   .run_ms = nb::cast<double>(done[3])};
        for (nb::handle result : done[0]) out.results.push_back(nb::cast<Array>(result).value);
        return out;
      },
      format("the program cannot run on {}", plugin), "run it in Python with relay.pjrt.compile to see the place");
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
      [](const std::vector<std::string>& arguments, const nb::object& import_file, const nb::object& run_on_pjrt) {
        std::vector<const char*> argv;
        for (const std::string& argument : arguments) argv.push_back(argument.c_str());
        relay::driver::set_python_importer([&](const std::string& path, const auto& shapes, const std::string& layout) {
          return import_by_python(import_file, path, shapes, layout);
        });
        relay::driver::set_pjrt_runner(
            [&](const relay::ir::Module& module, const std::string& plugin, const auto& inputs) {
              return run_by_python(run_on_pjrt, module, plugin, inputs);
            });
        int status = 0;
        {
          nb::gil_scoped_release released;
          status = relay::cli::run_command_line(static_cast<int>(argv.size()), argv.data());
        }
        relay::driver::set_python_importer(nullptr), relay::driver::set_pjrt_runner(nullptr);
        return status;
      },
      nb::arg("argv"), nb::arg("import_file"), nb::arg("run_on_pjrt"),
      "Runs the command line and returns the exit status. import_file reads a model of another framework, (path, "
      "shapes, layout), and returns the module and the paths of the files that it read. run_on_pjrt runs a module on a "
      "PJRT plugin, (module, path, inputs), and returns results, device, and milliseconds of compiling and of "
      "running.");
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
