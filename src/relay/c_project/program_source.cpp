// NAME.c of a program with functions.
#include <algorithm>
#include <set>

#include "relay/c_project/program_writer.h"
#include "relay/codegen/c/c_helpers.h"

namespace relay::c_project {

using runtime::ObjectKind;
using runtime::Op;

std::string ProgramWriter::filled(std::string text) const {
  for (const auto& [mark, value] : {std::pair{"@_", options_.name + "_"}, {"%_", prefix_ + "_"}}) {
    std::string out;
    size_t from = 0;
    for (size_t at; (at = text.find(mark, from)) != std::string::npos; from = at + 2)
      out += text.substr(from, at - from) + value;
    text = out + text.substr(from);
  }
  return text;
}

std::string ProgramWriter::type_of(uint32_t form) const { return codegen::c_stored_type(forms_.all()[form].dtype); }

int64_t ProgramWriter::control_bytes() const {
  return (96 + 4 * static_cast<int64_t>(forms_.block_sizes().size()) + 63) / 64 * 64;
}

int64_t ProgramWriter::segments_bytes() const {
  int64_t most = 0;
  for (const Memory& m : memories_) most = std::max(most, m.workspace_bytes);
  return most;
}

bool ProgramWriter::has_values() const {
  for (const std::vector<Argument>* list : {&inputs_, &outputs_})
    for (const Argument& a : *list)
      if (!a.is_tensor()) return true;
  return false;
}

uint32_t ProgramWriter::form_of(const Recorded& value) const {
  if (value.tensor) return forms_.tensor(value.tensor->dtype(), value.tensor->shape());
  if (value.type) return forms_.constructor(*value.type, value.tag);
  return forms_.tuple(static_cast<uint32_t>(value.fields.size()));
}

static void visit(const Recorded& value, const std::function<void(const Recorded&)>& f) {
  f(value);
  for (const Recorded& field : value.fields) visit(field, f);
}

// Gives every form a number before text mentions one.
void ProgramWriter::number_forms() {
  forms_.tuple(0);
  forms_.tensor(DType::boolean(), {});
  for (size_t s = 0; s < program_.segments.size(); ++s) {
    const runtime::Segment& f = program_.segments[s];
    for (const std::vector<uint32_t>* list : {&f.inputs, &f.outputs})
      for (uint32_t array : *list) forms_.tensor(f.arrays[array].dtype, memories_[s].plan.shapes[array]);
  }
  for (const runtime::Function& f : program_.functions)
    for (const runtime::Instruction& in : f.code) {
      if (in.op == Op::Constant) {
        const Tensor& t = program_.constants[in.index];
        forms_.tensor(t.dtype(), t.shape());
      }
      if (in.op == Op::MakeTuple) forms_.tuple(in.args.count);
      if (in.op == Op::MakeClosure) forms_.closure(in.index, in.args.count);
      if (in.op == Op::MakeReference || in.op == Op::ReadReference || in.op == Op::WriteReference) forms_.reference();
    }
  for (const std::vector<Recorded>* list : {&recording_.arguments, &recording_.results})
    for (const Recorded& value : *list) visit(value, [&](const Recorded& v) { form_of(v); });
}

Status ProgramWriter::check_limits() const {
  constexpr size_t most = 60000;
  size_t largest = std::max(forms_.all().size(), program_.functions.size());
  for (const runtime::Function& f : program_.functions)
    largest = std::max({largest, f.code.size(), size_t{f.registers}});
  if (largest < most) return ok();
  return Diagnostic{
      DiagnosticKind::limit_exceeded,
      format("the program has {} instructions, registers, functions or kinds of values, but the limit of a "
             "C project is {}",
             largest, most),
      {},
      {},
      {},
      "divide the program, or compile it to an artifact"};
}

// Shapes of a signature whose sizes are constant.
static Shape constant_shape(const runtime::Port& port) {
  Shape out;
  for (const runtime::SizeExpr& e : port.shape) out.push_back(e.as_constant().value_or(0));
  return out;
}

void ProgramWriter::name_interface() {
  number_forms();
  Identifiers names;
  for (const char* taken : {"memory", "workspace", "workspace_bytes", "status", "arguments", "results", "r"})
    names.reserve(taken);
  auto named = [&](const runtime::Port& port) {
    const std::string& name = port.name;
    const bool ours = starts_with(name, "relay") || starts_with(name, "kernel") || starts_with(name, options_.name) ||
                      starts_with(name, "segment_") || starts_with(name, "function_");
    Argument a{names.add(ours ? "the_" + name : name), &port, 0};
    if (port.is_tensor) a.form = forms_.tensor(port.dtype, constant_shape(port));
    return a;
  };
  for (const runtime::Port& port : program_.signature.inputs) inputs_.push_back(named(port));
  for (const runtime::Port& port : program_.signature.outputs) outputs_.push_back(named(port));
  name_makers();
}

// Functions that make values for the caller: of all data types, of the recorded tuples and tensors, and of tensors that
// a segment takes.
void ProgramWriter::name_makers() {
  if (!has_values()) return;
  Identifiers names;
  for (const char* taken : {"run", "begin", "peak", "keep", "release", "tag", "field", "fields", "elements", "memory",
                            "value", "object", "status"})
    names.reserve(format("{}_{}", options_.name, taken));
  std::set<uint32_t> tensors;
  for (const runtime::Segment& f : program_.segments)
    for (uint32_t array : f.inputs)
      tensors.insert(forms_.tensor(f.arrays[array].dtype,
                                   memories_[static_cast<size_t>(&f - program_.segments.data())].plan.shapes[array]));
  for (const Recorded& argument : recording_.arguments)
    visit(argument, [&](const Recorded& v) { tensors.insert(form_of(v)); });
  const std::vector<Form>& all = forms_.all();
  for (uint32_t i = 0; i < all.size(); ++i) {
    const Form& form = all[i];
    std::string name;
    if (form.kind == ObjectKind::Data)
      name = format("{}_{}", program_.types[form.type].name, program_.types[form.type].constructors[form.tag].name);
    else if (form.kind == ObjectKind::Tensor && tensors.count(i))
      name = form.shape.empty() ? form.dtype.str() : format("{}_{}", form.dtype.str(), join(form.shape, "x"));
    else if (form.kind == ObjectKind::Tuple && tensors.count(i))
      name = format("tuple_{}", form.fields);
    if (!name.empty()) makers_[i] = names.add(format("{}_{}", options_.name, name));
  }
}

std::string ProgramWriter::tables() const {
  static constexpr const char* kinds[] = {"RELAY_TENSOR", "RELAY_TUPLE", "RELAY_DATA", "RELAY_CLOSURE",
                                          "RELAY_REFERENCE"};
  std::string out = "static const size_t relay_block_bytes[] = {\n";
  for (const std::string& size : forms_.block_sizes()) out += format("  {},\n", size);
  out += "};\n\nstatic const relay_form relay_forms[] = {\n";
  for (uint32_t i = 0; i < forms_.all().size(); ++i) {
    const Form& f = forms_.all()[i];
    std::string what;
    if (f.kind == ObjectKind::Tensor) what = type_text(f.dtype, f.shape);
    if (f.kind == ObjectKind::Data)
      what = format("{}, {}", program_.types[f.type].name, program_.types[f.type].constructors[f.tag].name);
    out += format("  {{{}, {}, {}, {}}}, /* {}: {} */\n", kinds[static_cast<int>(f.kind)], f.block, f.fields,
                  f.function, i, what.substr(0, what.find("*/")));
  }
  out += "};\n\nstatic const relay_function relay_functions[] = {\n";
  for (const runtime::Function& f : program_.functions)
    out += format("  {{{}, {}, {}}},\n", f.registers, f.parameters, f.takes_self ? 1 : 0);
  return out + "};\n\n";
}

// Constants as values, and values without fields. Nothing counts or frees them.
std::string ProgramWriter::constants() const {
  std::set<uint32_t> used;
  for (const runtime::Segment& f : program_.segments)
    for (uint32_t array : f.outputs)
      if (f.arrays[array].kind == runtime::Array::Kind::Constant) used.insert(f.arrays[array].index);
  for (const runtime::Function& f : program_.functions)
    for (const runtime::Instruction& in : f.code)
      if (in.op == Op::Constant) used.insert(in.index);
  // Without pointers, so that no constant needs relocation.
  std::string out, elements;
  uint32_t number = 0;
  for (uint32_t c : used) {
    const Tensor& t = program_.constants[c];
    out += format("static const @_object relay_constant_{} = {{0, {}, {}}};\n", c, forms_.tensor(t.dtype(), t.shape()),
                  number);
    elements += format("    case {}: return {};\n", number++, weights_.at(c).name);
  }
  out += "\nstatic const void *relay_constant(uint16_t number) {\n  switch (number) {\n" + elements +
         "    default: return NULL;\n  }\n}\n";
  return filled(out);
}

static std::string plain_values(const std::string& code, size_t forms) {
  std::string out;
  for (size_t i = 0; i < forms; ++i)
    if (code.find(format("&relay_plain_{})", i)) != std::string::npos ||
        code.find(format("&relay_plain_{};", i)) != std::string::npos)
      out += format("static const @_object relay_plain_{0} = {{0, {0}, 0}};\n", i);
  return out.empty() ? "" : out + "\n";
}

std::string ProgramWriter::makers() const {
  if (!has_values()) return "";
  std::string out = R"(@_value @_keep(@_value value) { return value == NULL ? NULL : relay_keep(value); }

void @_release(@_memory *memory, @_value value) {
  if (value != NULL) relay_release(memory, value);
}

uint32_t @_tag(@_value value) { return relay_tags[value->form]; }

uint32_t @_fields(@_value value) { return relay_forms[value->form].fields; }

@_value @_field(@_value value, uint32_t index) {
  return index > UINT16_MAX ? NULL : relay_field(value, (uint16_t)index);
}

const void *@_elements(@_value value) {
  return relay_forms[value->form].kind == RELAY_TENSOR ? relay_elements(value) : NULL;
}

)";
  std::string tags;
  for (const Form& f : forms_.all()) tags += format("{}{}", tags.empty() ? "" : ", ", f.tag);
  out = format("static const uint16_t relay_tags[] = {{{}}};\n\n", tags) + out;
  for (const auto& [form, name] : makers_) {
    const Form& f = forms_.all()[form];
    if (f.kind == ObjectKind::Tensor) {
      const std::string bytes = format("{}", *element_count(f.shape) * f.dtype.bytes());
      out += format(
          "@_value {0}(@_memory *memory, const {1} elements[{2}]) {{\n"
          "  return relay_copied(memory, {3}, elements, {4});\n}}\n\n"
          "@_value {0}_at(@_memory *memory, const {1} elements[{2}]) {{\n"
          "  return relay_referred(memory, {3}, elements, {5});\n}}\n\n",
          name, type_of(form), extent(form), form, bytes, f.dtype.bytes());
      continue;
    }
    std::vector<std::string> params{"@_memory *memory"}, list;
    for (uint32_t i = 0; i < f.fields; ++i)
      params.push_back(format("@_value field_{}", i)), list.push_back(format("field_{}", i));
    out += format("@_value {}({}) {{\n", name, join(params, ", "));
    out += list.empty()
               ? format("  (void)memory;\n  return (@_object *)&relay_plain_{};\n}}\n\n", form)
               : format("  @_object *const fields[] = {{{}}};\n  return relay_made(memory, {}, fields, {});\n}}\n\n",
                        join(list, ", "), form, list.size());
  }
  return out;
}

