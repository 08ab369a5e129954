/* The C interface of the Relay runtime: load a compiled model, ask what it takes, run it.
 *
 *   relay_model* model;
 *   if (relay_model_load("resnet.rly", NULL, &model) != RELAY_OK) { puts(relay_last_error()); return 1; }
 *   int64_t shape[4] = {1, 3, 224, 224};
 *   relay_tensor in = {pixels, shape, 4, RELAY_FLOAT32, NULL}, out = {0};
 *   if (relay_model_run(model, &in, 1, &out, 1) != RELAY_OK) { puts(relay_last_error()); return 1; }
 *   use(out.data, out.shape, out.rank);
 *   relay_tensor_release(&out);
 *   relay_model_free(model);
 *
 * Every function that can fail returns a status; the text of the last failure on the calling thread is relay_last_error().
 * A model may be run from several threads at once. Within a version of this interface names and layouts only grow. */
#ifndef RELAY_C_H
#define RELAY_C_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RELAY_C_VERSION 1
#if defined(__GNUC__)
#define RELAY_C_API __attribute__((visibility("default")))
#else
#define RELAY_C_API
#endif

typedef enum relay_status {
  RELAY_OK = 0,
  RELAY_BAD_ARGUMENT = 1, /* a null pointer, an index out of range */
  RELAY_BAD_FILE = 2,     /* the file does not exist or is not a sound artifact */
  RELAY_INCOMPATIBLE = 3, /* made for another machine or version */
  RELAY_WRONG_INPUT = 4,  /* inputs or outputs of a wrong count, type or shape */
  RELAY_OUT_OF_MEMORY = 5,
  RELAY_INTERNAL = 6
} relay_status;

typedef enum relay_dtype {
  RELAY_FLOAT32 = 0,
  RELAY_FLOAT64,
  RELAY_FLOAT16,
  RELAY_BFLOAT16,
  RELAY_INT8,
  RELAY_INT16,
  RELAY_INT32,
  RELAY_INT64,
  RELAY_UINT8,
  RELAY_UINT16,
  RELAY_UINT32,
  RELAY_UINT64,
  RELAY_BOOL /* one byte */
} relay_dtype;

/* Dense, row-major. */
typedef struct relay_tensor {
  void* data;
  const int64_t* shape;
  int32_t rank;
  relay_dtype dtype;
  void* owner; /* not null: the runtime's; give it back with relay_tensor_release() */
} relay_tensor;

typedef struct relay_load_options {
  uint32_t struct_bytes; /* sizeof(relay_load_options) */
  int32_t threads;       /* at most; 0: all cores this process may use */
} relay_load_options;

/* An input or output of a model. Valid as long as the model. */
typedef struct relay_port {
  const char* name;
  relay_dtype dtype;
  int32_t rank;
  const int64_t* dims;          /* -1: not fixed ... */
  const char* const* dim_texts; /* ... "m * 224" */
} relay_port;

typedef struct relay_model relay_model;

RELAY_C_API uint32_t relay_c_version(void);
/* Of the calling thread; never null. */
RELAY_C_API const char* relay_last_error(void);

/* `options` may be null. */
RELAY_C_API relay_status relay_model_load(const char* path, const relay_load_options* options, relay_model** model);
RELAY_C_API void relay_model_free(relay_model* model);

RELAY_C_API size_t relay_model_input_count(const relay_model* model);
RELAY_C_API size_t relay_model_output_count(const relay_model* model);
RELAY_C_API relay_status relay_model_input(const relay_model* model, size_t index, relay_port* port);
RELAY_C_API relay_status relay_model_output(const relay_model* model, size_t index, relay_port* port);

/* An output whose data is null is allocated by the runtime (release it); otherwise it is written in place, and its shape and
 * dtype must be right. */
RELAY_C_API relay_status relay_model_run(relay_model* model, const relay_tensor* inputs, size_t input_count,
                                         relay_tensor* outputs, size_t output_count);
RELAY_C_API void relay_tensor_release(relay_tensor* tensor);

#ifdef __cplusplus
}
#endif
#endif
