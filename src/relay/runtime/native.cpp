#include "relay/runtime/native.h"

#include "relay/runtime/operations.h"

using namespace relay;
using namespace relay::runtime;

static RunContext& from(relay_run* run) { return *reinterpret_cast<RunContext*>(run); }
static Object* from(relay_object* o) { return reinterpret_cast<Object*>(o); }
static const Object* from(const relay_object* o) { return reinterpret_cast<const Object*>(o); }
static Object* const* from(relay_object* const* o) { return reinterpret_cast<Object* const*>(o); }
static std::span<Object* const> from(relay_object* const* o, uint32_t count) { return {from(o), count}; }
static relay_object* to_c(Object* o) { return reinterpret_cast<relay_object*>(o); }

extern "C" {

relay_object* relay_native_retain(relay_object* object) { return to_c(retain(from(object))); }
void relay_native_release(relay_object* object) { release(from(object)); }

relay_object* relay_native_constant(relay_run* run, uint32_t index) { return to_c(load_constant(from(run), index)); }
int relay_native_segment(relay_run* run, uint32_t site, relay_object* const* args, relay_object** results) {
  return from(run).run_segment(site, from(args), reinterpret_cast<Object**>(results));
}

relay_object* relay_native_tuple(relay_run* run, relay_object* const* fields, uint32_t count) {
  return to_c(make_tuple(from(run), from(fields, count)));
}
relay_object* relay_native_data(relay_run* run, uint32_t type, uint16_t tag, relay_object* const* fields,
                                uint32_t count) {
  return to_c(make_data(from(run), type, tag, from(fields, count)));
}
relay_object* relay_native_closure(relay_run* run, uint32_t function, relay_object* const* captures, uint32_t count) {
  return to_c(make_closure(from(run), function, from(captures, count)));
}

relay_object* relay_native_field(relay_run* run, relay_object* object, uint32_t index, int last) {
  return to_c(get_field(from(run), from(object), index, last != 0));
}
int64_t relay_native_tag(relay_run* run, const relay_object* object, uint32_t type) {
  return tag_of(from(run), from(object), type);
}
int relay_native_is_true(relay_run* run, const relay_object* object) { return is_true(from(run), from(object)); }

int64_t relay_native_closure_function(relay_run* run, const relay_object* closure, size_t args) {
  return closure_function(from(run), from(closure), args);
}
uint32_t relay_native_open_closure(relay_run* run, relay_object* closure, relay_object** to) {
  const LinkedProgram& linked = from(run).linked();
  const Function& f = linked.program->functions[from(closure)->id - linked.first_function];
  return open_closure(from(closure), f.takes_self, reinterpret_cast<Object**>(to));
}

relay_object* relay_native_reference(relay_run* run, relay_object* content) {
  return to_c(make_reference(from(run), from(content)));
}
relay_object* relay_native_read(relay_run* run, relay_object* reference) {
  ReferenceObject* r = as_reference(from(run), from(reference));
  return r ? to_c(read_reference(r)) : nullptr;
}
int relay_native_write(relay_run* run, relay_object* reference, relay_object* content) {
  ReferenceObject* r = as_reference(from(run), from(reference));
  if (r) write_reference(r, from(content));
  return r != nullptr;
}

void relay_native_fail(relay_run* run, uint32_t function, uint32_t message) {
  from(run).fail(DiagnosticKind::wrong_input, from(run).linked().program->functions[function].messages[message]);
}

}  // extern "C"
