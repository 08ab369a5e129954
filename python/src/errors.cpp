// relay::CompileError becomes the relay.CompileError that error_of(text, diagnostics as JSON) makes; the classes are in
// python/relay/errors.py.
#include "callback.h"
#include "relay/driver/catalogue.h"
#include "relay/driver/report.h"

namespace relay::python {

static thread_local nb::python_error* kept_stop = nullptr;  // no object: the end of a thread has no GIL to destroy it

void keep_stop(const nb::python_error& error) {
  delete kept_stop;
  kept_stop = new nb::python_error(error);
}

std::optional<nb::python_error> take_stop() {
  if (!kept_stop) return std::nullopt;
  nb::gil_scoped_acquire held;
  std::optional<nb::python_error> out(*kept_stop);
  delete std::exchange(kept_stop, nullptr);
  return out;
}

void add_errors(nb::module_& m) {
  nb::register_exception_translator([](const std::exception_ptr& pointer, void*) {
    if (std::optional<nb::python_error> stop = take_stop()) return stop->restore();
    const nb::module_ errors = nb::module_::import_("relay.errors");
    nb::object error;
    try {
      std::rethrow_exception(pointer);
    } catch (const CompileError& e) {
      error = errors.attr("error_of")(std::string(e.what()), driver::json(e.diagnostics));
    } catch (const InternalError& e) {
      error = errors.attr("InternalError")(std::string(e.what()));
    } catch (const std::bad_cast&) {  // of nb::cast
      PyErr_SetString(PyExc_TypeError, "a value has a type that cannot be used here");
      return;
    }
    PyErr_SetObject(error.type().ptr(), error.ptr());
  });
  m.def(
      "told",
      [](const std::string& kind, const std::string& message, const std::string& help) {
        for (const DiagnosticInfo& info : all_diagnostics())
          if (info.name == kind) {
            Diagnostics one{Diagnostic{info.kind, message, {}, {}, {}, help}};
            return std::make_tuple(render(one), driver::json(one));
          }
        throw nb::value_error("there is no such kind of diagnostic");
      },
      nb::arg("kind"), nb::arg("message"), nb::arg("help"),
      "The content of a CompileError, for an error that Python code detects.");
  m.def(
      "diagnostics",
      [] {
        std::vector<std::tuple<std::string, std::string, std::string, std::string, std::string>> out;
        for (const driver::CodeInfo& one : driver::all_codes())
          out.emplace_back(one.code, one.name, one.sentence, one.example, one.remedy);
        return out;
      },
      "Every kind of diagnostic: code, name, meaning, example, way out.");
}

}  // namespace relay::python