std::string ProgramWriter::checks_of_arguments() const {
  std::string rows, tests;
  auto row = [&](const std::string& at, const std::string& bytes, const std::string& alignment, bool written) {
    rows += format("      {{{}, {}, {}, {}}},\n", at, bytes, alignment, written ? 1 : 0);
  };
  for (const std::vector<Argument>* list : {&inputs_, &outputs_})
    for (const Argument& a : *list) {
      const bool written = list == &outputs_;
      if (a.is_tensor())
        row(a.name, format("{}", *element_count(forms_.all()[a.form].shape) * a.port->dtype.bytes()),
            format("{}", a.port->dtype.bytes()), written);
      else if (written)
        row(a.name, format("sizeof *{}", a.name), "sizeof(void *)", true);
      else
        tests += format("  if ({} == NULL) return %_NULL_ARGUMENT;\n", a.name);
    }
  if (has_values())
    tests = "  if (memory == NULL) return %_NULL_ARGUMENT;\n" + tests, row("memory", "memory->end", "8", true);
  else
    row("workspace", "workspace_bytes", "8", true);
  return tests + format(
                     "  const relay_argument arguments[] = {{\n{}  }};\n"
                     "  @_status status = relay_check(arguments, sizeof arguments / sizeof arguments[0]);\n"
                     "  if (status != %_OK) return status;\n",
                     rows);
}

