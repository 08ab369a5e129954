#include <algorithm>
#include <map>

#include "relay/runtime/program/memories.h"
#include "relay/runtime/program/planner.h"
#include "relay/runtime/program/program.h"

namespace relay::runtime {

namespace {

// Records the first error; the checks below read like a definition of a program.
class Validator {
 public:
  explicit Validator(const Program& program) : program_(program) {}

  Status run() {
    limit(program_.segments.size(), Limits::segments, "segments");
    limit(program_.functions.size(), Limits::functions, "functions");
    limit(program_.types.size(), Limits::types, "data types");
    limit(program_.kernels.size(), Limits::kernels, "kernels");
    limit(program_.externals.size(), Limits::externals, "external functions");
    limit(program_.constants.size(), Limits::constants, "constants");
    check(!program_.functions.empty() || program_.segments.size() == 1,
          format("it has no function and {} segments", program_.segments.size()));
    for (const KernelEntry& kernel : program_.kernels) {
      text(kernel.name, "a kernel's name");
      check(kernel.scratch_bytes >= 0 && kernel.scratch_bytes <= int64_t{1} << 32,
            "a kernel's scratch size is out of range");
    }
    devices();
    preparations();
    externals();
    for (const Segment& s : program_.segments)
      if (!failed_) segment(s);
    for (const DataType& type : program_.types)
      if (!failed_) data_type(type);
    max_fields_ = max_fields();
    for (const Function& f : program_.functions)
      if (!failed_) function(f);
    if (!program_.functions.empty() && !failed_) signature(program_.signature);
    if (!failed_) donations();
    if (failed_) return *failed_;
    return ok();
  }

 private:
  void fail(DiagnosticKind kind, std::string message) {
    if (!failed_)
      failed_ =
          Diagnostic{kind, "the program is not valid: " + where_ + message, {}, {}, {}, "compile the model again"};
  }
  template <class Message>
  void check(bool condition, Message&& message) {
    if (!condition) fail(DiagnosticKind::corrupt_file, std::string(message));
  }
  void check_text(const std::string& problem) { check(problem.empty(), problem); }
  void limit(size_t count, size_t most, const char* what) {
    if (count > most)
      fail(DiagnosticKind::limit_exceeded, format("it has {} {}, more than the limit of {}", count, what, most));
  }
  void text(const std::string& s, const char* what) {
    if (s.empty()) fail(DiagnosticKind::corrupt_file, format("{} is empty", what));
    limit(s.size(), Limits::text, "bytes in a name");
  }
  void size(const SizeExpr& e, size_t variables, const char* what) {
    limit(e.words.size(), Limits::words, "words in a size");
    if (!is_well_formed(e, variables))
      fail(DiagnosticKind::corrupt_file, format("{} is not a well-formed expression", what));
  }
  void range(Range r, size_t most, const char* what) {
    if (r.begin > most || r.count > most - r.begin)
      fail(DiagnosticKind::corrupt_file, format("{} {}+{} of {}", what, r.begin, r.count, most));
  }

  void devices() {
    limit(program_.devices.size(), Limits::devices, "devices");
    for (const DeviceName& device : program_.devices) text(device.kind, "a device's kind");
    if (!failed_) check_text(wrong_devices(program_.devices));
  }

  // Each constant without data is computed exactly once, from constants that exist by then.
  void preparations() {
    limit(program_.preparations.size(), Limits::constants, "preparations");
    std::vector<bool> there;
    double stored = 0, made = 0;  // bytes
    for (const Tensor& c : program_.constants) {
      there.push_back(!is_prepared(c));
      (is_prepared(c) ? made : stored) += static_cast<double>(c.bytes());
    }
    check(Preparation::is_within_ratio(made, stored), "preparations make too much of little");
    for (const Preparation& p : program_.preparations) {
      check(p.kernel < program_.kernels.size(), "a preparation's kernel does not exist");
      check(p.result < p.args.size() && p.args.size() <= Limits::rank && p.sizes.size() <= Limits::variables,
            "a preparation writes nothing");
      for (size_t i = 0; i < p.args.size() && !failed_; ++i) {
        check(p.args[i] < there.size(), "a constant that is prepared does not exist");
        if (!failed_)
          check(there[p.args[i]] != (i == p.result), "a preparation reads what is not there, or makes it twice");
      }
      if (failed_) return;
      there[p.args[p.result]] = true;
      size_t read = 0;
      for (size_t i = 0; i < p.args.size(); ++i) read += i == p.result ? 0 : program_.constants[p.args[i]].bytes();
      check(p.tasks >= 0 && static_cast<uint64_t>(p.tasks) <= 1 + read + program_.constants[p.args[p.result]].bytes(),
            "a preparation's task count is out of range");
      check(Preparation::is_within_ratio(static_cast<double>(program_.constants[p.args[p.result]].bytes()),
                                         static_cast<double>(read)),
            "a preparation makes too much of little");
    }
    for (bool is_there : there) check(is_there, "a constant has no data");
  }

