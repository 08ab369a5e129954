// The C functions of a program's values and frames. @ is the project's name, % the prefix of its constants.
#include <algorithm>
#include <cctype>

#include "relay/c_project/program_writer.h"

namespace relay::c_project {

const char* const runtime_types =
    R"(/* A value. The header is followed by a tensor's elements, or by the fields of another value. */
typedef struct @_object @_object;
struct @_object {
  uint32_t count; /* of the places that hold it. 0: a constant. Of a freed object: the next one */
  uint16_t form, block; /* indices in relay_forms and relay_block_bytes. Block of a constant: its number */
};
typedef struct relay_tensor {
  @_object head;
  union {
    const void *at;
    uint64_t width;
  } elements;
} relay_tensor;
enum { RELAY_TENSOR, RELAY_TUPLE, RELAY_DATA, RELAY_CLOSURE, RELAY_REFERENCE };
typedef struct relay_form {
  uint8_t kind;
  uint16_t block;
  uint16_t fields;   /* of a closure: captured values */
  uint16_t function; /* of a closure */
} relay_form;
typedef struct relay_function {
  uint16_t registers, parameters, takes_self;
} relay_function;
/* A frame, followed by its registers. Offsets are in units of 8 bytes from the beginning of the workspace. */
typedef struct relay_frame {
  uint32_t caller; /* offset of its frame, or 0 */
  uint16_t function, at; /* at: the call to return to */
} relay_frame;
struct @_memory {
  unsigned char *base;
  size_t low, high; /* values end at low, frames begin at high */
  size_t end, most;
  relay_frame *frame;
  @_object *result;
  uint32_t freed[%_BLOCKS]; /* offset of a freed object of each size, or 0 */
};
typedef char relay_memory_fits[sizeof(struct @_memory) <= %_CONTROL_BYTES ? 1 : -1];

#define RELAY_TENSOR_BYTES(elements) (sizeof(relay_tensor) + (elements))
#define RELAY_FIELDS_BYTES(fields) ((sizeof(@_object) + (fields) * sizeof(@_object *) + 7) / 8 * 8)

)";

