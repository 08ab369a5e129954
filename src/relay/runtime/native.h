/* What functions compiled to machine code call: the operations of the program form on values (operations.h), as plain C.
 *
 *   relay_object* length(relay_run* run, relay_object** args) {         // of a list, with an accumulator
 *     for (;;) {
 *       int64_t tag = relay_native_tag(run, args[0], list_type);
 *       if (tag <= 0) { relay_native_release(args[0]); return tag == 0 ? args[1] : ...; }
 *       args[0] = relay_native_field(run, args[0], 1, 1);
 *       relay_object* sum;
 *       relay_native_segment(run, site_of_add_one, &args[1], &sum);
 *       ...
 *
 * An operation that fails gives null (0 or -1 where it says so), has taken nothing over, and the run remembers why: the
 * function gives its objects back and returns null. Objects are those of value.h; code may read their fields by its layout.
 * Indices are those of the program: constants, types, functions, messages; sites count the RunSegment instructions of all
 * functions in order. */
#ifndef RELAY_NATIVE_H
#define RELAY_NATIVE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct relay_object relay_object;
typedef struct relay_run relay_run;
/* A function: its arguments are taken over, as is what it returns. */
typedef relay_object* (*relay_function)(relay_run* run, relay_object** args);

relay_object* relay_native_retain(relay_object* object);
void relay_native_release(relay_object* object);

relay_object* relay_native_constant(relay_run* run, uint32_t index);
/* Makes `results`, and leaves `args` alone; 0 on failure. */
int relay_native_segment(relay_run* run, uint32_t site, relay_object* const* args, relay_object** results);

/* They take the fields over. */
relay_object* relay_native_tuple(relay_run* run, relay_object* const* fields, uint32_t count);
relay_object* relay_native_data(relay_run* run, uint32_t type, uint16_t tag, relay_object* const* fields,
                                uint32_t count);
relay_object* relay_native_closure(relay_run* run, uint32_t function, relay_object* const* captures, uint32_t count);

/* `last`: the object is taken over. */
relay_object* relay_native_field(relay_run* run, relay_object* object, uint32_t index, int last);
/* The constructor of a value of that type; -1 on failure. */
int64_t relay_native_tag(relay_run* run, const relay_object* object, uint32_t type);
/* Whether a bool is true; -1 on failure. */
int relay_native_is_true(relay_run* run, const relay_object* object);

/* The index of the closure's function, which takes so many arguments; -1 on failure. */
int64_t relay_native_closure_function(relay_run* run, const relay_object* closure, size_t args);
/* Takes the closure over and writes what its function is given before the arguments; the number of these. */
uint32_t relay_native_open_closure(relay_run* run, relay_object* closure, relay_object** to);

/* Takes the content over. */
relay_object* relay_native_reference(relay_run* run, relay_object* content);
relay_object* relay_native_read(relay_run* run, relay_object* reference);
/* Takes the content over; 0 on failure. */
int relay_native_write(relay_run* run, relay_object* reference, relay_object* content);

/* The run fails with a message of a function. */
void relay_native_fail(relay_run* run, uint32_t function, uint32_t message);

#ifdef __cplusplus
}
#endif
#endif
