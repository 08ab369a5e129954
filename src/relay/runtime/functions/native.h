/* The interface between functions compiled to machine code and the runtime that calls them: the operations on values
 * (operations.h) as plain C, in a table, so that the code has no undefined symbols.
 *
 *   relay_object* length(relay_run* run, relay_object** args) {         // of a list, with an accumulator
 *     for (;;) {
 *       int64_t tag = run->operations->tag(run, args[0], list_type);
 *       if (tag < 0) return run->operations->unwind(run, index_of_length, 2, args[0], args[1]);
 *       if (tag == 0) { release(args[0]); return args[1]; }
 *       args[0] = run->operations->field(run, args[0], 1, 1);
 *       ...
 *
 * An operation that fails returns null (0 or -1 where documented) and takes no ownership; the run records the reason.
 * The function then passes all objects that it holds to unwind(). Objects are those of object.h; code counts them and
 * reads their fields by that layout. Types, functions and messages are indices in the program; sites number the
 * RunSegment instructions of all functions in order.
 *
 * Code and runtime may be of different versions: every change of a layout or meaning here or in object.h increments
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
  void (*destroy)(relay_object* object); /* called with the last count */
  /* Computes `results` and does not take ownership of `args`; 0 on failure. */
  int (*segment)(relay_run* run, uint32_t site, relay_object* const* args, relay_object** results);

  /* These take ownership of the fields. */
  relay_object* (*tuple)(relay_run* run, relay_object* const* fields, uint32_t count);
  relay_object* (*data)(relay_run* run, uint32_t type, uint16_t tag, relay_object* const* fields, uint32_t count);
  relay_object* (*closure)(relay_run* run, uint32_t function, relay_object* const* captures, uint32_t count);

  /* The result of a MakeTensor, this instruction of this function. Does not take ownership of `args`. */
  relay_object* (*tensor_of_shape)(relay_run* run, uint32_t function, uint32_t instruction, relay_object* const* args);

  /* Takes ownership of the object if `last` is set. */
  relay_object* (*field)(relay_run* run, relay_object* object, uint32_t index, int last);
  /* The constructor of a value of that type; -1 on failure. */
  int64_t (*tag)(relay_run* run, const relay_object* object, uint32_t type);
  /* 1 if a bool is true, 0 if it is false; -1 on failure. */
  int (*is_true)(relay_run* run, const relay_object* object);
  /* The index of the closure's function, which takes `args` arguments; -1 on failure. */
  int64_t (*closure_function)(relay_run* run, const relay_object* closure, size_t args);

  /* Takes ownership of the content. */
  relay_object* (*reference)(relay_run* run, relay_object* content);
  relay_object* (*read)(relay_run* run, relay_object* reference);
  /* Takes ownership of the content; 0 on failure. */
  int (*write)(relay_run* run, relay_object* reference, relay_object* content);

  /* Fails the run with a message of a function. */
  void (*fail)(relay_run* run, uint32_t function, uint32_t message);
  /* Called when the stack has passed stack_end; returns 0 if the function must not continue. */
  int (*more_stack)(relay_run* run, uint32_t function);
  /* Records that a failure unwound the function (UINT32_MAX for none), and releases `count` objects, some of which may
   * be null. Always returns null. */
  relay_object* (*unwind)(relay_run* run, uint32_t function, uint32_t count, ...);
} relay_operations;

/* The fields of a run that code reads. */
struct relay_run {
  const relay_operations* operations;
  relay_object* const* constants; /* of the program */
  const uint32_t* types;          /* of the program, with the numbers that objects have */
  const char* stack_end;          /* below it, a function that calls others calls more_stack() */
  relay_object** arguments;       /* of a call in preparation: room for those of any function of the program */
  int64_t calls;                  /* of functions; code counts them */
  uint32_t first_function;        /* a closure's id is this plus the index of its function */
};

/* A function: takes ownership of its arguments; the caller owns the result. Null after a failure. */
typedef relay_object* (*relay_function)(relay_run* run, relay_object** args);

/* The functions of a program, under the name RELAY_FUNCTIONS in its code: the ones that can be called from outside,
 * which are the first and those of closures; null for the others. */
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
