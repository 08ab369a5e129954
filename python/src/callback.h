// Python functions that the compiler and compiled programs call from their own threads.
#pragma once

#include <exception>
#include <optional>

#include "core.h"
#include "give_back.h"

namespace relay::python {

// Keeps an exception that must not become a diagnostic, such as KeyboardInterrupt, for the error of this thread. Needs
// the GIL.
void keep_stop(const nb::python_error& error);
// Returns the exception that this thread keeps, if any, and forgets it.
std::optional<nb::python_error> take_stop();

// The text of an exception in a line: "ValueError: no negative numbers (mine.py, line 12)". Needs the GIL.
std::string one_line(nb::python_error& error);

// Returns body(), called with the GIL held. A Python exception becomes a diagnostic that begins with `who`. One that is
// no Exception, such as KeyboardInterrupt, is raised in place of the error that reports the diagnostic.
template <class Body>
auto call_python(DiagnosticKind kind, const std::string& who, const std::string& help, Body body) -> decltype(body()) {
  nb::gil_scoped_acquire held;
  try {
    return body();
  } catch (nb::python_error& e) {
    if (!e.matches(PyExc_Exception)) keep_stop(e);
    return Diagnostic{kind, format("{}: {}", who, one_line(e)), {}, {}, {}, help};
  } catch (const CompileError& e) {
    return e.diagnostics;
  } catch (const std::exception& e) {  // from a cast, such as of something that is not a tensor
    return Diagnostic{kind, format("{}: it returns a value of a wrong kind ({})", who, e.what()), {}, {}, {}, help};
  }
}

// A Python object that the compiler keeps.
class GilObject {
 public:
  explicit GilObject(nb::object object)
      : object_(new nb::object(std::move(object)), [](nb::object* o) { give_back([o] { delete o; }); }) {}
  const nb::object& operator*() const { return *object_; }
  const nb::object* operator->() const { return object_.get(); }

 private:
  std::shared_ptr<nb::object> object_;
};

void add_external(nb::module_& m);
void add_te(nb::module_& m);
void add_splits(nb::module_& m);
void add_custom_operators(nb::module_& m);
void add_tflite(nb::module_& m);

}  // namespace relay::python
