/* External functions in a compiled program, in plain C: the interface of a library that programs can call.
 *
 *   static const relay_external_library library = {RELAY_EXTERNAL_VERSION, "mine", load, run, unload};
 *   const relay_external_library* relay_external_plugin(void) { return &library; }
 *
 * A program names the library and, for each function that it calls, a symbol, a payload (bytes that the code generator
 * wrote and only the library interprets) and constants. load() creates a function from them, once, when the program is
 * loaded; run() calls it, from any number of threads at once; unload() frees it.
 *
 * A library is registered by relay_external_register(), or is a shared object librelay_external_NAME.so that exports
 * relay_external_plugin(). Such objects are searched for in the folders of the environment variable RELAY_EXTERNALS
 * (separated by colons), in the folder of the program or shared object that contains the runtime, and in the system's
 * library path.
 */
#ifndef RELAY_EXTERNAL_H
#define RELAY_EXTERNAL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RELAY_EXTERNAL_VERSION 1
#if defined(__GNUC__)
#define RELAY_EXTERNAL_API __attribute__((visibility("default")))
#else
#define RELAY_EXTERNAL_API
#endif

/* Dense and row-major. Data begins at a multiple of 64 bytes. */
typedef struct relay_external_array {
  void* data;
  const int64_t* shape;
  int32_t rank;
  uint8_t type_code; /* as in DLPack: 0 int, 1 unsigned int, 2 float, 4 bfloat, 6 bool */
  uint8_t type_bits;
} relay_external_array;

/* The reason for a failure: zero-terminated text. */
typedef struct relay_external_error {
  char text[1024];
} relay_external_error;

typedef struct relay_external_source {
  const char* symbol;
  const void* payload;
  size_t payload_bytes;
  const relay_external_array* constants; /* valid as long as the function */
  int32_t constant_count;
} relay_external_source;

typedef struct relay_external_library {
  uint32_t version; /* RELAY_EXTERNAL_VERSION */
  const char* name;
  /* Returns null and sets `error` if the function cannot be loaded. */
  void* (*load)(const relay_external_source* source, relay_external_error* error);
  /* Writes all elements of the outputs; inputs and outputs do not overlap. Uses at most `threads` threads.
   * Returns 0, or another value and sets `error` on failure. */
  int (*run)(void* function, const relay_external_array* inputs, int32_t input_count,
             const relay_external_array* outputs, int32_t output_count, int32_t threads, relay_external_error* error);
  void (*unload)(void* function);
} relay_external_library;

/* Registers a library for this process; the table must stay valid as long as the process runs. Returns 0, or -1 if the
 * version differs. A library of the same name is replaced for programs that are loaded later. */
RELAY_EXTERNAL_API int relay_external_register(const relay_external_library* library);

/* The function that librelay_external_NAME.so exports. */
RELAY_EXTERNAL_API const relay_external_library* relay_external_plugin(void);

/* The function of a shared object that is itself the payload (library "elf"), exported under the symbol. `arrays` are
 * inputs, outputs, constants. Returns 0, or another value on failure. */
typedef int (*relay_external_function)(const relay_external_array* arrays, int32_t threads);

#ifdef __cplusplus
}
#endif

#endif
