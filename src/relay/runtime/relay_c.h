/* The C interface of the Relay runtime: load a compiled model, query its inputs and outputs, run it.
 *
 *   relay_model* model;
 *   if (relay_model_load("resnet.rart", NULL, &model) != RELAY_OK) { puts(relay_last_error()); return 1; }
 *   int64_t shape[4] = {1, 3, 224, 224};
 *   relay_tensor in = {pixels, shape, 4, RELAY_FLOAT32, NULL}, out = {0};
 *   if (relay_model_run(model, &in, 1, &out, 1) != RELAY_OK) { puts(relay_last_error()); return 1; }
 *   use(out.data, out.shape, out.rank);
 *   relay_tensor_release(&out);
 *   relay_model_free(model);
 *
 * A program whose inputs are lists, trees or tuples takes and returns values:
 *
 *   relay_value *x, *nil, *list, *sum;                              (list Cons(x, Nil))
 *   relay_value_from_tensor(&in, NULL, NULL, &x);
 *   relay_value_data(model, "List", "Nil", NULL, 0, &nil);
 *   relay_value* fields[2] = {x, nil};
 *   relay_value_data(model, "List", "Cons", fields, 2, &list);
 *   relay_model_call(model, &list, 1, &sum);
 *
 * Every function that can fail returns a status; the text of the last failure on the calling thread is
 * relay_last_error(). A model may be run from several threads at once. Later versions of this interface only add to
 * names and layouts. */
#ifndef RELAY_C_H
#define RELAY_C_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RELAY_C_VERSION 7
#if defined(__GNUC__)
#define RELAY_C_API __attribute__((visibility("default")))
#else
#define RELAY_C_API
#endif

typedef enum relay_status {
  RELAY_OK = 0,
  RELAY_BAD_ARGUMENT = 1, /* a null pointer, an index out of range */
  RELAY_BAD_FILE = 2,     /* the file does not exist or is not a valid artifact */
  RELAY_INCOMPATIBLE = 3, /* made for another machine or version */
  RELAY_WRONG_INPUT = 4,  /* inputs or outputs of a wrong count, type or shape; indices in them out of range */
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
  RELAY_BOOL, /* one byte */
  /* Storage types: an element in the low bits of one byte, the other bits 0. */
  RELAY_FLOAT8_E4M3FN,
  RELAY_FLOAT8_E4M3FNUZ,
  RELAY_FLOAT8_E5M2,
  RELAY_FLOAT8_E5M2FNUZ,
  RELAY_FLOAT8_E8M0FNU,
  RELAY_FLOAT4_E2M1FN,
  RELAY_INT4,
  RELAY_UINT4,
  RELAY_INT2,
  RELAY_UINT2,
  RELAY_FLOAT6_E2M3FN,
  RELAY_FLOAT6_E3M2FN,
  RELAY_FLOAT8_E4M3,
  RELAY_FLOAT8_E3M4,
  RELAY_FLOAT8_E4M3B11FNUZ
} relay_dtype;

/* Dense, row-major. */
typedef struct relay_tensor {
  void* data;
  const int64_t* shape;
  int32_t rank;
  relay_dtype dtype;
  void* owner; /* not null: owned by the runtime; release it with relay_tensor_release() */
} relay_tensor;

typedef struct relay_load_options {
  uint32_t struct_bytes; /* sizeof(relay_load_options) */
  int32_t threads;       /* at most; 0: all cores that this process may use */
} relay_load_options;

/* An input or output of a model. Valid as long as the model. */
typedef struct relay_port {
  const char* name;
  relay_dtype dtype;
  int32_t rank;                 /* -1: not a tensor (version 2) */
  const int64_t* dims;          /* -1: symbolic ... */
  const char* const* dim_texts; /* ... "m * 224" */
} relay_port;

typedef struct relay_model relay_model;

RELAY_C_API uint32_t relay_c_version(void);
/* The text of the last failure on the calling thread; never null. */
RELAY_C_API const char* relay_last_error(void);

/* `options` may be null. */
RELAY_C_API relay_status relay_model_load(const char* path, const relay_load_options* options, relay_model** model);
RELAY_C_API void relay_model_free(relay_model* model);

RELAY_C_API size_t relay_model_input_count(const relay_model* model);
RELAY_C_API size_t relay_model_output_count(const relay_model* model);
RELAY_C_API relay_status relay_model_input(const relay_model* model, size_t index, relay_port* port);
RELAY_C_API relay_status relay_model_output(const relay_model* model, size_t index, relay_port* port);

/* An output whose data is null is allocated by the runtime (the caller releases it); otherwise it is written in place,
 * and its shape and dtype must be right. */
RELAY_C_API relay_status relay_model_run(relay_model* model, const relay_tensor* inputs, size_t input_count,
                                         relay_tensor* outputs, size_t output_count);
RELAY_C_API void relay_tensor_release(relay_tensor* tensor);

/* --- version 2: values ---
 * A value is reference-counted and immutable (except references). The caller owns the values that a function returns,
 * and frees them with relay_value_free(); it keeps ownership of the values that it passes. */
typedef struct relay_value relay_value;
typedef enum relay_kind {
  RELAY_TENSOR = 0,
  RELAY_TUPLE,
  RELAY_DATA,     /* a constructor of a data type with its fields */
  RELAY_FUNCTION, /* made by a program; call it with relay_value_call() */
  RELAY_REFERENCE,
  RELAY_NO_VALUE /* of a null pointer */
} relay_kind;