  void externals() {
    for (const ExternalEntry& e : program_.externals) {
      text(e.library, "the library of an external function");
      text(e.symbol, "an external function's name");
      limit(e.payload.size(), Limits::payload, "bytes in a payload");
      // Both end as strings in C.
      check(e.library.find('\0') == std::string::npos && e.symbol.find('\0') == std::string::npos,
            "a name of an external function has a zero in it");
      for (uint32_t c : e.constants)
        check(c < program_.constants.size() && !program_.constants[c].dtype().is_storage(),
              "a constant of an external function does not exist, or is of a storage type");
    }
  }

  void segment(const Segment& f) {
    where_ = format("segment `{}`: ", f.name);
    text(f.name, "a segment's name");
    limit(f.variables.size(), Limits::variables, "shape variables");
    limit(f.arrays.size(), Limits::arrays, "arrays");
    limit(f.inputs.size(), Limits::arrays, "inputs");
    limit(f.outputs.size(), Limits::arrays, "outputs");
    limit(f.sizes.size(), Limits::sizes, "sizes");
    limit(f.operands.size(), Limits::operands, "operands");
    limit(f.steps.size(), Limits::steps, "steps");
    for (size_t i = 0; i < f.arrays.size() && !failed_; ++i) array(f, i);
    for (size_t i = 0; i < f.inputs.size() && !failed_; ++i) {
      check(f.inputs[i] < f.arrays.size(), "an input is not an array");
      if (failed_) return;
      const Array& a = f.arrays[f.inputs[i]];
      check(a.kind == Array::Kind::Input && a.index == i, format("input {} is not an input array", i));
    }
    check(f.output_names.empty() || f.output_names.size() == f.outputs.size(), "the outputs' names do not match");
    std::vector<bool> is_output(f.arrays.size());
    for (uint32_t output : f.outputs) {
      check(output < f.arrays.size(), "an output is not an array");
      if (failed_) return;
      const Array::Kind kind = f.arrays[output].kind;
      check(kind != Array::Kind::Temporary && kind != Array::Kind::View, "an output is a temporary");
      is_output[output] = true;
    }
    for (size_t i = 0; i < f.arrays.size(); ++i)
      check(f.arrays[i].kind != Array::Kind::Output || is_output[i], "an output array is not returned");
    bindings(f);
    checks(f.checks, f.variables.size());
    for (const SizeExpr& e : f.sizes) size(e, f.variables.size(), "a size");
    for (uint32_t operand : f.operands) check(operand < f.arrays.size(), "an operand is not an array");
    for (size_t i = 0; i < f.steps.size() && !failed_; ++i) step(f, f.steps[i]);
    if (!failed_) repeats(f);
    if (!failed_) batching(f);
    if (!failed_) in_place(f);
    if (!failed_) check_text(wrong_memory(program_, f));
  }

  // At most one output uses an input's storage, and it is written after all reads of the input. Steps that mention both
  // must read each element before they write it; that cannot be checked here, as nothing in a program states what its
  // kernels write.
  void in_place(const Segment& f) {
    std::map<uint32_t, uint32_t> taken;  // by input array: the output
    for (uint32_t i = 0; i < f.arrays.size() && !failed_; ++i) {
      const Array& a = f.arrays[i];
      if (!a.in_place) continue;
      check(a.kind == Array::Kind::Output && f.batching == Batching::None, "what is not an output lies in an input");
      check(a.in_place->input < f.inputs.size(), "an output lies in an input that there is not");
      if (failed_) return;
      const Array& input = f.arrays[f.inputs[a.in_place->input]];
      check(input.dtype == a.dtype && input.shape.size() == a.shape.size(),
            "an output lies in an input of another type");
      check(taken.emplace(f.inputs[a.in_place->input], i).second, "two outputs lie in one input");
    }
    for (uint32_t output : f.outputs) check(!taken.count(output), "an input that is returned is given to an output");
    std::vector<bool> written(f.arrays.size());
    for (size_t s = 0; s < f.steps.size() && !taken.empty() && !failed_; ++s) {
      const Range args = f.steps[s].args;
      for (uint32_t i = 0; i < args.count; ++i) {
        const auto output = taken.find(f.operands[args.begin + i]);
        check(output == taken.end() || !written[output->second], "an input is read when an output has its storage");
      }
      for (uint32_t i = 0; i < args.count; ++i) written[f.stored_in(f.operands[args.begin + i])] = true;
    }
  }

