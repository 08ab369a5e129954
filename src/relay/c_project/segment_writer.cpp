#include "relay/c_project/segment_writer.h"

#include <algorithm>

#include "relay/codegen/c/c_helpers.h"
#include "relay/tensor/index_check.h"

namespace relay::c_project {

using runtime::Array;
using runtime::SizeExpr;
using runtime::Step;

bool SegmentWriter::has_constant_shape(uint32_t array) const {
  const std::vector<SizeExpr>& shape = f_.arrays[array].shape;
  return std::all_of(shape.begin(), shape.end(), [](const SizeExpr& e) { return e.as_constant().has_value(); });
}

static SizeExpr product(std::span<const SizeExpr> dims, int64_t factor) {
  SizeExpr out = SizeExpr::constant(factor);
  for (const SizeExpr& e : dims) out = runtime::apply(runtime::SizeOp::Mul, out, e);
  return out;
}

std::string SegmentWriter::elements_of(uint32_t array) const { return size(product(f_.arrays[array].shape, 1)); }

std::string SegmentWriter::bytes(uint32_t array) const {
  const Array& a = f_.arrays[array];
  // Inputs and outputs are dense, whatever the program says (planner.h).
  const bool outside = a.kind == Array::Kind::Input || a.kind == Array::Kind::Output;
  const SizeExpr e = outside ? product(a.shape, a.dtype.bytes()) : a.bytes;
  return e.as_constant() ? size(e) : format("(size_t){}", size(e));
}

std::string SegmentWriter::pointer(uint32_t array, bool written) const {
  return pointer(array, codegen::c_stored_type(f_.arrays[array].dtype), written);
}

std::string SegmentWriter::pointer(uint32_t array, const std::string& type, bool written) const {
  const Location& at = memory_.arrays[array];
  const Array& a = f_.arrays[array];
  const std::string constant = written ? "" : "const ";
  std::string offset = format("{}", at.offset);
  if (a.kind == Array::Kind::View && !a.offset.as_constant())
    offset = at.offset ? format("{} + {}", at.offset, size(a.offset)) : size(a.offset);
  auto inside = [&](uint32_t outer) {
    const std::string& whole = names_[outer];
    if (offset == "0" && codegen::c_stored_type(f_.arrays[outer].dtype) == type) return whole;
    return format("({0}{1} *)({0}void *)(({0}unsigned char *){2} + {3})", constant, type, whole, offset);
  };
  switch (at.place) {
    case Place::Input:
    case Place::State: return inside(f_.inputs[at.index]);
    case Place::Output: return inside(f_.outputs[at.index]);
    case Place::Constant: {
      const Weight& weight = project_.weight(at.index);
      if (project_.has_weights_argument()) return format("RELAY_WEIGHT({}, {})", type, weight.offset);
      if (codegen::c_stored_type(a.dtype) == type) return weight.name;
      return format("({0}{1} *)({0}void *){2}", constant, type, weight.name);
    }
    case Place::Workspace: return project_.in_memory(at.index, constant + type, offset);
  }
  return {};
}

std::string SegmentWriter::copy(const std::string& to, const std::string& from, uint32_t array) const {
  const std::string count = bytes(array);
  return count == "0" ? "" : format("  memcpy({}, {}, {});\n", to, from, count);
}

std::string SegmentWriter::index_check(const Step& step) const {
  const runtime::IndexCheck& check = f_.index_checks[step.kernel];
  const uint32_t array = f_.operands[step.args.begin];
  const std::vector<SizeExpr>& shape = f_.arrays[array].shape;
  const DType t = f_.arrays[array].dtype;
  const bool from_end = check.axes[0] != no_axis && t.code == DType::Code::Int;
  const SizeExpr count = product(shape, 1);
  if (count.as_constant() == 0) return "";
  const std::string type = codegen::c_stored_type(t), indices = pointer(array, type, false);
  const std::string name = check.op.substr(0, check.op.find('\n'));
  std::string out = format("  /* indices of {} */\n", name.substr(0, name.find("*/")));
  const std::string failed = project_.macro("INDEX_OUT_OF_RANGE");
  auto test = [&](const std::string& from, const std::string& elements, const std::string& extent) {
    return format("  if (!relay_fit_{}({}, (size_t)({}), {}, {})) return {};\n", type, from, elements,
                  from_end ? "-" + extent : "0", extent, failed);
  };
  if (check.axes.size() == 1) return out + test(indices, size(count), size(f_.sizes[step.sizes.begin]));
  const size_t first = check.rows == Rows::Added ? 2 : 1;
  const SizeExpr inner = product(std::span(shape).subspan(std::min(first, shape.size())), 1);
  if (inner.as_constant() == 0) return "";
  std::vector<std::string> extents;
  for (uint32_t s = 0; s < step.sizes.count; ++s) extents.push_back(size(f_.sizes[step.sizes.begin + s]));
  if (count.as_constant() && inner.as_constant()) {
    const int64_t each = *inner.as_constant(), all = *count.as_constant();
    for (int64_t at = 0; at < all; at += each)
      out += test(at ? format("{} + {}", indices, at) : indices, format("{}", std::min(each, all - at)),
                  extents[static_cast<size_t>(at / each) % extents.size()]);
    return out;
  }
  out += format("  for (int64_t slice = 0, each = {}, all = {}; each > 0 && slice * each < all; ++slice) {{\n",
                size(inner), size(count));
  out += format("    const int64_t extents[] = {{{}}}, extent = extents[slice % {}];\n", join(extents, ", "),
                extents.size());
  return out + "  " + test(indices + " + slice * each", "each", "extent") + "  }\n";
}

// `repetition`: replaces the first size; empty if the step is not repeated.
std::string SegmentWriter::step(const Step& step, const std::string& repetition) const {
  const uint32_t* args = f_.operands.data() + step.args.begin;
  if (step.kind == Step::Kind::CheckIndices) return index_check(step);
  if (step.kind == Step::Kind::Copy) return copy(pointer(args[1], true), pointer(args[0], false), args[0]);
  const loop::Kernel& kernel = project_.kernel(step);
  const codegen::CFunction& function = project_.function(step);
  std::vector<std::string> passed;
  const std::span<const uint32_t> arrays = kernel_arguments(f_, step);
  for (size_t i = 0; i < arrays.size(); ++i)
    passed.push_back(pointer(arrays[i], codegen::c_stored_type(kernel.params[i]->dtype), !kernel.params[i]->read_only));
  for (uint32_t s = 0; s < step.sizes.count; ++s) {
    const SizeExpr& e = f_.sizes[step.sizes.begin + s];
    const bool is_repetition = s == 0 && !repetition.empty();
    passed.push_back(is_repetition ? repetition : e.as_constant() ? format("INT64_C({})", *e.as_constant()) : size(e));
  }
  if (function.scratch_bytes > 0) {
    const Location& at = memory_.scratch[static_cast<size_t>(&step - f_.steps.data())];
    passed.push_back(project_.in_memory(at.index, "void", format("{}", at.offset)));
  }
  if (project_.has_machine_code()) passed.push_back(size(f_.sizes[step.tasks]));
  const std::string call = format("{}({});\n", function.name, join(passed, ", "));
  if (step.kind == Step::Kind::Kernel) return "  " + call;
  const uint32_t when = args[step.args.count - 1];
  return format("  if (relay_any({}, {}))\n    {}", pointer(when, "uint8_t", false), bytes(when), call);
}

std::string SegmentWriter::steps() const {
  std::string out;
  uint32_t next = 0;
  auto until = [&](uint32_t end) {
    for (; next < end; ++next) out += step(f_.steps[next], "");
  };
  for (const runtime::Repeat& r : f_.repeats) {
    until(r.first);
    out += format("  for (int64_t repetition = 0; repetition < {}; ++repetition) {{\n", size(f_.sizes[r.times]));
    for (; next < r.first + r.count; ++next) out += step(f_.steps[next], "repetition");
    out += "  }\n";
  }
  until(static_cast<uint32_t>(f_.steps.size()));
  return out;
}

std::string SegmentWriter::updates(bool in_place) const {
  std::string out;
  for (uint32_t i = 0; i < f_.arrays.size(); ++i) {
    const Array& a = f_.arrays[i];
    if (!a.in_place || !a.in_place->updates || memory_.arrays[i].place == Place::State) continue;
    const std::string to = pointer(i, true);
    const std::string from = pointer(f_.inputs[a.in_place->input], codegen::c_stored_type(a.dtype), false);
    const std::string copied = copy(to, from, i);
    out += in_place && !copied.empty() ? format("  if ({} != {})\n  {}", to, from, copied) : copied;
  }
  return out;
}

std::string SegmentWriter::memory_map() const {
  std::string out;
  for (uint32_t i = 0; i < f_.arrays.size(); ++i) {
    const Array& a = f_.arrays[i];
    const Location& at = memory_.arrays[i];
    std::vector<std::string> dims;
    for (const SizeExpr& e : a.shape) dims.push_back(runtime::str(e, f_.variables));
    if (at.place == Place::Workspace && a.kind != Array::Kind::View && at.bytes > 0)
      out += format("   {:>9} {:>9}  {}[{}]{}\n", at.offset, at.bytes, a.dtype.str(), join(dims, ", "),
                    project_.of_memory(at.index));
  }
  for (size_t s = 0; s < f_.steps.size(); ++s) {
    if (!f_.steps[s].calls_kernel()) continue;
    const codegen::CFunction& f = project_.function(f_.steps[s]);
    if (f.scratch_bytes > 0)
      out += format("   {:>9} {:>9}  scratch of {}{}\n", memory_.scratch[s].offset, f.scratch_bytes, f.name,
                    project_.of_memory(memory_.scratch[s].index));
  }
  return out;
}

}  // namespace relay::c_project
