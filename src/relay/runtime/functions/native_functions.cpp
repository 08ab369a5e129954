#include "relay/runtime/functions/native_functions.h"

#include <cstdarg>

#include "relay/runtime/functions/native.h"
#include "relay/runtime/operations.h"

namespace relay::runtime {

static constexpr size_t functions_noted = 8;

static RunContext& from(relay_run* run) { return static_cast<NativeRun*>(run)->context; }
static Object* from(relay_object* o) { return reinterpret_cast<Object*>(o); }
static const Object* from(const relay_object* o) { return reinterpret_cast<const Object*>(o); }
static Object* const* from(relay_object* const* o) { return reinterpret_cast<Object* const*>(o); }
static std::span<Object* const> from(relay_object* const* o, uint32_t count) { return {from(o), count}; }
static relay_object* to_c(Object* o) { return reinterpret_cast<relay_object*>(o); }

// The result of `operation`; `failed` if it throws, and then the exception is kept until the machine code has returned.
template <class T, class Operation>
static T guarded(relay_run* run, T failed, Operation operation) noexcept {
  try {
    return operation(from(run));
  } catch (...) {
    NativeRun& native = *static_cast<NativeRun*>(run);
    if (!native.exception) native.exception = std::current_exception();
    return failed;
  }
}
static constexpr relay_object* no_object = nullptr;

static relay_object* unwind(relay_run* run, uint32_t function, uint32_t count, ...) {
  va_list objects;
  va_start(objects, count);
  for (uint32_t i = 0; i < count; ++i)
    if (relay_object* o = va_arg(objects, relay_object*)) release(from(o));
  va_end(objects);
  NativeRun& native = *static_cast<NativeRun*>(run);
  if (function != UINT32_MAX && native.left_count++ < functions_noted) native.left.push_back(function);
  return nullptr;
}

const relay_operations native_operations = {
    .destroy = [](relay_object* object) { destroy(from(object)); },
    .segment = [](relay_run* run, uint32_t site, relay_object* const* args, relay_object** results) -> int {
      return guarded(run, 0, [&](RunContext& context) -> int {
        return context.run_segment(site, from(args), reinterpret_cast<Object**>(results));
      });
    },
    .tuple =
        [](relay_run* run, relay_object* const* fields, uint32_t count) {
          return guarded(run, no_object, [&](RunContext& c) { return to_c(make_tuple(c, from(fields, count))); });
        },
    .data =
        [](relay_run* run, uint32_t type, uint16_t tag, relay_object* const* fields, uint32_t count) {
          return guarded(run, no_object,
                         [&](RunContext& c) { return to_c(make_data(c, type, tag, from(fields, count))); });
        },
    .closure =
        [](relay_run* run, uint32_t function, relay_object* const* captures, uint32_t count) {
          return guarded(run, no_object,
                         [&](RunContext& c) { return to_c(make_closure(c, function, from(captures, count))); });
        },
    .tensor_of_shape =
        [](relay_run* run, uint32_t function, uint32_t instruction, relay_object* const* args) {
          return guarded(run, no_object, [&](RunContext& c) {
            const Function& f = c.linked().program->functions[function];
            return to_c(make_tensor_of_shape(c, f, f.code[instruction], from(args)));
          });
        },
    .field =
        [](relay_run* run, relay_object* object, uint32_t index, int last) {
          return guarded(run, no_object,
                         [&](RunContext& c) { return to_c(get_field(c, from(object), index, last != 0)); });
        },
    .tag =
        [](relay_run* run, const relay_object* object, uint32_t type) {
          return guarded(run, int64_t{-1}, [&](RunContext& c) { return tag_of(c, from(object), type); });
        },
    .is_true =
        [](relay_run* run, const relay_object* object) {
          return guarded(run, -1, [&](RunContext& c) { return is_true(c, from(object)); });
        },
    .closure_function =
        [](relay_run* run, const relay_object* closure, size_t args) {
          return guarded(run, int64_t{-1}, [&](RunContext& c) { return closure_function(c, from(closure), args); });
        },
    .reference =
        [](relay_run* run, relay_object* content) {
          return guarded(run, no_object, [&](RunContext& c) { return to_c(make_reference(c, from(content))); });
        },
    .read =
        [](relay_run* run, relay_object* reference) {
          return guarded(run, no_object, [&](RunContext& c) {
            ReferenceObject* r = as_reference(c, from(reference));
            return r ? to_c(read_reference(r)) : nullptr;
          });
        },
    .write = [](relay_run* run, relay_object* reference, relay_object* content) -> int {
      return guarded(run, 0, [&](RunContext& c) -> int {
        ReferenceObject* r = as_reference(c, from(reference));
        if (r) write_reference(r, from(content));
        return r != nullptr;
      });
    },
    .fail =
        [](relay_run* run, uint32_t function, uint32_t message) {
          guarded(run, false, [&](RunContext& c) {
            return c.fail(DiagnosticKind::wrong_input, c.linked().program->functions[function].messages[message],
                          no_value_here);
          });
        },
    .more_stack = [](relay_run* run, uint32_t function) -> int {
      NativeRun& native = *static_cast<NativeRun*>(run);
      if (!native.deep) {
        native.deep = true;
        native.stack_end = native.stack.end();
        return 1;
      }
      return guarded(run, 0, [&](RunContext& c) -> int {
        return c.fail(DiagnosticKind::limit_exceeded,
                      format("`{}`: calls are nested too deep for their stack of {} MiB",
                             c.linked().program->functions[function].name, native.stack.bytes() >> 20),
                      recurse_less);
      });
    },
    .unwind = unwind,
};

NativeRun::NativeRun(RunContext& c) : relay_run{}, context(c) {
  static_assert(sizeof(Value) == sizeof(Object*) && std::is_standard_layout_v<Value>);
  const LinkedProgram& linked = context.linked();
  operations = &native_operations;
  constants = reinterpret_cast<relay_object* const*>(linked.constants.data());
  types = linked.types.data();
  first_function = linked.first_function;
  size_t most = 0;
  for (const Function& f : linked.program->functions) most = std::max<size_t>(most, f.parameters);
  room.resize(most + 1);  // an opener also takes the closure
  arguments = room.data();
  left.reserve(functions_noted);
}

Object* NativeFunctions::call(uint32_t function, std::span<Object* const> args) {
  constexpr size_t kept = size_t{1} << 20;  // bytes of the stack's memory, kept from run to run
  struct Call {
    relay_function code;
    relay_run* run;
    std::span<Object* const> args;
  } call{function < code_.count ? code_.functions[function] : nullptr, &run_, args};
  auto fail = [&](DiagnosticKind kind, const char* message, const char* help) {
    for (Object* o : args) release(o);
    context().fail(kind, message, help);
    return nullptr;
  };
  if (call.code == nullptr)
    return fail(DiagnosticKind::corrupt_file, "the code lacks a function that is called", "compile the model again");
  if (!run_.stack.reserved() && !run_.stack.reserve(depth_ * bytes_per_call))
    return fail(DiagnosticKind::out_of_memory, "there is no address space for the stack of the program's functions",
                "lower the depth of calls, or raise the limit of the address space (ulimit -v)");
  run_.deep = false;
  run_.stack_end = run_.stack.below_top(kept);
  run_.calls = 0;
  void* result = run_.stack.call(
      [](void* argument) -> void* {
        const Call& c = *static_cast<Call*>(argument);
        return c.code(c.run, reinterpret_cast<relay_object**>(const_cast<Object**>(c.args.data())));
      },
      &call);
  if (Report* report = context().report()) report->calls += run_.calls;
  if (run_.deep) run_.stack.trim(kept);
  if (result == nullptr) context().note_calls(run_.left, run_.left_count);
  run_.left.clear();
  run_.left_count = 0;
  if (run_.exception) std::rethrow_exception(std::exchange(run_.exception, nullptr));
  return static_cast<Object*>(result);
}

}  // namespace relay::runtime