  void donations() {
    where_.clear();
    const size_t inputs = program_.is_graph() ? program_.graph().inputs.size() : program_.signature.inputs.size();
    const size_t results = program_.is_graph() ? program_.graph().outputs.size() : program_.signature.outputs.size();
    std::map<uint32_t, int> times, donors;
    for (const Donation& d : program_.donations) {
      check(d.input < inputs && !times[d.input]++, "a donated input does not exist, or is listed twice");
      if (d.result) check(*d.result < results && !donors[*d.result]++, "a result that takes an input does not exist");
    }
  }

  // The runner writes the number of the repetition into the first size of each step.
  void repeats(const Segment& f) {
    limit(f.repeats.size(), Limits::steps, "repeats");
    uint32_t end = 0;
    for (const Repeat& r : f.repeats) {
      check(r.first >= end && r.count > 0 && r.count <= f.steps.size() && r.first <= f.steps.size() - r.count,
            "repeated steps do not exist, or overlap");
      check(r.times < f.sizes.size(), "the number of times of repeated steps is not a size");
      if (failed_) return;
      end = r.first + r.count;
      for (uint32_t s = r.first; s < end; ++s)
        check(f.steps[s].kind == Step::Kind::Kernel && f.steps[s].sizes.count > 0,
              "a repeated step is not a kernel that takes the number of the time");
    }
  }

  // The assumptions of call_queue.h: arrays are rows of constant sizes, and values that code reads never wait.
  void batching(const Segment& f) {
    bool batched = f.batching != Batching::None;
    for (const Array& a : f.arrays) check(batched || a.rows == Rows::None, "an array has rows, but no call waits");
    if (!batched || failed_) return;
    check(!program_.is_graph(), "the calls of a graph wait");
    check(f.variables.size() == 1 && f.bindings.size() == 1 && f.bindings[0].dim == 0 && f.bindings[0].factor == 1 &&
              f.bindings[0].offset == 0 && f.checks.empty(),
          "its calls wait, but its sizes depend on more than their number");
    for (const Array& a : f.arrays) {
      if (a.kind != Array::Kind::Input && a.kind != Array::Kind::Output) continue;
      size_t rank = a.shape.size() - (a.rows == Rows::Added && !a.shape.empty());
      check(a.rows != Rows::None || a.kind == Array::Kind::Output, "its calls wait, but an input has no rows");
      for (size_t d = 0; d < a.shape.size(); ++d)
        check(d == 0 && a.rows != Rows::None ? a.shape[d] == SizeExpr::variable(0) : a.shape[d].as_constant() >= 0,
              "its calls wait, but an array is not made of rows of constant size");
      check(a.rows == Rows::None || !a.shape.empty(), "rows have no dimension");
      check(a.kind != Array::Kind::Output || !is_read_by_code(a.dtype, rank),
            "its calls wait, but code reads a result");
    }
  }

