/* Functions of others in a compiled program, in plain C: what a library gives so that programs can call it.
 *
 *   static const relay_external_library library = {RELAY_EXTERNAL_VERSION, "mine", load, run, unload};
 *   const relay_external_library* relay_external_plugin(void) { return &library; }
 *
 * A program names the library and, for each function that it calls, a symbol, a payload (bytes that the code generator
 * wrote and only the library understands) and constants. load() makes a function of them, once, when the program is
 * loaded; run() calls it, from any number of threads at once; unload() frees it.
 *
 * A library is made known by relay_external_register(), or is a shared object librelay_external_NAME.so that exports
 * relay_external_plugin(): it is looked for in the folders of the environment variable RELAY_EXTERNALS (separated by
 * colons), beside the program or shared object that has the runtime in it, and where the system finds libraries.
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
  uint8_t type_code; /* as DLPack numbers them: 0 int, 1 unsigned int, 2 float, 4 bfloat, 6 bool */
  uint8_t type_bits;
} relay_external_array;

/* Where a function says why it cannot do what it is asked: text that ends with a 0. */
typedef struct relay_external_error {
  char text[1024];
} relay_external_error;

typedef struct relay_external_source {
  const char* symbol;
  const void* payload;
  size_t payload_bytes;
  const relay_external_array* constants; /* as long as the function lives */
  int32_t constant_count;
} relay_external_source;

typedef struct relay_external_library {
  uint32_t version; /* RELAY_EXTERNAL_VERSION */
  const char* name;
  /* Null, and `error` is set: it cannot be loaded. */
  void* (*load)(const relay_external_source* source, relay_external_error* error);
  /* Writes all elements of the outputs; inputs and outputs do not overlap. Uses at most `threads` threads. Not 0, and
   * `error` is set: it failed. */
  int (*run)(void* function, const relay_external_array* inputs, int32_t input_count,
             const relay_external_array* outputs, int32_t output_count, int32_t threads, relay_external_error* error);
  void (*unload)(void* function);
} relay_external_library;

/* For this process; the table must live as long. 0, or -1: another version. A name that is known already is replaced
 * for programs that are loaded from now on. */
RELAY_EXTERNAL_API int relay_external_register(const relay_external_library* library);

/* What librelay_external_NAME.so exports. */
RELAY_EXTERNAL_API const relay_external_library* relay_external_plugin(void);

/* The function of a shared object that is itself the payload (library "elf"): exported under the symbol. Arrays are
 * inputs, outputs, constants. Not 0: it failed. */
typedef int (*relay_external_function)(const relay_external_array* arrays, int32_t threads);

#ifdef __cplusplus
}
#endif

#endif
