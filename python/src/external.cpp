// Code generators and callbacks of Python: the library "python" of compiled programs (runtime/relay_external.h).
#include <cstring>

#include "callback.h"
#include "relay/external/generators.h"
#include "relay/runtime/relay_external.h"

namespace relay::python {

// The first non-empty line of an exception's text.
static std::string first_line(nb::handle exception) {
  const std::string text = nb::cast<std::string>(nb::str(exception));
  for (std::string_view line : split(text, '\n'))
    if (!trim(line).empty()) return std::string(trim(line));
  return "";
}

std::string one_line(nb::python_error& error) {
  std::string place, what = first_line(error.value());
  const std::string kind = nb::cast<std::string>(error.type().attr("__name__"));
  const size_t code = what.find("]: ");
  if (kind == "CompileError" && starts_with(what, "error[") && code != what.npos)
    what = what.substr(code + 3);
  else
    what = what.empty() ? kind : format("{}: {}", kind, what);
  const std::string trace = error.what();  // as Python prints it
  for (std::string_view line : split(trace, '\n')) {
    const std::string_view text = trim(line);
    if (!starts_with(text, "File \"")) continue;
    const size_t end = text.find('"', 6), number = text.find("line ");
    if (end == text.npos || number == text.npos) continue;
    const std::string_view path = text.substr(6, end - 6);
    const size_t slash = path.rfind('/');
    const std::string_view digits = text.substr(number + 5);
    place = format("{}, line {}", slash == path.npos ? path : path.substr(slash + 1),
                   digits.substr(0, digits.find_first_not_of("0123456789")));
  }
  return printable(place.empty() ? what : format("{} ({})", what, place));
}

// --- the library "python" --------------------------------------------------------------------------------------------

static nb::object callbacks() { return nb::module_::import_("relay.data.callbacks"); }

static void say(relay_external_error* error, const std::string& text) {
  std::strncpy(error->text, text.c_str(), sizeof(error->text) - 1);
  error->text[sizeof(error->text) - 1] = 0;
}

static DType dtype_of(const relay_external_array& a) {
  static constexpr DType::Code codes[] = {DType::Code::Int,   DType::Code::UInt,   DType::Code::Float,
                                          DType::Code::Float, DType::Code::BFloat, DType::Code::Int,
                                          DType::Code::Bool};
  return {codes[a.type_code], a.type_bits};
}

// A separate tensor, so that a function may keep its argument.
static Array copied(const relay_external_array& a, bool with_contents) {
  Tensor made = Tensor::empty(Shape(a.shape, a.shape + a.rank), dtype_of(a));
  if (with_contents && made.bytes() > 0) std::memcpy(made.mutable_data(), a.data, made.bytes());
  return {std::move(made), !with_contents};
}

template <class Body>
static bool guarded(relay_external_error* error, Body body) {
  nb::gil_scoped_acquire held;
  try {
    body();
    return true;
  } catch (nb::python_error& e) {
    if (!e.matches(PyExc_Exception)) keep_stop(e);
    say(error, one_line(e));
  } catch (const std::exception& e) {
    say(error, e.what());
  }
  return false;
}

static void* load(const relay_external_source* source, relay_external_error* error) {
  GilObject* made = nullptr;
  guarded(error, [&] {
    nb::list constants;
    for (int32_t i = 0; i < source->constant_count; ++i) constants.append(copied(source->constants[i], true));
    made = new GilObject(callbacks().attr("load")(
        source->symbol, nb::bytes(static_cast<const char*>(source->payload), source->payload_bytes), constants));
  });
  return made;
}

static int run(void* function, const relay_external_array* inputs, int32_t input_count,
               const relay_external_array* outputs, int32_t output_count, int32_t, relay_external_error* error) {
  const bool done = guarded(error, [&] {
    std::vector<Array> results;
    nb::list in, out;
    for (int32_t i = 0; i < input_count; ++i) in.append(copied(inputs[i], true));
    for (int32_t i = 0; i < output_count; ++i) {
      results.push_back(copied(outputs[i], false));
      out.append(results.back());
    }
    callbacks().attr("run")(**static_cast<const GilObject*>(function), in, out);
    for (int32_t i = 0; i < output_count; ++i) {
      const Tensor& t = results[static_cast<size_t>(i)].value;
      if (t.bytes() > 0) std::memcpy(outputs[i].data, t.data(), t.bytes());
    }
  });
  return done ? 0 : 1;
}

static void unload(void* function) { delete static_cast<GilObject*>(function); }

static constexpr relay_external_library python_library{RELAY_EXTERNAL_VERSION, "python", load, run, unload};

// --- code generators -------------------------------------------------------------------------------------------------

static void add_generator(const std::string& compiler, nb::callable generate) {
  external::add_generator(compiler, [compiler, kept = GilObject(generate)](const ir::FunctionRef& f) {
    return call_python(DiagnosticKind::not_supported, format("the code generator of '{}' fails", compiler),
                       "let it handle this part, or let its checks refuse such parts (relay.byoc.supports)",
                       [&]() -> Result<lower::ExternalCode> {
                         nb::tuple made = nb::cast<nb::tuple>((*kept)(ir::Expr(f)));
                         lower::ExternalCode code;
                         code.library = nb::cast<std::string>(made[0]), code.symbol = nb::cast<std::string>(made[1]);
                         nb::bytes payload = nb::cast<nb::bytes>(made[2]);
                         code.payload.assign(payload.c_str(), payload.size());
                         for (nb::handle c : nb::cast<nb::list>(made[3]))
                           code.constants.push_back(nb::cast<Array>(c).value);
                         return code;
                       });
  });
}

void add_external(nb::module_& m) {
  relay_external_register(&python_library);
  m.def("add_generator", add_generator, nb::arg("compiler"), nb::arg("generate"),
        "generate(function) gives (library, symbol, payload, constants).");
  m.def(
      "partition_for",
      [](const PyModule& m, const std::string& compiler) {
        return PyModule{value_or_throw(external::partition(m.module, compiler)), m.output_names, m.files};
      },
      nb::arg("module"), nb::arg("compiler"));
  m.def("compilers", [] {
    std::vector<std::pair<std::string, std::string>> out;
    for (const external::Compiler& c : external::compilers()) out.emplace_back(c.name, c.doc);
    return out;
  });
}

}  // namespace relay::python