  void array(const Segment& f, size_t i) {
    const Array& a = f.arrays[i];
    check(static_cast<int>(a.kind) <= static_cast<int>(Array::Kind::View), "an array's kind is unknown");
    check(parse_dtype(a.dtype.str()) == a.dtype, "an array's element type is unknown");
    limit(a.name.size(), Limits::text, "bytes in a name");
    limit(a.shape.size(), Limits::rank, "dimensions");
    check(a.memory < program_.devices.size(), "an array's memory is of no device");
    for (const SizeExpr& e : a.shape) size(e, f.variables.size(), "a dimension");
    size(a.bytes, f.variables.size(), "an array's size");
    if (a.kind == Array::Kind::Input)
      check(a.index < f.inputs.size() && f.inputs[a.index] == i, format("array {} is not among the inputs", i));
    if (a.kind == Array::Kind::View) {
      size(a.offset, f.variables.size(), "the offset of a view");
      check(a.index < f.arrays.size() &&
                (f.arrays[a.index].kind == Array::Kind::Temporary || f.arrays[a.index].kind == Array::Kind::Output),
            format("array {} is a view of what is neither temporary nor output", i));
    }
    if (a.kind == Array::Kind::Constant) {
      check(a.index < program_.constants.size(), "a constant does not exist");
      if (failed_) return;
      std::optional<int64_t> bytes = a.bytes.as_constant();
      check(bytes && *bytes >= 0 && static_cast<uint64_t>(*bytes) <= program_.constants[a.index].bytes(),
            "a constant is larger than what is stored");
    }
  }

  // `rank`: the rank of an input, by index.
  template <class Rank>
  std::vector<bool> bound_variables(const std::vector<std::string>& variables,
                                    const std::vector<VariableBinding>& bindings, size_t inputs, Rank rank) {
    std::vector<bool> bound(variables.size());
    for (const VariableBinding& b : bindings) {
      check(b.variable < variables.size() && b.input < inputs, "a shape variable is bound from nothing");
      if (failed_) return bound;
      check(b.dim < rank(b.input), "a shape variable is bound from a missing dimension");
      check(b.factor != 0 && b.factor != -1, "a shape variable's factor is 0 or -1");
      bound[b.variable] = true;
    }
    for (const std::string& name : variables) text(name, "a shape variable's name");
    return bound;
  }
  void bindings(const Segment& f) {
    std::vector<bool> bound = bound_variables(f.variables, f.bindings, f.inputs.size(),
                                              [&](uint32_t i) { return f.arrays[f.inputs[i]].shape.size(); });
    for (size_t v = 0; v < bound.size() && !failed_; ++v)
      check(bound[v], format("shape variable `{}` is not bound", f.variables[v]));
  }
  void checks(const std::vector<Check>& checks, size_t variables) {
    limit(checks.size(), Limits::sizes, "checks");
    for (const Check& c : checks) {
      size(c.condition, variables, "a check");
      limit(c.message.size(), Limits::text, "bytes in a message");
    }
  }

  void step(const Segment& f, const Step& step) {
    range(step.args, f.operands.size(), "operands");
    range(step.sizes, f.sizes.size(), "sizes");
    switch (step.kind) {
      case Step::Kind::KernelWhen: check(step.args.count > 0, "a condition is missing"); [[fallthrough]];
      case Step::Kind::Kernel:
        check(step.kernel < program_.kernels.size(), "a kernel does not exist");
        check(step.tasks < f.sizes.size(), "a task count does not exist");
        return tasks(f, step);
      case Step::Kind::CheckIndices: return index_check(f, step);
      case Step::Kind::External: return external(f, step);
      case Step::Kind::Copy:
        check(step.args.count == 2, "a copy needs two arrays");
        for (uint32_t i = 0; i < step.args.count && !failed_; ++i)
          check(f.stored_in(f.operands[step.args.begin + i]) == f.operands[step.args.begin + i],
                "a copy of a view, whose rows lie apart");
        return;
    }
    check(false, "a step is unknown");
  }

  void external(const Segment& f, const Step& step) {
    check(step.kernel < program_.externals.size(), "an external function does not exist");
    if (failed_) return;
    const ExternalEntry& called = program_.externals[step.kernel];
    check(step.args.count == uint64_t{called.inputs} + called.outputs,
          format("`{}` takes {} inputs and gives {} outputs, and {} arrays are given", called.symbol, called.inputs,
                 called.outputs, step.args.count));
    check(f.batching == Batching::None, "an external function is called for many calls at once");
    for (uint32_t i = 0; i < step.args.count && !failed_; ++i) {
      const uint32_t array = f.operands[step.args.begin + i];
      const Array::Kind kind = f.arrays[array].kind;
      check(f.stored_in(array) == array, "an array of an external function is a part, whose rows lie apart");
      check(!f.arrays[array].dtype.is_storage(), "an array of an external function is of a storage type");
      check(i < called.inputs || kind == Array::Kind::Output || kind == Array::Kind::Temporary,
            "an external function writes an input or a constant");
    }
  }