std::string ProgramWriter::run_function() const {
  std::string execute =
      "static @_status relay_execute(@_memory *m) {\n  while (m->frame != NULL) {\n"
      "    @_status status = %_OK;\n    switch (m->frame->function) {\n";
  for (size_t f = 0; f < program_.functions.size(); ++f)
    execute += format("      case {0}: status = function_{0}(m); break;\n", f);
  execute +=
      "      default: break;\n    }\n    if (status != %_OK) {\n      while (m->frame != NULL) relay_pop(m);\n"
      "      return status;\n    }\n  }\n  return %_OK;\n}\n\n";
  std::string out = execute;
  out += has_values() ? "" : "static ";
  out += R"(@_memory *@_begin(void *workspace, size_t workspace_bytes) {
  @_memory *const m = workspace;
  if (workspace == NULL || (uintptr_t)workspace % %_ALIGNMENT != 0 || workspace_bytes < %_FIXED_BYTES) return NULL;
  memset(m, 0, sizeof *m);
  m->base = workspace;
  m->low = %_FIXED_BYTES;
  m->end = m->high = workspace_bytes / 8 > UINT32_MAX ? (size_t)UINT32_MAX * 8 : workspace_bytes / 8 * 8;
  m->most = m->low;
  return m;
}

size_t @_peak(const void *workspace) { return ((const @_memory *)workspace)->most; }

)";
  out += signature() + " {\n";
  if (!has_values()) out += "  @_memory *memory;\n";
  out += "  @_object **r;\n" + format("  @_object *results[{}];\n", std::max<size_t>(outputs_.size(), 1));
  out += checks_of_arguments();
  if (!has_values())
    out += "  memory = @_begin(workspace, workspace_bytes);\n  if (memory == NULL) return %_WORKSPACE_TOO_SMALL;\n";
  out += "  r = relay_push(memory, 0, 0);\n  if (r == NULL) return %_OUT_OF_MEMORY;\n";
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const Argument& a = inputs_[i];
    out += a.is_tensor()
               ? format("  r[{}] = relay_view(memory, {}, {});\n  if (r[{}] == NULL) status = %_OUT_OF_MEMORY;\n", i,
                        a.form, a.name, i)
               : format("  r[{}] = relay_keep({});\n", i, a.name);
  }
  if (inputs_.empty()) out += "  (void)r;\n";
  out += "  if (status != %_OK) {\n    relay_pop(memory);\n    return status;\n  }\n";
  out += "  status = relay_execute(memory);\n  if (status != %_OK) return status;\n";
  out +=
      format("  if (relay_flatten(memory->result, results, 0, {0}) != {0}) status = %_WRONG_VALUE;\n", outputs_.size());
  for (size_t o = 0; o < outputs_.size(); ++o)
    if (outputs_[o].is_tensor())
      out += format("  if (status == %_OK && results[{}]->form != {}) status = %_WRONG_VALUE;\n", o, outputs_[o].form);
  out += "  if (status == %_OK) {\n";
  for (size_t o = 0; o < outputs_.size(); ++o) {
    const Argument& a = outputs_[o];
    if (!a.is_tensor())
      out += format("    *{} = relay_keep(results[{}]);\n", a.name, o);
    else if (const int64_t bytes = *element_count(forms_.all()[a.form].shape) * a.port->dtype.bytes(); bytes > 0)
      out += format("    memcpy({}, relay_elements(results[{}]), {});\n", a.name, o, bytes);
  }
  return out + "  }\n  relay_release(memory, relay_take(&memory->result));\n  return status;\n}\n";
}

