// Modules: reading, printing, changing, passes.
#include "convert.h"
#include "relay/driver/load.h"
#include "relay/driver/pipeline.h"
#include "relay/input/files.h"
#include "relay/ir/main_function.h"
#include "relay/ir/rewrite.h"
#include "relay/op/registry.h"
#include "relay/text/text.h"
#include "relay/transform/pass.h"
#include "relay/transform/saved_types.h"
#include "relay/typing/typing.h"

namespace relay::python {

using Shapes = std::map<std::string, std::vector<int64_t>>;
using Limits = std::map<std::string, int64_t>;
using Dtypes = std::map<std::string, std::string>;

ir::Module separate(const PyModule& m) { return transform::separate_copy(m.module); }

static PyModule parse_module(const std::string& text, const std::string& name, const PyModule* definitions) {
  nb::gil_scoped_release released;
  return {value_or_throw(text::parse(std::make_shared<const Source>(Source{name, text}),
                                     {.find_tensor = {}, .definitions = definitions ? &definitions->module : nullptr})),
          {}};
}

static ir::Expr parse_expr(const std::string& text, const std::string& name, const PyModule* definitions) {
  return value_or_throw(
      text::parse_expr(std::make_shared<const Source>(Source{name, text}),
                       {.find_tensor = {}, .definitions = definitions ? &definitions->module : nullptr}));
}

static std::string module_text(const PyModule& m, bool types, bool version, bool weights,
                               std::function<std::string(ir::Expr)> annotate) {
  NamedTensors left_out;
  text::PrintOptions options{.version = version,
                             .types = types,
                             .weights = weights ? nullptr : &left_out,
                             .weights_file = {},
                             .annotate = std::move(annotate)};
  return text::str(m.module, options);
}

// Python functions that decide for passes, by name; missing ones are None.
static transform::Hooks hooks_of(const nb::dict& given) {
  transform::Hooks hooks;
  auto callable = [&](const char* name) -> std::optional<nb::object> {
    nb::object f = given.attr("get")(name);
    return f.is_none() ? std::nullopt : std::optional(f);
  };
  if (auto f = callable("skip")) hooks.skip = [f = *f](const ir::Expr& e) { return nb::cast<bool>(nb::bool_(f(e))); };
  if (auto f = callable("precision"))
    hooks.precision = [f = *f](const ir::Call& call) -> std::optional<transform::Precision> {
      nb::object answer = f(ir::Expr(&call));
      if (answer.is_none()) return std::nullopt;
      auto [category, accumulation, output] = nb::cast<std::tuple<int, std::string, std::string>>(answer);
      return transform::Precision{static_cast<transform::Precision::Category>(category), to_dtype(accumulation),
                                  to_dtype(output)};
    };
  if (auto f = callable("legalize"))
    hooks.legalize = [f = *f](const ir::Call& call) {
      nb::object answer = f(ir::Expr(&call));
      return answer.is_none() ? ir::Expr() : nb::cast<ir::Expr>(answer);
    };
  if (auto f = callable("alter_layout"))
    hooks.alter_layout = [f = *f](const ir::Call& call) {
      nb::object answer = f(ir::Expr(&call));
      return answer.is_none() ? std::vector<std::string>() : nb::cast<std::vector<std::string>>(answer);
    };
  return hooks;
}

// Reports diagnostics as Python warnings.
static void warn(const Diagnostics& diagnostics) {
  for (const Diagnostic& d : diagnostics)
    if (PyErr_WarnEx(PyExc_UserWarning, printable(format("{}; {}", d.message, d.help)).c_str(), 1) < 0)
      throw nb::python_error();
}

static PyModule transformed(const PyModule& m, const std::vector<std::string>& passes,
                            const std::map<std::string, std::variant<int64_t, std::string>>& options,
                            const nb::dict& hooks) {
  transform::PassContext context;
  for (const auto& [name, value] : options) std::visit([&](const auto& v) { context.options[name] = v; }, value);
  if (hooks.size() > 0) context.hooks = hooks_of(hooks);
  PyModule out{value_or_throw(transform::run_passes(m.module, passes, context)), m.output_names};
  warn(context.warnings.all());
  return out;
}

static std::vector<std::pair<std::string, std::string>> passes() {
  std::vector<std::pair<std::string, std::string>> out;
  for (const transform::PassInfo& pass : transform::all_passes()) out.emplace_back(pass.name, pass.doc);
  return out;
}

// Name, default and documentation of pass options; the default of a text is a string.
static std::vector<std::tuple<std::string, std::variant<int64_t, std::string>, std::string>> pass_options() {
  std::vector<std::tuple<std::string, std::variant<int64_t, std::string>, std::string>> out;
  for (const transform::OptionInfo& option : transform::all_options()) {
    std::variant<int64_t, std::string> otherwise;
    if (option.type == transform::OptionInfo::Text)
      otherwise = std::get<std::string>(option.otherwise);
    else
      otherwise = std::get<int64_t>(option.otherwise);
    out.emplace_back(option.name, otherwise, option.doc);
  }
  return out;
}

// --- changing --------------------------------------------------------------------------------------------------------
static std::string name_of(nb::handle key) {
  if (nb::isinstance<nb::str>(key)) return nb::cast<std::string>(key);
  if (nb::isinstance<ir::GlobalVar>(key)) return nb::cast<Ref<const ir::GlobalVar>>(key)->name;
  if (nb::isinstance<ir::DataTypeName>(key)) return nb::cast<Ref<const ir::DataTypeName>>(key)->name;
  throw nb::type_error("expected a name, a GlobalVar or a GlobalTypeVar");
}

// Types of callers rest on the type of a function: if another one replaces it, they are inferred anew.
static void set_function(PyModule& self, const std::string& name, const ir::FunctionRef& function) {
  auto type_of = [](const ir::Function& f) { return f.type ? f.type : typing::annotated_type(f); };
  ir::FunctionRef& place = self.module.functions[name];
  const ir::FunctionRef before = std::exchange(place, function);
  if (!before || !before->type || before == function) return;
  const ir::Type now = type_of(*function);
  if (!now || !ir::equal(before->type, now)) typing::forget_types(self.module);
}

static void set_item(PyModule& self, nb::handle key, nb::handle value) {
  std::string name = name_of(key);
  if (nb::isinstance<ir::TypeDef>(value)) {
    self.module.types[name] = nb::cast<ir::TypeDef>(value);
    return;
  }
  ir::FunctionRef function;
  if (!nb::try_cast(value, function) || !function) throw nb::type_error("expected a Function or a TypeData");
  std::vector<ir::VarRef> free = ir::free_vars(function);
  if (!free.empty())
    throw CompileError({Diagnostic{DiagnosticKind::unknown_variable,
                                   format("%{} is free in @{}", free[0]->name, name),
                                   free[0]->span,
                                   {},
                                   {},
                                   "make it a parameter of the function, or bind it with let"}});
  set_function(self, name, function);
}

static nb::object get_item(const PyModule& self, nb::handle key) {
  std::string name = name_of(key);
  if (auto it = self.module.functions.find(name);
      it != self.module.functions.end() && !nb::isinstance<ir::DataTypeName>(key))
    return nb::cast(it->second);
  if (auto it = self.module.types.find(name); it != self.module.types.end()) return nb::cast(it->second);
  std::vector<std::string> names;
  for (const auto& [known, function] : self.module.functions) names.push_back(known);
  for (const auto& [known, def] : self.module.types) names.push_back(known);
  throw nb::key_error(
      printable(readable(format("the module defines no '{}'; it defines: {}", name, join(names, ", ")))).c_str());
}

static Ref<const ir::GlobalVar> global_var(const PyModule& self, const std::string& name) {
  auto it = self.module.functions.find(name);
  if (it == self.module.functions.end())
    throw nb::value_error(printable(format("the module does not define the function @{}", shortened(name))).c_str());
  Ref<const ir::GlobalVar> var = make<ir::GlobalVar>(name);
  var->type = it->second->type;
  return var;
}

static const ir::TypeDef& type_definition(const PyModule& self, const std::string& name) {
  auto it = self.module.types.find(name);
  if (it == self.module.types.end())
    throw nb::value_error(printable(format("the module has no type {}", shortened(name))).c_str());
  return it->second;
}

static void add_contents(nb::class_<PyModule>& module) {
  module
      .def("__setitem__", set_item, nb::arg("key"), nb::arg("value"))
      // A data type is found too, by its name; for type checkers the result is a function, which it nearly always is.
      .def("__getitem__", get_item, nb::arg("key"), nb::sig("def __getitem__(self, key: object) -> Function"))
      .def("__contains__",
           [](const PyModule& self, nb::handle key) {
             return self.module.functions.count(name_of(key)) + self.module.types.count(name_of(key)) > 0;
           })
      .def("__delitem__",
           [](PyModule& self, nb::handle key) {
             if (self.module.functions.erase(name_of(key)) + self.module.types.erase(name_of(key)) == 0)
               get_item(self, key);
           })
      .def_prop_ro(
          "functions",
          [](const PyModule& self) {
            nb::dict out;
            for (const auto& [name, function] : self.module.functions) out[nb::cast(global_var(self, name))] = function;
            return out;
          },
          "Its functions by GlobalVar.")
      .def_prop_ro(
          "type_definitions",
          [](const PyModule& self) {
            nb::dict out;
            for (const auto& [name, def] : self.module.types) out[nb::cast(make<ir::DataTypeName>(name))] = def;
            return out;
          },
          "Its type definitions by GlobalTypeVar.")
      .def("get_global_var", global_var, nb::arg("name"))
      .def("get_global_vars",
           [](const PyModule& self) {
             std::vector<Ref<const ir::GlobalVar>> out;
             for (const auto& [name, function] : self.module.functions) out.push_back(global_var(self, name));
             return out;
           })
      .def(
          "get_global_type_var",
          [](const PyModule& self, const std::string& name) {
            return make<ir::DataTypeName>(type_definition(self, name).name);
          },
          nb::arg("name"))
      .def("get_global_type_vars",
           [](const PyModule& self) {
             std::vector<Ref<const ir::DataTypeName>> out;
             for (const auto& [name, def] : self.module.types) out.push_back(make<ir::DataTypeName>(name));
             return out;
           })
      .def(
          "get_type",
          [](const PyModule& self, const std::string& name) {
            nb::list out;
            const ir::TypeDef& def = type_definition(self, name);
            out.append(make<ir::DataTypeName>(def.name));
            for (const Ref<const ir::Constructor>& c : def.constructors) out.append(c);
            return nb::tuple(out);
          },
          nb::arg("name"), "The type's name and its constructors: List, cons, nil = mod.get_type(\"List\").")
      .def(
          "update",
          [](PyModule& self, const PyModule& other) {
            for (const auto& [name, function] : other.module.functions) set_function(self, name, function);
            for (const auto& [name, def] : other.module.types) self.module.types[name] = def;
          },
          nb::arg("other"), "Copies the definitions of another module. They replace definitions of the same name.")
      .def(
          "update_func",
          [](PyModule& self, nb::handle var, const ir::FunctionRef& f) { set_item(self, var, nb::cast(f)); },
          nb::arg("var"), nb::arg("func"), "mod[var] = func")
      .def("clone", [](const PyModule& self) { return self; })
      .def(
          "import_from_std",
          [](PyModule& self, const std::string& name) {
            self.module = value_or_throw(text::import_prelude(self.module, name));
          },
          nb::arg("name"), "Imports a part of the prelude: \"list\", \"tree\", \"prelude\" for all of them, ...")
      .def_prop_ro("attrs", [](const PyModule& self) { return from_dict_attrs(self.module.attrs); })
      .def(
          "with_attr",
          [](const PyModule& self, const std::string& name, nb::handle value) {
            PyModule out = self;
            out.module.attrs[name] = to_attr(value, name);
            return out;
          },
          nb::arg("name"), nb::arg("value"))
      .def(
          "get_attr",
          [](const PyModule& self, const std::string& name) {
            auto it = self.module.attrs.find(name);
            return it == self.module.attrs.end() ? nb::none() : from_attr(it->second);
          },
          nb::arg("name"));
}

static driver::Options load_options(const Shapes& shapes, const Dtypes& dtypes, std::optional<int64_t> opset,
                                    bool freeze_params, const Limits& import_limits) {
  driver::ImportOptions options{
      .shapes = shapes, .import_limits = import_limits, .opset = opset, .freeze_params = freeze_params};
  for (const auto& [name, text] : dtypes) {
    std::optional<DType> dtype = parse_dtype(text);
    if (!dtype)
      throw CompileError(
          Diagnostics{Diagnostic{DiagnosticKind::bad_option,
                                 format("'{}', given for input '{}', is not an element type", text, name),
                                 {},
                                 {},
                                 {},
                                 "give an element type such as float32 or int64"}});
    options.dtypes[name] = *dtype;
  }
  return {.import = std::move(options)};
}

void add_modules(nb::module_& m) {
  nb::class_<PyModule> module(m, "IRModule",
                              "Functions and type definitions by name.\n\nmod = relay.IRModule({\"main\": "
                              "relay.Function([x], x + x)}); mod[\"main\"]");
  module
      .def(
          "__init__",
          [](PyModule* self, nb::handle functions, nb::handle types, nb::handle attrs) {
            PyModule made;
            if (!functions.is_none())
              for (auto [key, value] : nb::cast<nb::dict>(functions)) set_item(made, key, value);
            if (!types.is_none())
              for (auto [key, value] : nb::cast<nb::dict>(types)) set_item(made, key, value);
            made.module.attrs = to_dict_attrs(attrs);
            new (self) PyModule(std::move(made));
          },
          nb::arg("functions") = nb::none(), nb::arg("type_definitions") = nb::none(), nb::arg("attrs") = nb::none())
      .def_static(
          "from_expr",
          [](const ir::Expr& expr, nb::handle functions, nb::handle types) {
            PyModule made;
            if (!functions.is_none())
              for (auto [key, value] : nb::cast<nb::dict>(functions)) set_item(made, key, value);
            if (!types.is_none())
              for (auto [key, value] : nb::cast<nb::dict>(types)) set_item(made, key, value);
            bool is_function = ir::as<ir::Function>(expr) != nullptr;
            made.module.functions[ir::main_function] =
                is_function ? ir::FunctionRef(ir::as<ir::Function>(expr)) : ir::function(ir::free_vars(expr), expr);
            return made;
          },
          nb::arg("expr"), nb::arg("functions") = nb::none(), nb::arg("type_defs") = nb::none(),
          "A module whose @main is the function, or the expression as a function of its free variables.")
      .def(
          "astext",
          [](const PyModule& self, bool show_meta_data, std::function<std::string(ir::Expr)> annotate, bool types,
             bool version, bool weights) {
            return module_text(self, types, version, weights && show_meta_data, std::move(annotate));
          },
          nb::arg("show_meta_data") = true, nb::arg("annotate").none() = nb::none(), nb::kw_only(),
          nb::arg("types") = false, nb::arg("version") = true, nb::arg("weights") = true,
          "The program as text, which parse() reads. types: with the type of every expression; weights=False (or "
          "show_meta_data=False): without the values of large constants; annotate: a function that returns the comment "
          "to write after an expression.")
      .def("__str__",
           [](const PyModule& self) {
             std::string out = module_text(self, false, true, false, {});
             while (out.ends_with('\n')) out.pop_back();
             return out;
           })
      .def("__repr__",
           [](const PyModule& self) {
             std::vector<std::string> names;
             for (const auto& [name, function] : self.module.functions) names.push_back("@" + name);
             return format("<relay.IRModule {}>", join(names, " "));
           })
      .def(
          "__eq__",
          [](const PyModule& a, nb::handle b) {
            return nb::isinstance<PyModule>(b) && ir::equal(a.module, nb::cast<const PyModule&>(b).module);
          },
          "Equal up to the names of bound variables.")
      .def("__hash__", [](const PyModule& a) { return ir::hash(a.module); })
      .def("__reduce__",
           [](const PyModule& self) {
             nb::object read = nb::module_::import_("relay").attr("parse");
             return nb::make_tuple(read, nb::make_tuple(module_text(self, false, true, true, {})));
           })
      .def(
          "save",
          [](const PyModule& self, const std::filesystem::path& path, bool inline_weights) {
            nb::gil_scoped_release released;
            value_or_throw(text::save(self.module, path.string(), inline_weights));
          },
          nb::arg("path"), nb::kw_only(), nb::arg("inline_weights") = false,
          "Writes a .relay file, and large weights to a .safetensors file next to it.")
      .def(
          "bind_shapes",
          [](const PyModule& self, const Shapes& shapes) {
            return PyModule{value_or_throw(driver::bind_shapes(self.module, shapes)), self.output_names, self.files};
          },
          nb::arg("shapes"), "The module with these shapes for the parameters of @main; -1 keeps a dimension.");
  add_contents(module);
  m.def("parse", parse_module, nb::arg("text"), nb::arg("name") = "<text>", nb::arg("definitions") = nb::none());
  m.def("parse_expr", parse_expr, nb::arg("text"), nb::arg("name") = "<text>", nb::arg("definitions") = nb::none());
  m.def("is_pipe", input::is_pipe, nb::arg("path"));
  m.def(
      "read_pipe",
      [](const std::string& path) {
        std::string bytes = [&] {
          nb::gil_scoped_release released;
          return value_or_throw(input::read_file(path));
        }();
        return nb::bytes(bytes.data(), bytes.size());
      },
      nb::arg("path"));
  m.def(
      "form_of",
      [](const std::string& path) { return std::string(driver::name(value_or_throw(driver::form_of(path)))); },
      nb::arg("path"));
  m.def(
      "load",
      [](const std::string& path, const Shapes& shapes, const Dtypes& dtypes, std::optional<int64_t> opset,
         bool freeze_params, const Limits& import_limits) {
        nb::gil_scoped_release released;
        const driver::Options options = load_options(shapes, dtypes, opset, freeze_params, import_limits);
        driver::Model model = value_or_throw(driver::load_model(path, options));
        return PyModule{std::move(model.module), std::move(model.output_names), std::move(model.files)};
      },
      nb::arg("path"), nb::arg("shapes") = Shapes(), nb::arg("dtypes") = Dtypes(), nb::arg("opset") = nb::none(),
      nb::arg("freeze_params") = true, nb::arg("import_limits") = Limits());
  m.def(
      "form_of_bytes",
      [](const std::string& name, nb::bytes bytes) {
        return std::string(driver::name(value_or_throw(driver::form_of(name, {bytes.c_str(), bytes.size()}))));
      },
      nb::arg("name"), nb::arg("bytes"));
  m.def(
      "load_bytes",
      [](const std::string& name, nb::bytes bytes, const Shapes& shapes, const Dtypes& dtypes,
         std::optional<int64_t> opset, bool freeze_params, const Limits& import_limits) {
        std::string_view content(bytes.c_str(), bytes.size());
        nb::gil_scoped_release released;
        const driver::Options options = load_options(shapes, dtypes, opset, freeze_params, import_limits);
        driver::Model model = value_or_throw(driver::load_model(name, content, options));
        return PyModule{std::move(model.module), std::move(model.output_names)};
      },
      nb::arg("name"), nb::arg("bytes"), nb::arg("shapes") = Shapes(), nb::arg("dtypes") = Dtypes(),
      nb::arg("opset") = nb::none(), nb::arg("freeze_params") = true, nb::arg("import_limits") = Limits());
  m.def("transform", transformed, nb::arg("module"), nb::arg("passes"),
        nb::arg("options") = std::map<std::string, int64_t>(), nb::arg("hooks") = nb::dict());
  m.def("passes", passes);
  m.def("pass_options", pass_options);
  m.def(
      "pipeline",
      [](int level, const std::string& mode) {
        driver::Pipeline all = driver::pipeline(level, value_or_throw(driver::find_mode(mode)));
        std::map<std::string, int64_t> options;
        for (const auto& [name, value] : all.options) options[name] = std::get<int64_t>(value);
        return std::pair(all.passes, options);
      },
      nb::arg("level"), nb::arg("mode") = "inference",
      "The passes of an optimisation level, 0 to 3, and their options.");
}

}  // namespace relay::python
