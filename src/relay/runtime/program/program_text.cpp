#include "relay/runtime/program/program.h"

namespace relay::runtime {

static std::string array_name(const Segment& f, uint32_t index) {
  const Array& a = f.arrays[index];
  return a.kind == Array::Kind::Temporary || a.kind == Array::Kind::View || a.name.empty() ? format("%{}", index)
                                                                                           : a.name;
}

static std::string list(const Segment& f, std::span<const uint32_t> arrays) {
  std::vector<std::string> names;
  for (uint32_t a : arrays) names.push_back(array_name(f, a));
  return format("{}", join(names, ", "));
}

static std::string typed(const Segment& f, uint32_t index) {
  std::vector<std::string> dims;
  for (const SizeExpr& e : f.arrays[index].shape) dims.push_back(str(e, f.variables));
  return format("{}: {}[{}]", array_name(f, index), f.arrays[index].dtype.str(), join(dims, ", "));
}

const char* name(Batching batching) {
  static constexpr const char* names[] = {"none", "joins", "begins"};
  return names[static_cast<int>(batching)];
}

static std::string transfer(const Program& program, const Segment& f, const Step& step) {
  auto memory = [&](uint32_t arg) { return str(program.devices[f.arrays[f.operands[step.args.begin + arg]].memory]); };
  return format("{} to {}", memory(0), memory(1));
}

std::string name_of(const Program& program, const Segment& f, const Step& step) {
  switch (step.kind) {
    case Step::Kind::Kernel:
    case Step::Kind::KernelWhen: return program.kernels[step.kernel].name;
    case Step::Kind::Copy: return f.is_transfer(step) ? "copy " + transfer(program, f, step) : "copy";
    case Step::Kind::CheckIndices: return "check_indices";
    case Step::Kind::External: return program.externals[step.kernel].symbol;
  }
  return {};
}

static std::string place(const Program& program, const Array& a) {
  return a.memory == host_memory ? "" : format(" on {}", str(program.devices[a.memory]));
}

static std::string remark(const Segment& f, const Array& a) {
  if (a.kind == Array::Kind::View)
    return format(" of {} from {} on", array_name(f, a.index), str(a.offset, f.variables));
  if (!a.in_place) return "";
  const std::string input = array_name(f, f.inputs[a.in_place->input]);
  return a.in_place->updates ? format(", updates {} in place", input) : format(", in place of {}", input);
}

static std::string str(const Program& program, const Segment& f) {
  std::vector<std::string> inputs;
  for (uint32_t i : f.inputs) inputs.push_back(typed(f, i) + place(program, f.arrays[i]));
  static constexpr const char* batched[] = {"", ", whose calls join those that wait", ", whose calls wait"};
  std::string out = format("segment {}({}){} {{\n", f.name, join(inputs, ", "), batched[static_cast<int>(f.batching)]);
  static constexpr const char* kinds[] = {"input", "output", "constant", "temporary", "view"};
  for (uint32_t i = 0; i < f.arrays.size(); ++i)
    if (f.arrays[i].kind != Array::Kind::Input)
      out += format("  {} {}, {} bytes{}{}\n", kinds[static_cast<int>(f.arrays[i].kind)], typed(f, i),
                    str(f.arrays[i].bytes, f.variables), place(program, f.arrays[i]), remark(f, f.arrays[i]));
  for (const Check& c : f.checks) out += format("  check {}  # {}\n", str(c.condition, f.variables), c.message);
  size_t repeat = 0;
  for (const Step& step : f.steps) {
    const uint32_t at = static_cast<uint32_t>(&step - f.steps.data());
    if (repeat < f.repeats.size() && f.repeats[repeat].first == at) {
      const Repeat& r = f.repeats[repeat++];
      out += format("  repeat the next {} {}, {} times, each with its number as the first size:\n", r.count,
                    r.count == 1 ? "step" : "steps", str(f.sizes[r.times], f.variables));
    }
    std::span<const uint32_t> args(f.operands.data() + step.args.begin, step.args.count);
    switch (step.kind) {
      case Step::Kind::Kernel:
      case Step::Kind::KernelWhen: {
        bool conditional = step.kind == Step::Kind::KernelWhen;
        if (conditional) out += format("  when any of {}:\n  ", array_name(f, args.back()));
        std::vector<std::string> sizes;
        for (uint32_t s = 0; s < step.sizes.count; ++s)
          sizes.push_back(str(f.sizes[step.sizes.begin + s], f.variables));
        out += format("  kernel {}({})", program.kernels[step.kernel].name,
                      list(f, conditional ? args.first(args.size() - 1) : args));
        if (!sizes.empty()) out += format(" shape ({})", join(sizes, ", "));
        out += format(" tasks {}", str(f.sizes[step.tasks], f.variables));
        if (f.device_of(step) != host_memory) out += format(" on {}", str(program.devices[f.device_of(step)]));
        out += "\n";
        break;
      }
      case Step::Kind::CheckIndices: {
        const IndexCheck& check = f.index_checks[step.kernel];
        std::vector<std::string> extents;
        for (uint32_t s = 0; s < step.sizes.count; ++s)
          extents.push_back(str(f.sizes[step.sizes.begin + s], f.variables));
        out += format("  check indices {} of {} in ({})\n", array_name(f, args[0]), check.op, join(extents, ", "));
        break;
      }
      case Step::Kind::External: {
        const ExternalEntry& called = program.externals[step.kernel];
        out += format("  external {} of {} ({}) to ({})\n", called.symbol, called.library,
                      list(f, args.first(called.inputs)), list(f, args.subspan(called.inputs)));
        break;
      }
      case Step::Kind::Copy:
        out += format("  copy {} to {}{}\n", array_name(f, args[0]), array_name(f, args[1]),
                      f.is_transfer(step) ? ", " + transfer(program, f, step) : "");
        break;
    }
  }
  return out + format("  return ({})\n}}\n", list(f, f.outputs));
}

static std::string str(Operand operand) { return format("%{}{}", +operand.reg, operand.last ? "!" : ""); }

static std::string str(const Program& program, const Function& f, const Instruction& in) {
  std::vector<std::string> args, list;
  for (uint32_t i = 0; i < in.args.count; ++i) args.push_back(str(f.operands[in.args.begin + i]));
  for (uint32_t i = 0; i < in.list.count; ++i) {
    uint32_t item = f.lists[in.list.begin + i];
    if (in.op == Op::RunSegment) list.push_back(format("%{}", item));
    if (in.op == Op::MakeTensor) list.push_back(f.messages[item]);
    if (in.op == Op::SwitchTag) list.push_back(format("{}: {}", program.types[in.index].constructors[i].name, item));
  }
  std::string all = format("({})", join(args, ", "));
  std::string rest =
      format("({})", join(args.begin() + (args.empty() ? 0 : 1), args.end(), ", "));  // for a closure's call
  switch (in.op) {
    case Op::Constant: return format("constant {}", in.index);
    case Op::Move: return args[0];
    case Op::RunSegment:
      return format("{}{}segment {}{}", join(list, ", "), list.empty() ? "" : " = ", program.segments[in.index].name,
                    all);
    case Op::MakeTuple: return "tuple" + all;
    case Op::MakeData: return format("{}{}", program.types[in.index].constructors[in.tag].name, all);
    case Op::GetField: return format("field {} of {}", in.index, args[0]);
    case Op::SwitchTag: return format("switch {} {} [{}]", program.types[in.index].name, args[0], join(list, ", "));
    case Op::Jump: return format("jump {}", in.index);
    case Op::BranchIfFalse: return format("if not {} jump {}", args[0], in.index);
    case Op::Call: return format("call {}{}", program.functions[in.index].name, all);
    case Op::TailCall: return format("tail call {}{}", program.functions[in.index].name, all);
    case Op::MakeClosure: return format("closure {}{}", program.functions[in.index].name, all);
    case Op::CallClosure: return format("call {}{}", args[0], rest);
    case Op::TailCallClosure: return format("tail call {}{}", args[0], rest);
    case Op::MakeTensor:
      return format("tensor of shape {}{}", args[0], list.empty() ? "" : format(" for {}{}", list[0], rest));
    case Op::MakeReference: return format("reference {}", args[0]);
    case Op::ReadReference: return format("read {}", args[0]);
    case Op::WriteReference: return format("write {} to {}", args[1], args[0]);
    case Op::Drop: return format("drop {}", args[0]);
    case Op::Return: return format("return {}", args[0]);
    case Op::Fail: return format("fail \"{}\"", f.messages[in.index]);
  }
  return {};
}

static std::string str(const Program& program, const Function& f) {
  std::string out = format("fn {}({}, {}{}) {{\n", f.name, plural(f.parameters, "parameter", "parameters"),
                           plural(f.registers, "register", "registers"), f.takes_self ? ", takes itself" : "");
  for (size_t i = 0; i < f.code.size(); ++i) {
    const Instruction& in = f.code[i];
    out += format("  {:>4}: {}{}\n", i, has_result(in.op) ? format("%{} = ", in.to) : "", str(program, f, in));
  }
  return out + "}\n";
}

static std::string str(const DataType& type) {
  std::vector<std::string> constructors;
  for (const Constructor& c : type.constructors) constructors.push_back(format("{}/{}", c.name, c.arity));
  return format("type {} {{ {} }}\n", type.name, join(constructors, ", "));
}

static std::string str(const Signature& s) {
  std::vector<std::string> in, out;
  for (const Port& p : s.inputs) in.push_back(format("{}: {}", p.name, p.type));
  for (const Port& p : s.outputs) out.push_back(format("{}: {}", p.name, p.type));
  return format("takes ({}) gives ({})\n", join(in, ", "), join(out, ", "));
}

std::string str(const Program& program) {
  std::string out;
  if (!program.functions.empty()) out += str(program.signature);
  if (program.keeps_subnormals) out += "keeps subnormal numbers\n";
  for (const DataType& type : program.types) out += str(type);
  for (const Function& f : program.functions) out += str(program, f);
  for (const Preparation& p : program.preparations) {
    std::vector<std::string> args;
    for (size_t i = 0; i < p.args.size(); ++i)
      args.push_back(format("{}constant {}", i == p.result ? "to " : "", p.args[i]));
    out += format("prepare {}({}) tasks {}\n", program.kernels[p.kernel].name, join(args, ", "), p.tasks);
  }
  for (const Segment& s : program.segments) out += str(program, s);
  return out;
}

}  // namespace relay::runtime
