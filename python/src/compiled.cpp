// Compiling, running, evaluating.
#include <algorithm>
#include <functional>

#include "core.h"
#include "give_back.h"
#include "interruptible.h"
#include "relay/base/interrupt.h"
#include "relay/driver/compile.h"
#include "relay/driver/debug.h"
#include "relay/driver/load.h"
#include "relay/driver/ready_model.h"
#include "relay/driver/stages.h"
#include "relay/driver/targets.h"
#include "relay/driver/upgrade.h"
#include "relay/input/files.h"
#include "relay/input/inputs.h"
#include "relay/input/values.h"
#include "relay/ir/interface_names.h"
#include "relay/ir/main_function.h"
#include "relay/runtime/artifacts/artifact.h"
#include "relay/runtime/session.h"
#include "relay/text/text.h"
#include "relay/typing/typing.h"
#include "values.h"

namespace relay::python {

namespace {
struct PyCompiled {
  std::shared_ptr<runtime::Executable> executable;
  std::optional<driver::Compiled> compiled;   // unset if loaded from an artifact,
  std::optional<runtime::Artifact> artifact;  // ... which is this
  std::vector<std::string> files{};           // files that the model was read from
  std::string cached{};                       // the cache file that it was loaded from, or ""
};
// Name, dtype, dimensions; if it is not a tensor: name, "", none, type.
using Port = std::tuple<std::string, std::string, std::vector<std::string>, std::string>;
}  // namespace

// A list attribute of @main; empty if absent.
template <typename List>
static List list_of_main(const ir::Module& module, const char* name) {
  auto main = module.functions.find(ir::main_function);
  if (main == module.functions.end()) return {};
  auto found = main->second->attrs.find(name);
  const List* list = found == main->second->attrs.end() ? nullptr : std::get_if<List>(&found->second);
  return list ? *list : List();
}

// The list of strings that numbers stand for, and the names of the inputs and outputs with such elements.
static std::tuple<ir::Strings, ir::Strings, ir::Strings> strings_of(const ir::Module& module) {
  return {list_of_main<ir::Strings>(module, ir::interface::strings),
          list_of_main<ir::Strings>(module, ir::interface::string_inputs),
          list_of_main<ir::Strings>(module, ir::interface::string_outputs)};
}

// The positions of the inputs and outputs whose last axis holds a complex number's two parts.
static std::pair<ir::Ints, ir::Ints> complex_of(const ir::Module& module) {
  return {list_of_main<ir::Ints>(module, ir::interface::complex_inputs),
          list_of_main<ir::Ints>(module, ir::interface::complex_outputs)};
}

// If some outputs are sequences: the names of all outputs, and the number of results of each (-1: one list of the
// language, -2: not a sequence). For outputs that are lists of maps: their names, their keys, the names of those whose
// keys are strings, and these strings; a key is then a position in the list of strings.
static std::tuple<ir::Strings, ir::Ints, ir::Strings, ir::IntLists, ir::Strings, ir::Strings> containers_of(
    const ir::Module& module) {
  return {list_of_main<ir::Strings>(module, ir::interface::result_names),
          list_of_main<ir::Ints>(module, ir::interface::result_counts),
          list_of_main<ir::Strings>(module, ir::interface::map_outputs),
          list_of_main<ir::IntLists>(module, ir::interface::map_keys),
          list_of_main<ir::Strings>(module, ir::interface::map_word_outputs),
          list_of_main<ir::Strings>(module, ir::interface::map_words)};
}

// A module whose @main has the parameters and attributes of the compiled model.
static ir::Module interface_of(const PyCompiled& self) {
  if (self.compiled) return self.compiled->module;
  return value_or_throw(text::parse(value_or_throw(driver::note(*self.artifact, driver::interface_note))));
}

// The executable, whose end may wait for a compilation in the background, and that for the GIL.
static std::shared_ptr<runtime::Executable> ends_without_gil(std::shared_ptr<runtime::Executable> executable) {
  runtime::Executable* const same = executable.get();
  if (!same) return nullptr;
  return {same, [held = std::move(executable)](auto*) mutable { without_gil([&] { held.reset(); }); }};
}

// `is_optimised`: see driver/options.h.
static PyCompiled compile(const PyModule& m, driver::Options options, bool is_optimised) {
  options.passes.is_optimised = is_optimised;
  options.run.output_names = m.output_names;
  options.passes.trace = [](const transform::PassTrace&) { check_interrupt(); };
  std::shared_ptr<std::optional<driver::Compiled>> made = std::make_shared<std::optional<driver::Compiled>>();
  run_interruptibly(
      [made, module = separate(m), options] { *made = value_or_throw(driver::compile(module, options)); });
  driver::Compiled compiled = *std::move(*made);
  compiled.executable = ends_without_gil(std::move(compiled.executable));
  return {compiled.executable, std::move(compiled), {}, m.files, {}};
}

// The bytes of temporaries that a run of a module plans. None if sizes are only known at a run.
static std::optional<int64_t> planned_bytes(const PyModule& m, driver::Options options) {
  options.run.make_executable = false;
  return driver::planned_bytes(*compile(m, std::move(options), false).compiled->built.program);
}

// A model ready to run, and messages about the cache.
using Ready = std::pair<PyCompiled, std::vector<std::string>>;

static Ready of_ready(driver::ReadyModel ready, std::vector<std::string> notes) {
  notes.insert(notes.end(), ready.notes.begin(), ready.notes.end());
  PyCompiled out{ends_without_gil(ready.executable), std::move(ready.compiled), {}, ready.model.files, {}};
  if (out.compiled) out.compiled->executable = out.executable;
  if (!out.compiled) out.artifact = std::move(ready.model.artifact);
  if (ready.cached) out.cached = ready.cached->artifact;
  return {std::move(out), std::move(notes)};
}

// The default cache; null, with a note, if it cannot be opened, or if caching is off.
static std::unique_ptr<cache::Cache> open_cache(std::vector<std::string>& notes) {
  Result<std::unique_ptr<cache::Cache>> cache = cache::open_default_cache();
  if (cache) return *std::move(cache);
  notes.push_back(cache.errors()[0].message);
  return nullptr;
}

// Runs `prepare` with the default cache, so that Ctrl-C interrupts it. Unset if `prepare` returns none.
static std::optional<Ready> with_cache(std::function<std::optional<driver::ReadyModel>(cache::Cache*)> prepare) {
  struct Made {
    std::optional<driver::ReadyModel> ready;
    std::vector<std::string> notes;
  };
  std::shared_ptr<Made> made = std::make_shared<Made>();
  run_interruptibly([made, prepare = std::move(prepare)] {
    const std::unique_ptr<cache::Cache> cache = open_cache(made->notes);
    made->ready = prepare(cache.get());
  });
  if (!made->ready) return {};
  return of_ready(*std::move(made->ready), std::move(made->notes));
}

// The model of a file, through the cache.
static Ready compile_file(const std::string& path, driver::Options options) {
  options.passes.trace = [](const transform::PassTrace&) { check_interrupt(); };
  return *with_cache([path, options](cache::Cache* cache) -> std::optional<driver::ReadyModel> {
    Diagnostics warnings;
    return value_or_throw(driver::prepare_model(path, options, cache, warnings));
  });
}

// The program of a model that Python builds from files: from the cache, or none.
static std::optional<Ready> find_compiled(const std::string& path, const std::string& reader,
                                          const driver::Options& options) {
  return with_cache([path, reader, options](cache::Cache* cache) -> std::optional<driver::ReadyModel> {
    if (!cache) return {};
    return value_or_throw(driver::find_ready({path, {}, reader}, options, *cache));
  });
}

// The same, compiled and added to the cache. `since`: seconds since 1970, before the files were read.
static Ready compile_and_keep(const std::string& path, const std::vector<std::string>& files, const std::string& reader,
                              double since, const PyModule& m, driver::Options options) {
  options.passes.trace = [](const transform::PassTrace&) { check_interrupt(); };
  const driver::BuiltModel built{path, files, reader};
  return *with_cache([built, since, module = separate(m), options](cache::Cache* cache) {
    return std::optional(value_or_throw(driver::compile_and_keep(built, module, options, since, cache)));
  });
}

static std::vector<Port> ports(const std::vector<runtime::PortInfo>& infos) {
  std::vector<Port> out;
  for (const runtime::PortInfo& p : infos)
    out.emplace_back(p.name, p.is_tensor ? p.dtype.str() : "", p.dim_texts, p.type);
  return out;
}

static std::vector<Tensor> tensors(const std::vector<Array>& arrays) {
  std::vector<Tensor> out;
  for (const Array& a : arrays) out.push_back(a.value);
  return out;
}

// A number of threads as a caller gives it; None for the default.
static int thread_count(nb::handle given) {
  if (given.is_none()) return 0;
  const nb::object index = nb::steal(PyNumber_Index(given.ptr()));
  if (!index.is_valid()) PyErr_Clear();
  int value = 0;
  if (index.is_valid() && nb::try_cast(index, value)) return value;
  throw CompileError({Diagnostic{DiagnosticKind::bad_option,
                                 format("{} is not a number of threads", nb::cast<std::string>(nb::repr(given))),
                                 {},
                                 {},
                                 {},
                                 "give 1 to 1024, or 0 for all cores that this process may use"}});
}

static std::vector<Array> run(const PyCompiled& self, const std::vector<Array>& inputs, nb::handle wanted) {
  const int threads = thread_count(wanted);
  nb::gil_scoped_release released;
  std::vector<Tensor> values = value_or_throw(self.executable->run(tensors(inputs), {.threads = threads}));
  std::vector<Array> out;
  for (Tensor& value : values) out.push_back({std::move(value), true});
  return out;
}

// The results of a run on NumPy arrays: one, or a tuple. None if an input has to be converted first.
static nb::object run_numpy(const PyCompiled& self, const nb::tuple& inputs, nb::handle wanted) {
  const int threads = thread_count(wanted);
  std::vector<Tensor> values;
  for (nb::handle input : inputs) {
    std::optional<Tensor> value = plain_numpy(input);
    if (!value) return nb::none();
    values.push_back(*std::move(value));
  }
  std::vector<Tensor> results;
  {
    nb::gil_scoped_release released;
    results = value_or_throw(self.executable->run(values, {.threads = threads}));
  }
  nb::list out;
  for (Tensor& result : results) out.append(numpy_result({std::move(result), true}));
  return results.size() == 1 ? nb::object(out[0]) : nb::object(nb::tuple(out));
}

// Kernel, microseconds, tasks, threads; for a run after two that warm up.
using Steps = std::vector<std::tuple<std::string, double, int64_t, int>>;
static Steps steps_of(const std::function<void(const runtime::RunOptions&)>& run) {
  for (int i = 0; i < 2; ++i) run({});
  runtime::Report report;
  report.time_steps = true;
  run({.report = &report});
  Steps out;
  for (const runtime::StepTime& step : report.steps) out.emplace_back(step.kernel, step.us, step.tasks, step.threads);
  return out;
}

static Steps profile(const PyCompiled& self, const std::vector<Array>& inputs) {
  nb::gil_scoped_release released;
  const std::vector<Tensor> values = tensors(inputs);
  return steps_of([&](const runtime::RunOptions& options) { value_or_throw(self.executable->run(values, options)); });
}

static Steps profile_call(const PyCompiled& self, const std::vector<runtime::Value>& inputs) {
  nb::gil_scoped_release released;
  return steps_of([&](const runtime::RunOptions& options) { value_or_throw(self.executable->call(inputs, options)); });
}

static const driver::Compiled& need_compiled(const PyCompiled& self, const char* what) {
  if (!self.compiled)
    throw CompileError({Diagnostic{DiagnosticKind::bad_option,
                                   format("a loaded artifact does not contain the {}", what),
                                   {},
                                   {},
                                   {},
                                   "compile the original model"}});
  return *self.compiled;
}

// `name`: of the form; empty if the name of the file decides.
static void save(const PyCompiled& self, const std::string& path, const std::string& name) {
  nb::gil_scoped_release released;
  const std::optional<driver::FileForm> form = name.empty() ? driver::form_for(path) : driver::file_form(name);
  if (!form)
    throw CompileError({Diagnostic{DiagnosticKind::bad_option,
                                   format("there is no file form '{}'", name),
                                   {},
                                   {},
                                   {},
                                   "the forms are: artifact, so, obj, c"}});
  value_or_throw(input::check_output(path, self.files));
  if (self.artifact && form == driver::FileForm::Artifact) {
    value_or_throw(runtime::save_artifact(*self.artifact, path));
    return;
  }
  value_or_throw(driver::save(need_compiled(self, "kernels to save separately"), *form, path));
}

static std::string stage(const PyCompiled& self, const std::string& name, const std::string& which) {
  nb::gil_scoped_release released;
  const driver::Compiled& compiled = need_compiled(self, "stages");
  if (name == "program") return runtime::str(*compiled.built.program);
  if (name == "relay") return text::str(compiled.module, {.version = false});
  const std::pair<const char*, driver::Stage> stages[] = {
      {"te", driver::Stage::Te},  {"schedule", driver::Stage::Schedule}, {"loop", driver::Stage::Loop},
      {"c", driver::Stage::C},    {"llvm", driver::Stage::Llvm},         {"asm", driver::Stage::Assembly},
      {"ptx", driver::Stage::Ptx}};
  for (const auto& [known, value] : stages)
    if (name == known)
      return value_or_throw(driver::stage_text(compiled.lowered, compiled.report.target, value, which));
  throw CompileError({Diagnostic{DiagnosticKind::bad_option,
                                 format("there is no stage '{}'", name),
                                 {},
                                 {},
                                 {},
                                 "the stages are: relay, te, schedule, loop, c, llvm, asm, program"}});
}

static runtime::Value evaluate(const PyModule& m, const std::vector<runtime::Value>& inputs,
                               const std::string& precision) {
  const ir::Module module = separate(m);
  nb::gil_scoped_release released;
  if (precision != "native" && precision != "float64")
    throw CompileError({Diagnostic{DiagnosticKind::bad_option,
                                   format("there is no precision '{}'", precision),
                                   {},
                                   {},
                                   {},
                                   "the precisions are: native, float64"}});
  driver::EvalPrecision how = precision == "native" ? driver::EvalPrecision::Native : driver::EvalPrecision::Float64;
  return value_or_throw(input::to_runtime(value_or_throw(driver::evaluate_main(module, inputs, how)), module));
}

static std::vector<Array> run_session(runtime::Session& self, const std::vector<Array>& inputs, nb::handle wanted) {
  const int threads = thread_count(wanted);
  nb::gil_scoped_release released;
  std::vector<Array> out;
  for (Tensor& value : value_or_throw(self.run(tensors(inputs), {.threads = threads})))
    out.push_back({std::move(value), true});
  return out;
}

static void add_session(nb::module_& m) {
  nb::class_<runtime::Session>(m, "Session", "A model with its state (relay/runtime/session.h).")
      .def(nb::new_([](const PyCompiled& model) {
             return std::shared_ptr<runtime::Session>(value_or_throw(runtime::Session::create(model.executable)));
           }),
           nb::arg("model"))
      .def("run", run_session, nb::arg("inputs"), nb::arg("threads").none() = 0)
      .def_prop_ro("inputs", [](const runtime::Session& self) { return ports(self.inputs()); })
      .def_prop_ro("outputs", [](const runtime::Session& self) { return ports(self.outputs()); })
      .def_prop_ro("states", [](const runtime::Session& self) { return ports(self.states()); })
      .def(
          "state",
          [](const runtime::Session& self, size_t index) -> std::optional<Array> {
            Tensor value = value_or_throw(self.state(index));
            return value ? std::optional(Array{std::move(value), true}) : std::nullopt;
          },
          nb::arg("index"))
      .def(
          "set_state",
          [](runtime::Session& self, size_t index, const Array& value) {
            value_or_throw(self.set_state(index, value.value));
          },
          nb::arg("index"), nb::arg("value"))
      .def("snapshot",
           [](const runtime::Session& self) {
             std::vector<std::optional<Array>> out;
             for (Tensor& value : self.snapshot())
               out.push_back(value ? std::optional(Array{std::move(value), true}) : std::nullopt);
             return out;
           })
      .def(
          "restore",
          [](runtime::Session& self, const std::vector<std::optional<Array>>& values) {
            std::vector<Tensor> states;
            for (const std::optional<Array>& value : values) states.push_back(value ? value->value : Tensor());
            value_or_throw(self.restore(states));
          },
          nb::arg("values"))
      .def("reset", &runtime::Session::reset);
}

void add_compiled(nb::module_& m) {
  nb::class_<PyCompiled>(m, "Compiled", "A compiled program.")
      .def("run", run, nb::arg("inputs"), nb::arg("threads").none() = 0)
      .def("run_numpy", run_numpy, nb::arg("inputs"), nb::arg("threads").none() = 0)
      .def(
          "call",
          [](const PyCompiled& self, const std::vector<runtime::Value>& inputs, nb::handle wanted) {
            const int threads = thread_count(wanted);
            nb::gil_scoped_release released;
            return value_or_throw(self.executable->call(inputs, {.threads = threads, .inputs_are_lent = true}));
          },
          nb::arg("inputs"), nb::arg("threads").none() = 0)
      .def(
          "call_closure",
          [](const PyCompiled& self, const runtime::Value& closure, const std::vector<runtime::Value>& args) {
            nb::gil_scoped_release released;
            return value_or_throw(self.executable->call_closure(closure, args));
          },
          nb::arg("closure"), nb::arg("args"))
      .def_prop_ro("donated",
                   [](const PyCompiled& self) {
                     std::vector<size_t> out;
                     for (size_t i = 0; i < self.executable->inputs().size(); ++i)
                       if (self.executable->is_donated(i)) out.push_back(i);
                     return out;
                   })
      .def_prop_ro("is_graph", [](const PyCompiled& self) { return self.executable->runs_as_graph(); })
      .def_prop_ro("executor", [](const PyCompiled& self) { return runtime::name(self.executable->executor()); })
      .def_prop_ro("tier", [](const PyCompiled& self) { return runtime::name(self.executable->tier()); })
      .def("wait",
           [](const PyCompiled& self) {
             run_interruptibly([executable = self.executable] { value_or_throw(executable->wait_for_upgrade()); });
           })
      .def_prop_ro("strings", [](const PyCompiled& self) { return strings_of(interface_of(self)); })
      .def_prop_ro("complex", [](const PyCompiled& self) { return complex_of(interface_of(self)); })
      .def_prop_ro("containers", [](const PyCompiled& self) { return containers_of(interface_of(self)); })
      .def_prop_ro("types", [](const PyCompiled& self) { return data_types(self.executable->program()); })
      .def("profile", profile, nb::arg("inputs"))
      .def("profile_call", profile_call, nb::arg("inputs"))
      .def("save", save, nb::arg("path"), nb::arg("form") = "")
      .def("stage", stage, nb::arg("name"), nb::arg("which") = "")
      .def_prop_ro("inputs", [](const PyCompiled& self) { return ports(self.executable->inputs()); })
      .def_prop_ro("outputs", [](const PyCompiled& self) { return ports(self.executable->outputs()); })
      .def_prop_ro("report",
                   [](const PyCompiled& self) {
                     return self.compiled ? driver::json(self.compiled->report, *self.compiled->built.program)
                                          : value_or_throw(driver::note(*self.artifact, driver::report_note));
                   })
      .def_ro("cached", &PyCompiled::cached)
      .def_prop_ro("module", [](const PyCompiled& self) {
        return PyModule{need_compiled(self, "Relay program").module, {}, self.files};
      });
  nb::module_::import_("atexit").attr("register")(nb::cpp_function([] {
    {
      nb::gil_scoped_release released;
      driver::finish_upgrades();
    }
    wait_for_left_work();
  }));
  add_session(m);
  m.def("output_names", [](const PyModule& m) { return m.output_names; }, nb::arg("module"));
  m.def("strings", [](const PyModule& m) { return strings_of(m.module); }, nb::arg("module"));
  m.def("complex", [](const PyModule& m) { return complex_of(m.module); }, nb::arg("module"));
  m.def("containers", [](const PyModule& m) { return containers_of(m.module); }, nb::arg("module"));
  m.def(
      "place_on_devices",
      [](const PyModule& m, const driver::Options& options) {
        const ir::Module typed = value_or_throw(typing::infer(m.module));
        std::vector<std::string> notes;
        PyModule placed{value_or_throw(driver::place(typed, options, notes)), m.output_names, m.files};
        return std::pair(std::move(placed), std::move(notes));
      },
      nb::arg("module"), nb::arg("options"));
  m.def("compile", compile, nb::arg("module"), nb::arg("options"), nb::arg("is_optimised") = false);
  m.def("planned_bytes", planned_bytes, nb::arg("module"), nb::arg("options"));
  m.def("compile_file", compile_file, nb::arg("path"), nb::arg("options"));
  m.def("find_compiled", find_compiled, nb::arg("path"), nb::arg("reader"), nb::arg("options"));
  m.def("compile_and_keep", compile_and_keep, nb::arg("path"), nb::arg("files"), nb::arg("reader"), nb::arg("since"),
        nb::arg("module"), nb::arg("options"));
  m.def(
      "load_artifact",
      [](const std::string& path, const driver::Options& options) {
        nb::gil_scoped_release released;
        driver::Model model;
        value_or_throw(driver::load_artifact(model, path, options.run));
        return PyCompiled{ends_without_gil(model.executable), {}, std::move(model.artifact), {}, {}};
      },
      nb::arg("path"), nb::arg("options"));
  m.def(
      "load_artifact_bytes",
      [](const std::string& name, nb::bytes bytes, const driver::Options& options) {
        std::string_view content(bytes.c_str(), bytes.size());
        nb::gil_scoped_release released;
        driver::Model model = value_or_throw(driver::load_model(name, content, options));
        return PyCompiled{ends_without_gil(model.executable), {}, std::move(model.artifact), {}, {}};
      },
      nb::arg("name"), nb::arg("bytes"), nb::arg("options"));
  m.def(
      "schedules_of", [](const std::string& text) { return value_or_throw(driver::schedules_of(text)); },
      nb::arg("text"));
  m.def("evaluate", evaluate, nb::arg("module"), nb::arg("inputs"), nb::arg("precision"));
  // Name and type.
  m.def(
      "ports",
      [](const PyModule& m) {
        ir::Module typed = value_or_throw(typing::infer(m.module));
        std::vector<std::pair<std::string, std::string>> out;
        for (const input::Port& p : value_or_throw(input::input_ports(typed)))
          out.emplace_back(p.name,
                           p.is_tensor ? format("Tensor[({}), {}]", join(p.dims, ", "), p.dtype.str()) : p.type);
        return out;
      },
      nb::arg("module"));
}

}  // namespace relay::python