std::string ProgramWriter::model_source() const {
  std::string segments, map;
  for (uint32_t s = 0; s < program_.segments.size(); ++s) {
    segments += segment_function(s);
    const std::string lines = SegmentWriter(*this, program_.segments[s], memories_[s], {}, {}).memory_map();
    if (!lines.empty()) map += format("   {}:\n{}", program_.segments[s].name, lines);
  }
  std::string code = segments;
  for (uint32_t f = 0; f < program_.functions.size(); ++f) code += function(f);
  code += filled(makers() + run_function());
  std::string out = title() + format("#include \"{}.h\"\n\n#include <math.h>\n#include <string.h>\n", options_.name);
  if (!weights_.empty()) out += format("\n#include \"{}_weights.h\"\n", options_.name);
  out += "\n" + functions_.helpers;
  for (const codegen::CFunction& f : functions_.functions) out += f.text + "\n";
  out += format("#define {}_CONTROL_BYTES {}\n#define {}_BLOCKS {}\n\n", prefix_, control_bytes(), prefix_,
                forms_.block_sizes().size());
  if (!has_values()) out += filled("typedef struct @_memory @_memory;\n");
  out += filled(runtime_types) + tables() + constants() + "\n" + filled(plain_values(code, forms_.all().size()));
  out += filled(runtime_functions(code)) + helpers(code);
  if (!map.empty()) out += "/* Memory of segments: offset and size of each array, in bytes.\n" + map + "*/\n";
  return out + code;
}

}  // namespace relay::c_project
