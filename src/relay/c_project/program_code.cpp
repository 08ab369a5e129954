// The functions of a program in C: a label for each instruction that is jumped to, and a return for each call. A call
// pushes a frame and returns to relay_execute(), which continues in the callee; after it, the caller continues at the
// label of the call.
#include <algorithm>
#include <set>

#include "relay/c_project/program_writer.h"
#include "relay/codegen/c/c_helpers.h"

namespace relay::c_project {

using runtime::Array;
using runtime::Function;
using runtime::Instruction;
using runtime::Op;
using runtime::Operand;

static std::string place(Operand o) { return format("r + {}", uint32_t{o.reg}); }
static std::string take(Operand o) {
  return o.last ? format("relay_take(r + {})", uint32_t{o.reg}) : format("relay_keep(r[{}])", uint32_t{o.reg});
}
static std::span<const Operand> operands(const Function& f, const Instruction& in) {
  return {f.operands.data() + in.args.begin, in.args.count};
}
// Empties the registers of last uses.
static std::string drops(const Function& f, const Instruction& in) {
  std::string out;
  for (Operand o : operands(f, in))
    if (o.last) out += format("    relay_drop(m, {});\n", place(o));
  return out;
}

std::string ProgramWriter::segment_function(uint32_t index) const {
  const runtime::Segment& s = program_.segments[index];
  std::vector<std::string> names(s.arrays.size());
  std::string before, tests, made;
  for (uint32_t i = 0; i < s.inputs.size(); ++i) {
    names[s.inputs[i]] = format("in_{}_", i);
    const uint32_t form = forms_.tensor(s.arrays[s.inputs[i]].dtype, memories_[index].plan.shapes[s.inputs[i]]);
    tests += format("{}in[{}]->form != {}", tests.empty() ? "" : " || ", i, form);
  }
  for (uint32_t o = 0; o < s.outputs.size(); ++o) {
    const Array& a = s.arrays[s.outputs[o]];
    const uint32_t form = forms_.tensor(a.dtype, memories_[index].plan.shapes[s.outputs[o]]);
    const auto first = std::find(s.outputs.begin(), s.outputs.end(), s.outputs[o]);
    if (a.kind == Array::Kind::Input) {
      made += format("  out[{}] = relay_keep(in[{}]);\n", o, a.index);
    } else if (a.kind == Array::Kind::Constant) {
      made += format("  out[{}] = (@_object *)&relay_constant_{};\n", o, a.index);
    } else if (first - s.outputs.begin() != static_cast<ptrdiff_t>(o)) {
      made += format("  out[{}] = relay_keep(out[{}]);\n", o, first - s.outputs.begin());
    } else {
      names[s.outputs[o]] = format("out_{}_", o);
      if (a.in_place && a.in_place->input < 32)
        made += format("  out[{0}] = relay_output(m, {1}, in[{2}], (int)(moved >> {2} & 1u));\n", o, form,
                       a.in_place->input);
      else
        made += format("  out[{}] = relay_new(m, {});\n", o, form);
      made += format("  if (out[{}] == NULL) return %_OUT_OF_MEMORY;\n", o);
    }
  }
  const SegmentWriter writer(*this, s, memories_[index], names, {});
  const std::string body = writer.updates(true) + writer.steps();
  std::string pointers;
  for (uint32_t a = 0; a < s.arrays.size(); ++a) {
    if (names[a].empty() || body.find(names[a]) == std::string::npos) continue;
    const bool is_input = s.arrays[a].kind == Array::Kind::Input;
    const std::string number = names[a].substr(is_input ? 3 : 4, names[a].size() - (is_input ? 4 : 5));
    const std::string type = codegen::c_stored_type(s.arrays[a].dtype);
    pointers += is_input ? format("  const {} *const {} = relay_elements(in[{}]);\n", type, names[a], number)
                         : format("  {} *const {} = relay_own(out[{}]);\n", type, names[a], number);
  }
  if (body.find("RELAY_AT(") != std::string::npos)
    pointers += "  unsigned char *const workspace = m->base + %_CONTROL_BYTES;\n";
  std::string out = format(
      "/* {} */\nstatic @_status segment_{}(@_memory *m, @_object *const *in, uint32_t moved, "
      "@_object **out) {{\n  (void)m, (void)in, (void)moved, (void)out;\n",
      s.name, index);
  if (!tests.empty()) out += format("  if ({}) return %_WRONG_VALUE;\n", tests);
  return filled(out + made) + pointers_block(pointers, body);
}

std::string ProgramWriter::pointers_block(const std::string& pointers, const std::string& body) const {
  const std::string inner = body.empty() ? "" : filled("  {\n" + pointers) + body + "  }\n";
  return inner + filled("  return %_OK;\n}\n\n");
}

std::string ProgramWriter::run_segment(const Function& f, const Instruction& in) const {
  const std::span<const Operand> args = operands(f, in);
  uint32_t moved = 0;
  std::vector<std::string> list;
  for (size_t i = 0; i < args.size(); ++i) {
    list.push_back(format("r[{}]", uint32_t{args[i].reg}));
    const auto same = [&](Operand o) { return o.reg == args[i].reg; };
    if (i < 32 && args[i].last && std::count_if(args.begin(), args.end(), same) == 1) moved |= 1u << i;
  }
  std::string out = "  {\n";
  if (!list.empty()) out += format("    @_object *const in[] = {{{}}};\n", join(list, ", "));
  out += format("    @_object *out[{}];\n", std::max<uint32_t>(in.list.count, 1));
  out += format("    const @_status status = segment_{}(m, {}, {:#x}u, out);\n    if (status != %_OK) return status;\n",
                in.index, list.empty() ? "NULL" : "in", moved);
  out += drops(f, in);
  for (uint32_t i = 0; i < in.list.count; ++i)
    out += format("    relay_set(m, r + {}, out[{}]);\n", f.lists[in.list.begin + i], i);
  return out + "  }\n";
}

// The arguments are taken one after the other, since a register may occur twice.
std::string ProgramWriter::call(const Function& f, const Instruction& in, uint32_t at) const {
  const std::span<const Operand> args = operands(f, in);
  const bool is_tail = in.op == Op::TailCall || in.op == Op::TailCallClosure;
  const bool is_closure = in.op == Op::CallClosure || in.op == Op::TailCallClosure;
  std::string out = "  {\n";
  if (!args.empty()) out += format("    @_object *values[{}];\n", args.size());
  if (is_tail) out += "    uint32_t caller;\n";
  for (size_t i = 0; i < args.size(); ++i) out += format("    values[{}] = {};\n", i, take(args[i]));
  out += is_tail ? "    caller = relay_pop(m);\n" : format("    m->frame->at = {};\n", at + 1);
  const std::string caller = is_tail ? "caller" : "relay_offset(m, m->frame)",
                    values = args.empty() ? "NULL" : "values";
  out += is_closure ? format("    return relay_call_closure(m, {}, {}, {});\n", values, args.size(), caller)
                    : format("    return relay_call(m, {}, {}, {});\n", in.index, values, caller);
  out += "  }\n";
  if (!is_tail) out += format("resume_{}:\n  relay_set(m, r + {}, relay_take(&m->result));\n", at, in.to);
  return out;
}

std::string ProgramWriter::make_object(const Function& f, const Instruction& in, uint32_t form) const {
  const std::span<const Operand> args = operands(f, in);
  if (args.empty()) return format("  relay_set(m, r + {}, (@_object *)&relay_plain_{});\n", in.to, form);
  std::string out = format(
      "  {{\n    @_object *const made = relay_new(m, {});\n    if (made == NULL) return %_OUT_OF_MEMORY;\n", form);
  for (size_t i = 0; i < args.size(); ++i) out += format("    relay_fields(made)[{}] = {};\n", i, take(args[i]));
  return out + format("    relay_set(m, r + {}, made);\n  }}\n", in.to);
}

std::string ProgramWriter::instruction(const Function& f, uint32_t at) const {
  const Instruction& in = f.code[at];
  const std::span<const Operand> args = operands(f, in);
  const auto wrong = [](const std::string& test) { return format("    if ({}) return %_WRONG_VALUE;\n", test); };
  switch (in.op) {
    case Op::Constant: return format("  relay_set(m, r + {}, (@_object *)&relay_constant_{});\n", in.to, in.index);
    case Op::Move: return format("  relay_set(m, r + {}, {});\n", in.to, take(args[0]));
    case Op::RunSegment: return run_segment(f, in);
    case Op::MakeTuple: return make_object(f, in, forms_.tuple(in.args.count));
    case Op::MakeData: return make_object(f, in, forms_.constructor(in.index, in.tag));
    case Op::MakeClosure: return make_object(f, in, forms_.closure(in.index, in.args.count));
    case Op::MakeReference: return make_object(f, in, forms_.reference());
    case Op::GetField:
      return format("  {{\n    @_object *const field = relay_field(r[{}], {});\n", uint32_t{args[0].reg}, in.index) +
             wrong("field == NULL") + "    relay_keep(field);\n" + drops(f, in) +
             format("    relay_set(m, r + {}, field);\n  }}\n", in.to);
    case Op::SwitchTag: {
      const uint32_t first = forms_.constructor(in.index, 0);
      std::string out = format("  {{\n    const uint16_t form = r[{}]->form;\n", uint32_t{args[0].reg}) + drops(f, in);
      out += "    switch (form) {\n";
      for (uint32_t tag = 0; tag < in.list.count; ++tag)
        out += format("      case {}: goto at_{}; /* {} */\n", first + tag, f.lists[in.list.begin + tag],
                      program_.types[in.index].constructors[tag].name);
      return out + "      default: return %_WRONG_VALUE;\n    }\n  }\n";
    }
    case Op::Jump: return format("  goto at_{};\n", in.index);
    case Op::BranchIfFalse:
      return "  {\n    int holds;\n" +
             wrong(format("r[{}]->form != {}", uint32_t{args[0].reg}, forms_.tensor(DType::boolean(), {}))) +
             format("    holds = *(const uint8_t *)relay_elements(r[{}]) != 0;\n", uint32_t{args[0].reg}) +
             drops(f, in) + format("    if (!holds) goto at_{};\n  }}\n", in.index);
    case Op::Call:
    case Op::TailCall:
    case Op::CallClosure:
    case Op::TailCallClosure: return call(f, in, at);
    case Op::ReadReference:
      return format("  {{\n    @_object *content;\n") +
             wrong(format("r[{}]->form != {}", uint32_t{args[0].reg}, forms_.reference())) +
             format("    content = relay_keep(relay_fields(r[{}])[0]);\n", uint32_t{args[0].reg}) + drops(f, in) +
             format("    relay_set(m, r + {}, content);\n  }}\n", in.to);
    case Op::WriteReference:
      return "  {\n" + wrong(format("r[{}]->form != {}", uint32_t{args[0].reg}, forms_.reference())) +
             format("    relay_set(m, relay_fields(r[{}]), {});\n", uint32_t{args[0].reg}, take(args[1])) +
             (args[0].last ? format("    relay_drop(m, {});\n", place(args[0])) : "") + "  }\n";
    case Op::Drop: return format("  relay_drop(m, {});\n", place(args[0]));
    case Op::Return: return format("  m->result = {};\n  relay_pop(m);\n  return %_OK;\n", take(args[0]));
    case Op::Fail: {
      const std::string& why = f.messages[in.index];
      return format("  return %_NO_RESULT; /* {} */\n", why.substr(0, why.find("*/")));
    }
    case Op::MakeTensor: break;  // refused before
  }
  return {};
}

std::string ProgramWriter::function(uint32_t index) const {
  const Function& f = program_.functions[index];
  std::set<uint32_t> targets, calls;
  for (uint32_t at = 0; at < f.code.size(); ++at) {
    const Instruction& in = f.code[at];
    if (in.op == Op::Jump || in.op == Op::BranchIfFalse) targets.insert(in.index);
    if (in.op == Op::SwitchTag)
      for (uint32_t i = 0; i < in.list.count; ++i) targets.insert(f.lists[in.list.begin + i]);
    if (in.op == Op::Call || in.op == Op::CallClosure) calls.insert(at);
  }
  std::string out = format(
      "/* {} */\nstatic @_status function_{}(@_memory *m) {{\n"
      "  @_object **const r = (@_object **)(void *)(m->frame + 1);\n  (void)r;\n",
      f.name.substr(0, f.name.find("*/")), index);
  if (!calls.empty()) {
    out += "  switch (m->frame->at) {\n";
    for (uint32_t at : calls)  // 0 is the beginning
      out += format("    case {0}: goto resume_{1};\n", at + 1, at);
    out += "    default: break;\n  }\n";
  }
  for (uint32_t at = 0; at < f.code.size(); ++at) {
    if (targets.count(at)) out += format("at_{}:;\n", at);
    out += instruction(f, at);
  }
  return filled(out + "}\n\n");
}

}  // namespace relay::c_project