  // For sizes that are constant; plan() checks the others.
  void tasks(const Segment& f, const Step& step) {
    if (failed_) return;
    const std::optional<int64_t> count = f.sizes[step.tasks].as_constant();
    int64_t most = 1;
    for (uint32_t i = 0; i < step.args.count; ++i) {
      const Array& a = f.arrays[f.operands[step.args.begin + i]];
      const std::optional<int64_t> bytes = a.bytes.as_constant();
      Shape shape;
      for (const SizeExpr& e : a.shape)
        if (const std::optional<int64_t> extent = e.as_constant()) shape.push_back(*extent);
      if (!count || !bytes || shape.size() != a.shape.size()) return;
      most = add_tasks(most, shape, a.dtype, *bytes);
    }
    if (count && *count > most) fail(DiagnosticKind::corrupt_file, too_many_tasks(*count, most));
  }

  void index_check(const Segment& f, const Step& step) {
    check(step.kernel < f.index_checks.size() && step.args.count == 1 && step.sizes.count > 0,
          "a check of indices has no array or no extents");
    if (failed_) return;
    const IndexCheck& c = f.index_checks[step.kernel];
    const uint32_t indices = f.operands[step.args.begin];
    const Array& a = f.arrays[indices];
    check(a.dtype.is_int(), "what is checked as indices is not integers");
    check(f.stored_in(indices) == indices, "a check of a view, whose rows lie apart");
    check(c.axes.size() == step.sizes.count, "a check of indices has other axes than extents");
    check(static_cast<int>(c.rows) < rows_count, "the rows of a check of indices are unknown");
    if (failed_) return;
    const size_t rank = a.shape.size() - (c.rows == Rows::None || a.shape.empty() ? 0 : 1);
    check(c.rows == Rows::None || !a.shape.empty(), "rows have no dimension");
    check(step.sizes.count == 1 || rank > 0, "indices with several extents have no dimension");
    text(c.op, "the operator of a check");
    limit(c.place.size(), Limits::text, "bytes in a place");
  }

  // --- functions ---

  void data_type(const DataType& type) {
    where_ = format("type `{}`: ", type.name);
    text(type.name, "a type's name");
    limit(type.constructors.size(), Limits::constructors, "constructors");
    for (const Constructor& c : type.constructors) {
      text(c.name, "a constructor's name");
      limit(c.arity, Limits::fields, "fields in a constructor");
    }
  }

  void signature(const Signature& s) {
    where_ = "the signature: ";
    limit(s.variables.size(), Limits::variables, "shape variables");
    limit(s.outputs.size(), Limits::arrays, "outputs");
    check(s.inputs.size() == program_.functions[0].parameters,
          format("it has {} inputs, and the first function {} parameters", s.inputs.size(),
                 program_.functions[0].parameters));
    check(!program_.functions[0].takes_self, "the first function is that of a closure");
    limit(s.fields.size(), Limits::arrays, "fields of inputs");
    for (size_t i = 0; i < s.ports() && !failed_; ++i) port(s.port(i), s.variables.size());
    for (const Port& port : s.outputs) this->port(port, s.variables.size());
    fields(s);
    if (failed_) return;
    std::vector<bool> bound = bound_variables(s.variables, s.bindings, s.ports(), [&](uint32_t i) {
      return s.port(i).is_tensor ? s.port(i).shape.size() : 0;
    });
    checks(s.checks, s.variables.size());
    if (failed_) return;
    // Variables that no input determines are only for results.
    auto known = [&](const SizeExpr& e) {
      for (const SizeWord& w : e.words)
        check(w.op != SizeOp::Var || bound[static_cast<size_t>(w.value)], "an input's shape variable is not bound");
    };
    for (size_t i = 0; i < s.ports(); ++i)
      for (const SizeExpr& e : s.port(i).shape) known(e);
    for (const Check& c : s.checks) known(c.condition);
  }
  void fields(const Signature& s) {
    for (size_t k = 0; k < s.fields.size() && !failed_; ++k) {
      const FieldPort& f = s.fields[k];
      check(f.of < s.inputs.size() + k, "a field's tuple stands behind it");
      if (failed_) return;
      const Port& of = s.port(f.of);
      check(!of.is_tensor && of.kind == ObjectKind::Tuple && f.index < of.fields, "a field is in no tuple");
    }
  }
  void port(const Port& port, size_t variables) {
    limit(port.name.size(), Limits::text, "bytes in a name");
    limit(port.type.size(), Limits::text, "bytes in a type");
    limit(port.shape.size(), Limits::rank, "dimensions");
    check(port.is_tensor || port.shape.empty(), "a port that is not a tensor has a shape");
    check(port.kind != ObjectKind::Data || port.data_type < program_.types.size(), "a port's data type does not exist");
    check(parse_dtype(port.dtype.str()) == port.dtype, "a port's element type is unknown");
    for (const SizeExpr& e : port.shape) size(e, variables, "a dimension");
  }