RELAY_C_API relay_value* relay_value_copy(const relay_value* value);
RELAY_C_API void relay_value_free(relay_value* value);

/* With `release` the data is not copied, and release(context) is called on any thread after the last value that uses it
 * is freed; it is not called on failure. Without `release` the data is copied. */
RELAY_C_API relay_status relay_value_from_tensor(const relay_tensor* tensor, void (*release)(void* context),
                                                 void* context, relay_value** value);
RELAY_C_API relay_status relay_value_tuple(relay_value* const* fields, size_t count, relay_value** value);
/* A value of a data type of the model, by name. */
RELAY_C_API relay_status relay_value_data(const relay_model* model, const char* type, const char* constructor,
                                          relay_value* const* fields, size_t count, relay_value** value);
RELAY_C_API relay_status relay_value_reference(const relay_value* content, relay_value** value);

RELAY_C_API relay_kind relay_value_kind(const relay_value* value);
/* The data is not copied: it is valid as long as the value. */
RELAY_C_API relay_status relay_value_as_tensor(const relay_value* value, relay_tensor* tensor);
/* The fields of a tuple or data value; a reference has one field, its content. */
RELAY_C_API size_t relay_value_field_count(const relay_value* value);
RELAY_C_API relay_status relay_value_field(const relay_value* value, size_t index, relay_value** field);
/* The type and constructor of a data value; null for others. */
RELAY_C_API const char* relay_value_type(const relay_value* value);
RELAY_C_API const char* relay_value_constructor(const relay_value* value);
/* Writes at most `bytes` bytes of text with the final 0, as snprintf does; returns the length of the whole text. */
RELAY_C_API size_t relay_value_text(const relay_value* value, char* text, size_t bytes);

/* The type of an input or output, "List[Tensor[(), float32]]"; null if the index is out of range. */
RELAY_C_API const char* relay_model_input_type(const relay_model* model, size_t index);
RELAY_C_API const char* relay_model_output_type(const relay_model* model, size_t index);
RELAY_C_API relay_status relay_model_call(relay_model* model, relay_value* const* args, size_t count,
                                          relay_value** result);
/* Calls a function value that a run of this model returned. */
RELAY_C_API relay_status relay_value_call(relay_model* model, const relay_value* function, relay_value* const* args,
                                          size_t count, relay_value** result);

/* --- version 3 --- */
/* The model's executor: "graph", "vm", or "aot" (functions as machine code). A runtime that is built without the
 * virtual machine refuses models for "vm" with RELAY_INCOMPATIBLE. */
RELAY_C_API const char* relay_model_executor(const relay_model* model);

/* --- version 4 --- */
/* The number of batched calls of parts of the program, and of the runs that computed them: over all finished calls of
 * this model, and of functions that it returned. */
RELAY_C_API relay_status relay_model_batching(const relay_model* model, int64_t* calls, int64_t* runs);

/* --- version 5 --- */
/* State that is updated in place. The input whose memory this result uses if the input is donated; -1 if there is none.
 * With a graph, the caller donates an input for one run by passing its memory as the result's:
 *     outputs[1].data = inputs[2].data, with the same shape and dtype
 * The input must not overlap another one; if the run fails, its contents are lost. */
RELAY_C_API int64_t relay_model_input_of_output(const relay_model* model, size_t output);
/* Deprecated: relay_model_input_is_donated. */
RELAY_C_API int relay_model_input_is_given(const relay_model* model, size_t input);
/* Like relay_model_call, but takes ownership of the values, even on failure, and sets them to null. If possible, a
 * result uses the memory of a value that nothing else refers to. */
RELAY_C_API relay_status relay_model_call_owned(relay_model* model, relay_value** args, size_t count,
                                                relay_value** result);

/* --- version 6 --- */
/* Returns 1 if the model was compiled so that every run donates this input, else 0. A donated input's memory is
 * overwritten. */
RELAY_C_API int relay_model_input_is_donated(const relay_model* model, size_t input);

/* --- version 7: state from run to run ---
 * A session runs a model and keeps its state: the inputs that the model donates for a result (relay compile --donate
 * INPUT=RESULT). The state begins as zeros. Each run updates it, mostly in place. A session has the other inputs and
 * outputs only. Sessions of a model share its weights, may run in parallel, and may outlive the model. */
typedef struct relay_session relay_session;

RELAY_C_API relay_status relay_session_new(const relay_model* model, relay_session** session);
RELAY_C_API void relay_session_free(relay_session* session);
/* relay_model_run without the state. */
RELAY_C_API relay_status relay_session_run(relay_session* session, const relay_tensor* inputs, size_t input_count,
                                           relay_tensor* outputs, size_t output_count);
RELAY_C_API size_t relay_session_state_count(const relay_session* session);
RELAY_C_API relay_status relay_session_state(const relay_session* session, size_t index, relay_port* port);
/* A copy of a state, which the caller releases; its data is null if no run has given it a size. */
RELAY_C_API relay_status relay_session_get(const relay_session* session, size_t index, relay_tensor* value);
/* Copies `value` to a state. */
RELAY_C_API relay_status relay_session_set(relay_session* session, size_t index, const relay_tensor* value);
/* All states become zeros. */
RELAY_C_API relay_status relay_session_reset(relay_session* session);

#ifdef __cplusplus
}
#endif
#endif