namespace {
struct Piece {
  const char *name, *text;
};

// Each after those that it uses.
constexpr Piece pieces[] = {
    {"relay_at", R"(static void *relay_at(const @_memory *m, uint32_t offset) { return m->base + (size_t)offset * 8; }
)"},
    {"relay_offset", R"(static uint32_t relay_offset(const @_memory *m, const void *at) {
  return (uint32_t)((size_t)((const unsigned char *)at - m->base) / 8);
}
)"},
    {"relay_fields", R"(static @_object **relay_fields(@_object *o) { return (@_object **)(void *)(o + 1); }
)"},
    {"relay_elements", R"(static const void *relay_elements(const @_object *o) {
  if (o->count == 0) return relay_constant(o->block);
  return ((const relay_tensor *)(const void *)o)->elements.at;
}
)"},
    {"relay_own", R"(/* The elements of a tensor that are in the object itself. */
static void *relay_own(@_object *o) { return (relay_tensor *)(void *)o + 1; }
)"},
    {"relay_keep", R"(static @_object *relay_keep(@_object *o) {
  if (o->count != 0) ++o->count;
  return o;
}
)"},
    {"relay_release", R"(/* Frees values that nothing holds any more, without recursion. */
static void relay_release(@_memory *m, @_object *o) {
  uint32_t pending = 0;
  if (o->count == 0 || --o->count != 0) return;
  pending = relay_offset(m, o);
  while (pending != 0) {
    const uint32_t freed = pending;
    o = relay_at(m, freed);
    pending = o->count;
    if (relay_forms[o->form].kind != RELAY_TENSOR)
      for (uint16_t i = 0; i < relay_forms[o->form].fields; ++i) {
        @_object *const field = relay_fields(o)[i];
        if (field->count == 0 || --field->count != 0) continue;
        field->count = pending;
        pending = relay_offset(m, field);
      }
    o->count = m->freed[o->block];
    m->freed[o->block] = freed;
  }
}
)"},
    {"relay_take", R"(static @_object *relay_take(@_object **place) {
  @_object *const o = *place;
  *place = NULL;
  return o;
}
)"},
    {"relay_drop", R"(static void relay_drop(@_memory *m, @_object **place) {
  @_object *const o = *place;
  *place = NULL;
  if (o != NULL) relay_release(m, o);
}
)"},
    {"relay_set", R"(static void relay_set(@_memory *m, @_object **place, @_object *o) {
  @_object *const old = *place;
  *place = o;
  if (old != NULL) relay_release(m, old);
}
)"},
    {"relay_note_peak", R"(static void relay_note_peak(@_memory *m) {
  const size_t used = m->low + (m->end - m->high);
  if (used > m->most) m->most = used;
}
)"},
    {"relay_block",
     R"(/* Memory of a size, from freed objects or from the rest of the workspace; NULL if there is none. */
static @_object *relay_block(@_memory *m, uint16_t form, uint16_t block) {
  @_object *o = NULL;
  if (m->freed[block] == 0 && m->high - m->low < relay_block_bytes[block])
    for (uint16_t b = 0; b < %_BLOCKS; ++b)
      if (m->freed[b] != 0 && relay_block_bytes[b] >= relay_block_bytes[block] &&
          (m->freed[block] == 0 || relay_block_bytes[b] < relay_block_bytes[block]))
        block = b;
  if (m->freed[block] != 0) {
    o = relay_at(m, m->freed[block]);
    m->freed[block] = o->count;
  } else if (m->high - m->low >= relay_block_bytes[block]) {
    o = (@_object *)(void *)(m->base + m->low);
    m->low += relay_block_bytes[block];
    relay_note_peak(m);
  } else {
    return NULL;
  }
  o->count = 1, o->form = form, o->block = block;
  return o;
}
)"},
    {"relay_new", R"(static @_object *relay_new(@_memory *m, uint16_t form) {
  @_object *const o = relay_block(m, form, relay_forms[form].block);
  if (o != NULL && relay_forms[form].kind == RELAY_TENSOR)
    ((relay_tensor *)(void *)o)->elements.at = relay_own(o);
  return o;
}
)"},
    {"relay_view", R"(/* A tensor whose elements are elsewhere. */
static @_object *relay_view(@_memory *m, uint16_t form, const void *elements) {
  @_object *const o = relay_block(m, form, 0);
  if (o != NULL) ((relay_tensor *)(void *)o)->elements.at = elements;
  return o;
}
)"},
    {"relay_output",
     R"(/* The tensor for an output of a segment: the input that it replaces, if nothing else holds that. */
static @_object *relay_output(@_memory *m, uint16_t form, @_object *input, int moved) {
  if (moved && input->count == 1 && relay_elements(input) == relay_own(input)) return relay_keep(input);
  return relay_new(m, form);
}
)"},
    {"relay_field", R"(/* A field of a tuple or data value; NULL if there is none. */
static @_object *relay_field(const @_object *o, uint16_t index) {
  const relay_form *const form = &relay_forms[o->form];
  if ((form->kind != RELAY_TUPLE && form->kind != RELAY_DATA) || index >= form->fields) return NULL;
  return ((@_object *const *)(const void *)(o + 1))[index];
}
)"},
    {"relay_push", R"(/* A new frame with empty registers; NULL if the workspace is full. */
static @_object **relay_push(@_memory *m, uint16_t function, uint32_t caller) {
  const uint16_t count = relay_functions[function].registers;
  const size_t bytes = (sizeof(relay_frame) + count * sizeof(@_object *) + 7) / 8 * 8;
  @_object **registers = NULL;
  if (m->high - m->low < bytes) return NULL;
  m->high -= bytes;
  relay_note_peak(m);
  m->frame = (relay_frame *)(void *)(m->base + m->high);
  m->frame->caller = caller, m->frame->function = function, m->frame->at = 0;
  registers = (@_object **)(void *)(m->frame + 1);
  for (uint16_t i = 0; i < count; ++i) registers[i] = NULL;
  return registers;
}
)"},
    {"relay_pop", R"(/* Ends a frame, and returns the offset of its caller's. */
static uint32_t relay_pop(@_memory *m) {
  const uint32_t caller = m->frame->caller;
  const uint16_t count = relay_functions[m->frame->function].registers;
  @_object **const registers = (@_object **)(void *)(m->frame + 1);
  for (uint16_t i = 0; i < count; ++i) relay_drop(m, registers + i);
  m->high += (sizeof(relay_frame) + count * sizeof(@_object *) + 7) / 8 * 8;
  m->frame = caller == 0 ? NULL : (relay_frame *)relay_at(m, caller);
  return caller;
}
)"},
    {"relay_call", R"(/* Begins a call. It takes the arguments. */
static @_status relay_call(@_memory *m, uint16_t function, @_object *const *arguments, uint32_t caller) {
  @_object **const registers = relay_push(m, function, caller);
  if (registers == NULL) return %_OUT_OF_MEMORY;
  for (uint16_t i = 0; i < relay_functions[function].parameters; ++i) registers[i] = arguments[i];
  return %_OK;
}
)"},
    {"relay_call_closure", R"(/* Begins a call of values[0], a closure, with the other values. It takes all of them. */
static @_status relay_call_closure(@_memory *m, @_object *const *values, uint16_t count, uint32_t caller) {
  @_object *const closure = values[0];
  const relay_form *const form = &relay_forms[closure->form];
  const relay_function *const function = &relay_functions[form->function];
  @_object **registers = NULL;
  if (form->kind != RELAY_CLOSURE || form->fields + function->takes_self + count - 1 != function->parameters)
    return %_WRONG_VALUE;
  registers = relay_push(m, form->function, caller);
  if (registers == NULL) return %_OUT_OF_MEMORY;
  for (uint16_t i = 0; i < form->fields; ++i) *registers++ = relay_keep(relay_fields(closure)[i]);
  if (function->takes_self)
    *registers++ = closure;
  else
    relay_release(m, closure);
  for (uint16_t i = 1; i < count; ++i) *registers++ = values[i];
  return %_OK;
}
)"},
    {"relay_flatten", R"(/* The fields of a tuple, of those among them that are tuples, and so on; their number. */
static size_t relay_flatten(@_object *o, @_object **out, size_t count, size_t most) {
  if (relay_forms[o->form].kind == RELAY_TUPLE) {
    for (uint16_t i = 0; i < relay_forms[o->form].fields; ++i)
      count = relay_flatten(relay_fields(o)[i], out, count, most);
    return count;
  }
  if (count < most) out[count] = o;
  return count + 1;
}
)"},
    {"relay_copied", R"(/* A tensor with a copy of the elements. */
static @_value relay_copied(@_memory *m, uint16_t form, const void *elements, size_t bytes) {
  @_object *const o = m == NULL || elements == NULL ? NULL : relay_new(m, form);
  if (o != NULL) memcpy(relay_own(o), elements, bytes);
  return o;
}
)"},
    {"relay_referred",
     R"(static @_value relay_referred(@_memory *m, uint16_t form, const void *elements, size_t alignment) {
  if (m == NULL || elements == NULL || (uintptr_t)elements % alignment != 0) return NULL;
  return relay_view(m, form, elements);
}
)"},
    {"relay_made", R"(/* A value of these fields. It takes them, also if it fails. */
static @_value relay_made(@_memory *m, uint16_t form, @_object *const *fields, uint16_t count) {
  @_object *o = m == NULL ? NULL : relay_new(m, form);
  int complete = o != NULL;
  for (uint16_t i = 0; i < count; ++i) complete = complete && fields[i] != NULL;
  for (uint16_t i = 0; i < count; ++i) {
    if (complete)
      relay_fields(o)[i] = fields[i];
    else if (m != NULL && fields[i] != NULL)
      relay_release(m, fields[i]);
  }
  if (!complete && o != NULL) {
    o->count = m->freed[o->block];
    m->freed[o->block] = relay_offset(m, o);
  }
  return complete ? o : NULL;
}
)"},
};

// True if `code` has `name` as a whole word, followed by a bracket.
bool calls(const std::string& code, const std::string& name) {
  for (size_t at = code.find(name + "("); at != std::string::npos; at = code.find(name + "(", at + 1)) {
    const char before = at ? code[at - 1] : ' ';
    if (!std::isalnum(static_cast<unsigned char>(before)) && before != '_') return true;
  }
  return false;
}
}  // namespace

std::string runtime_functions(const std::string& code) {
  std::string out;
  for (size_t i = std::size(pieces); i-- > 0;)
    if (calls(code, pieces[i].name) || calls(out, pieces[i].name)) out = pieces[i].text + ("\n" + out);
  return out;
}

}  // namespace relay::c_project