  // The most fields of the tuples and data that functions make. Values from outside may have the maximum number: an
  // input that is not a tensor, an argument of a closure that is returned.
  size_t max_fields() const {
    size_t most = 0;
    bool from_outside = false;
    for (const Port& port : program_.signature.inputs) from_outside |= !port.is_tensor;
    for (const DataType& type : program_.types)
      for (const Constructor& c : type.constructors) most = std::max<size_t>(most, c.arity);
    for (const Function& f : program_.functions)
      for (const Instruction& in : f.code) {
        if (in.op == Op::MakeTuple) most = std::max<size_t>(most, in.args.count);
        from_outside |= in.op == Op::MakeClosure;
      }
    return from_outside ? Limits::fields : most;
  }

  void function(const Function& f) {
    where_ = format("function `{}`: ", f.name);
    text(f.name, "a function's name");
    limit(f.registers, Limits::registers, "registers");
    limit(f.operands.size(), Limits::operands, "operands");
    limit(f.lists.size(), Limits::operands, "list items");
    limit(f.code.size(), Limits::instructions, "instructions");
    check(f.parameters <= f.registers, "it has fewer registers than parameters");
    check(!f.takes_self || f.parameters > 0, "it takes itself and has no parameter");
    for (const std::string& message : f.messages) limit(message.size(), Limits::text, "bytes in a message");
    for (Operand operand : f.operands) check(operand.reg < f.registers, "an operand is not a register");
    check(!f.code.empty() && ends_flow(f.code.back().op), "its code runs off the end");
    for (size_t i = 0; i < f.code.size() && !failed_; ++i) instruction(f, f.code[i]);
    if (!failed_) flow(f);
  }

  void instruction(const Function& f, const Instruction& in) {
    range(in.args, f.operands.size(), "operands");
    range(in.list, f.lists.size(), "list items");
    if (has_result(in.op)) check(in.to < f.registers, "a result is not a register");
    if (failed_) return;
    auto args = [&](size_t count) {
      if (in.args.count != count)
        fail(DiagnosticKind::corrupt_file,
             format("instruction {} has {} operands, but it must have {}", &in - f.code.data(), in.args.count, count));
    };
    auto target = [&](uint32_t to) { check(to < f.code.size(), "a jump leads nowhere"); };
    switch (in.op) {
      case Op::Constant: check(in.index < program_.constants.size(), "a constant does not exist"); return args(0);
      case Op::RunSegment: {
        check(in.index < program_.segments.size(), "a segment does not exist");
        if (failed_) return;
        const Segment& segment = program_.segments[in.index];
        for (uint32_t i = 0; i < in.list.count; ++i)
          check(f.lists[in.list.begin + i] < f.registers, "a result is not a register");
        check(in.list.count == segment.outputs.size(), "a segment has another number of results");
        return args(segment.inputs.size());
      }
      case Op::MakeTuple: return limit(in.args.count, Limits::fields, "fields in a tuple");
      case Op::MakeData:
        check(in.index < program_.types.size(), "a data type does not exist");
        if (failed_) return;
        check(in.tag < program_.types[in.index].constructors.size(), "a constructor does not exist");
        if (failed_) return;
        return args(program_.types[in.index].constructors[in.tag].arity);
      case Op::SwitchTag:
        check(in.index < program_.types.size(), "a data type does not exist");
        if (failed_) return;
        check(in.list.count == program_.types[in.index].constructors.size(), "a switch has another number of targets");
        for (uint32_t i = 0; i < in.list.count; ++i) target(f.lists[in.list.begin + i]);
        return args(1);
      case Op::Jump: target(in.index); return args(0);
      case Op::BranchIfFalse: target(in.index); return args(1);
      case Op::Call:
      case Op::TailCall:
        check(in.index < program_.functions.size(), "a called function does not exist");
        if (failed_) return;
        return args(program_.functions[in.index].parameters);
      case Op::MakeClosure: {
        check(in.index < program_.functions.size(), "a closure's function does not exist");
        if (failed_) return;
        const Function& callee = program_.functions[in.index];
        return check(in.args.count + callee.takes_self <= callee.parameters, "a closure captures too much");
      }
      case Op::CallClosure:
      case Op::TailCallClosure: return check(in.args.count >= 1, "a call has no closure");
      case Op::WriteReference: return args(2);
      case Op::Drop: check(in.args.count == 1 && f.operands[in.args.begin].last, "a drop is not the last use"); return;
      case Op::Fail: check(in.index < f.messages.size(), "a message does not exist"); return args(0);
      case Op::GetField: check(in.index < max_fields_, "no value has such a field"); return args(1);
      case Op::MakeTensor:
        for (uint32_t i = 0; i < in.list.count; ++i)
          check(f.lists[in.list.begin + i] < f.messages.size(), "a message does not exist");
        check(in.list.count % 2 == 0, "a shape is for half an operator");
        return args(in.list.count == 0 ? 1 : in.list.count / 2);
      case Op::Move:
      case Op::MakeReference:
      case Op::ReadReference:
      case Op::Return: return args(1);
    }
    check(false, "an instruction is unknown");
  }

