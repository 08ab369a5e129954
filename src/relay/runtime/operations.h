// Operations of instructions on values, shared by the VM, which includes this header, and machine code, which calls
// them through native.h. An operation that fails calls run.fail() and returns null (or the value documented below),
// without taking ownership of anything. The objects of a valid program fit statically; these checks cover programs that
// were compiled from other sources than stated, or that get values of other types.
#pragma once

#include "relay/runtime/context.h"

namespace relay::runtime {

// Help texts that the VM and machine code share.
constexpr const char* no_value_here =
    "give inputs for which the program has a result, or handle this case in the program";
constexpr const char* recurse_less =
    "use less recursion, or make the recursive call the last operation of the function";

inline Object* not_well_typed(RunContext& run, const char* what) {
  run.fail(DiagnosticKind::corrupt_file, format("the program is not well typed: {}", what),
           "compile the model again, and give values of the declared types");
  return nullptr;
}

inline Object* load_constant(RunContext& run, uint32_t index) { return retain(run.linked().constants[index].get()); }

// Takes ownership of the fields.
inline Object* make_fields(RunContext& run, ObjectKind kind, uint32_t id, uint16_t tag,
                           std::span<Object* const> fields) {
  Object* made = make_object(kind, id, tag, fields);
  if (made == nullptr) run.fail_no_memory();
  return made;
}
inline Object* make_tuple(RunContext& run, std::span<Object* const> fields) {
  return make_fields(run, ObjectKind::Tuple, 0, 0, fields);
}
inline Object* make_data(RunContext& run, uint32_t type, uint16_t tag, std::span<Object* const> fields) {
  return make_fields(run, ObjectKind::Data, run.linked().types[type], tag, fields);
}
inline Object* make_closure(RunContext& run, uint32_t function, std::span<Object* const> captures) {
  return make_fields(run, ObjectKind::Closure, run.linked().first_function + function, 0, captures);
}

// Takes ownership of the object if `last` is set.
inline Object* get_field(RunContext& run, Object* o, uint32_t index, bool last) {
  if ((o->kind != ObjectKind::Tuple && o->kind != ObjectKind::Data) || index >= o->size)
    return not_well_typed(run, "a field is read that does not exist");
  if (!last) return retain(fields(o)[index]);
  if (is_unique(o)) {  // the object is freed, so its field can be moved
    Object* field = std::exchange(fields(o)[index], nullptr);
    destroy(o);
    return field;
  }
  Object* field = retain(fields(o)[index]);
  release(o);
  return field;
}

// The constructor tag of a value of the program's type; -1 after fail().
inline int64_t tag_of(RunContext& run, const Object* o, uint32_t type) {
  if (o->kind == ObjectKind::Data && o->id == run.linked().types[type]) return o->tag;
  not_well_typed(run, "a value of another type is matched");
  return -1;
}

// 0 or 1; -1 after fail().
inline int is_true(RunContext& run, const Object* o) {
  if (o->kind == ObjectKind::Tensor && o->id == dtype_id(DType::boolean()) && o->size == 0)
    return *static_cast<const uint8_t*>(as_tensor(o)->data) != 0;
  not_well_typed(run, "a condition is not a bool");
  return -1;
}

// The index of a closure's function, which takes `args` arguments; -1 after fail().
inline int64_t closure_function(RunContext& run, const Object* closure, size_t args) {
  const std::vector<Function>& functions = run.linked().program->functions;
  uint32_t index = closure->id - run.linked().first_function;
  if (closure->kind != ObjectKind::Closure || index >= functions.size()) {
    run.fail(DiagnosticKind::wrong_input,
             closure->kind == ObjectKind::Closure ? "a function of another program is called"
                                                  : "a value that is not a function is called",
             "call a function with the program that returned it");
    return -1;
  }
  const Function& f = functions[index];
  if (closure->size + f.takes_self + args == f.parameters) return index;
  run.fail(
      DiagnosticKind::wrong_input,
      format("`{}` is called with {}, but it takes {}", f.name,
             plural(static_cast<int64_t>(args), "argument", "arguments"), f.parameters - f.takes_self - closure->size),
      "give one argument for each parameter");
  return -1;
}

// Writes the values that precede the arguments of a closure's function to `to`, and returns their number. Takes
// ownership of the closure.
inline uint32_t open_closure(Object* closure, bool takes_self, Object** to) {
  uint32_t captured = closure->size;
  for (uint32_t i = 0; i < captured; ++i) to[i] = retain(fields(closure)[i]);
  if (takes_self)
    to[captured] = closure;
  else
    release(closure);
  return captured + takes_self;
}

// The result of MakeTensor, an instruction of `f`, for these arguments: a bool tensor of zeros.
Object* make_tensor_of_shape(RunContext& run, const Function& f, const Instruction& in, Object* const* args);

// Takes ownership of the content.
inline Object* make_reference(RunContext& run, Object* content) {
  Object* made = run.references().make(content);
  if (made == nullptr) run.fail_no_memory();
  return made;
}
inline ReferenceObject* as_reference(RunContext& run, Object* o) {
  if (o->kind == ObjectKind::Reference) return static_cast<ReferenceObject*>(o);
  not_well_typed(run, "a value that is not a reference is used as one");
  return nullptr;
}

}  // namespace relay::runtime
