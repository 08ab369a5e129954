/* What functions compiled to machine code share with the runtime that calls them: the operations of the program form on
 * values (operations.h) as plain C, behind a table, so that the code has no undefined symbols.
 *
 *   relay_object* length(relay_run* run, relay_object** args) {         // of a list, with an accumulator
 *     for (;;) {
 *       int64_t tag = run->operations->tag(run, args[0], list_type);
 *       if (tag < 0) return run->operations->give_up(run, index_of_length, 2, args[0], args[1]);
 *       if (tag == 0) { release(args[0]); return args[1]; }
 *       args[0] = run->operations->field(run, args[0], 1, 1);
 *       ...
 *
 * An operation that fails gives null (0 or -1 where it says so), has taken nothing over, and the run remembers why: the
 * function hands what it holds to give_up(). Objects are those of value.h; code counts them and reads their fields by
 * its layout. Indices are those of the program: types, functions, messages; sites count the RunSegment instructions of
 * all functions in order.
 *
 * Code and runtime may be of different ages: whatever changes a layout or meaning here or in value.h raises
 * RELAY_NATIVE_VERSION. */
#ifndef RELAY_NATIVE_H
#define RELAY_NATIVE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RELAY_NATIVE_VERSION 3

typedef struct relay_object relay_object;
typedef struct relay_run relay_run;

typedef struct relay_operations {
  void (*destroy)(relay_object* object); /* whose last count goes */
  /* Makes `results`, and leaves `args` alone; 0 on failure. */
  int (*segment)(relay_run* run, uint32_t site, relay_object* const* args, relay_object** results);

  /* They take the fields over. */
  relay_object* (*tuple)(relay_run* run, relay_object* const* fields, uint32_t count);
  relay_object* (*data)(relay_run* run, uint32_t type, uint16_t tag, relay_object* const* fields, uint32_t count);
  relay_object* (*closure)(relay_run* run, uint32_t function, relay_object* const* captures, uint32_t count);

  /* What a MakeTensor gives, this instruction of this function. It leaves `args` alone. */
  relay_object* (*tensor_of_shape)(relay_run* run, uint32_t function, uint32_t instruction, relay_object* const* args);

  /* `last`: the object is taken over. */
  relay_object* (*field)(relay_run* run, relay_object* object, uint32_t index, int last);
  /* The constructor of a value of that type; -1 on failure. */
  int64_t (*tag)(relay_run* run, const relay_object* object, uint32_t type);
  /* Whether a bool is true; -1 on failure. */
  int (*is_true)(relay_run* run, const relay_object* object);
  /* The index of the closure's function, which takes so many arguments; -1 on failure. */
  int64_t (*closure_function)(relay_run* run, const relay_object* closure, size_t args);

  /* Takes the content over. */
  relay_object* (*reference)(relay_run* run, relay_object* content);
  relay_object* (*read)(relay_run* run, relay_object* reference);
  /* Takes the content over; 0 on failure. */
  int (*write)(relay_run* run, relay_object* reference, relay_object* content);

  /* The run fails with a message of a function. */
  void (*fail)(relay_run* run, uint32_t function, uint32_t message);
  /* Called when the stack has passed stack_end: whether the function may go on. */
  int (*more_stack)(relay_run* run, uint32_t function);
  /* Notes that the function was left by a failure (none: UINT32_MAX), and releases `count` objects, some of which may
   * be null. Always null. */
  relay_object* (*give_up)(relay_run* run, uint32_t function, uint32_t count, ...);
} relay_operations;

/* What code reads of a run. */
struct relay_run {
  const relay_operations* operations;
  relay_object* const* constants; /* of the program */
  const uint32_t* types;          /* of the program, as objects have them */
  const char* stack_end;          /* a function that calls others asks more_stack() below it */
  relay_object** arguments;       /* of a call, while it is made: room for those of any function of the program */
  int64_t calls;                  /* of functions; code counts them */
  uint32_t first_function;        /* a closure's id is this and the index of its function */
};

/* A function: its arguments are taken over, as is what it returns. Null after a failure. */
typedef relay_object* (*relay_function)(relay_run* run, relay_object** args);

/* The functions of a program, under the name RELAY_FUNCTIONS in its code: those that can be called from outside, which
 * are the first and those of closures; null for others. */
#define RELAY_FUNCTIONS "relay.functions"
typedef struct relay_functions {
  uint32_t version; /* RELAY_NATIVE_VERSION */
  uint32_t count;
  const relay_function* functions;
} relay_functions;

#ifdef __cplusplus
}
#endif
#endif