  // Checks that every register that is read has a value on every path. One walk over the code maintains the set of
  // registers that have one; a jump intersects the set at its target. A backward jump may shrink a set that was already
  // used: then the walk is repeated, which terminates because sets only shrink.
  void flow(const Function& f) {
    using Set = std::vector<bool>;
    std::map<uint32_t, Set> at_target;  // of jumps
    for (int walk = 0; walk < flow_walks; ++walk) {
      bool repeat = false;
      Set set(f.registers);
      std::fill(set.begin(), set.begin() + f.parameters, true);
      bool reached = true;
      for (uint32_t at = 0; at < f.code.size(); ++at) {
        const Instruction& in = f.code[at];
        if (std::map<uint32_t, Set>::iterator it = at_target.find(at); it != at_target.end()) {
          if (reached) intersect(it->second, set);
          set = it->second;
          reached = true;
        }
        if (!reached) continue;
        for (uint32_t i = 0; i < in.args.count; ++i) {
          Operand operand = f.operands[in.args.begin + i];
          if (!set[operand.reg])
            return fail(DiagnosticKind::corrupt_file,
                        format("instruction {} reads register {}, which is empty", at, +operand.reg));
          if (operand.last) set[operand.reg] = false;
        }
        if (has_result(in.op)) set[in.to] = true;
        auto jump = [&](uint32_t target) {
          std::pair<std::map<uint32_t, Set>::iterator, bool> entry = at_target.try_emplace(target, set);
          if (entry.second && at_target.size() * f.registers > flow_bits)
            return fail(DiagnosticKind::limit_exceeded, "it has too many registers for so many jumps");
          bool changed = entry.second || intersect(entry.first->second, set);
          repeat |= changed && target <= at;
        };
        if (in.op == Op::Jump || in.op == Op::BranchIfFalse) jump(in.index);
        for (uint32_t i = 0; i < in.list.count; ++i) {
          if (in.op == Op::RunSegment) set[f.lists[in.list.begin + i]] = true;
          if (in.op == Op::SwitchTag) jump(f.lists[in.list.begin + i]);
        }
        if (failed_) return;
        reached = !ends_flow(in.op);
      }
      if (!repeat) return;
    }
    fail(DiagnosticKind::limit_exceeded, "its loops are nested too deep to check its registers");
  }
  // Returns true if `a` lost an element.
  static bool intersect(std::vector<bool>& a, const std::vector<bool>& b) {
    bool lost = false;
    for (size_t i = 0; i < a.size(); ++i) {
      lost |= a[i] && !b[i];
      a[i] = a[i] && b[i];
    }
    return lost;
  }
  static constexpr int flow_walks = 64;
  static constexpr size_t flow_bits = size_t{1} << 33;

  const Program& program_;
  std::string where_;
  size_t max_fields_ = 0;
  std::optional<Diagnostic> failed_;
};

}  // namespace

Status validate(const Program& program) { return Validator(program).run(); }

}  // namespace relay::runtime
