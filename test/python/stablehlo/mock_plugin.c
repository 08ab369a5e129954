/* A PJRT plugin without a device. test_pjrt.py writes the structs (interface.h) from Relay's declarations.
 *
 * Each program returns its first input. Copies are done as late as the interface allows: uploads when a program reads
 * them, downloads when their event is awaited. A buffer that is destroyed before the event of its upload was awaited
 * counts as a mistake. Live objects are counted by kind, and each place can be made to fail. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "interface.h"

enum kind { CLIENT, LOADED, EXECUTABLE, BUFFER, EVENT, ERROR, KINDS };
static const char* const names[KINDS] = {"client", "loaded", "executable", "buffer", "event", "error"};
struct object {
  enum kind kind;
  int64_t dims[8];
  size_t rank, bytes;
  int type;
  char* data;             /* of a buffer, */
  const void* from;       /* ... and of its upload or download */
  char* to;
  struct object* buffer;  /* whose upload an event stands for */
  int awaited;
};
static long alive[KINDS], mistakes, outputs = 1;
static char failing[64];

long mock_alive(const char* kind) {
  for (int i = 0; i < KINDS; ++i)
    if (!strcmp(names[i], kind)) return alive[i];
  return mistakes;
}
void mock_fail(const char* name) { strncpy(failing, name, sizeof failing - 1); }
void mock_outputs(long count) { outputs = count; }

static struct object* made(enum kind kind) {
  struct object* o = calloc(1, sizeof *o);
  o->kind = kind, ++alive[kind];
  return o;
}
static void freed(struct object* o, enum kind kind) {
  if (!o || o->kind != kind) {
    ++mistakes;
    return;
  }
  --alive[kind];
  o->kind = KINDS;
  free(o->data), free(o);
}
static void* failure(const char* name) { return strcmp(failing, name) ? 0 : made(ERROR); }
#define CHECK(name) if (failing[0] && !strcmp(failing, name)) return failure(name)

static void* error_destroy(struct PJRT_Error_Destroy_Args* a) { return freed(a->error, ERROR), (void*)0; }
static void* error_message(struct PJRT_Error_Message_Args* a) {
  a->message = (void*)"as planned", a->message_size = 10;
  return 0;
}
static void* error_code(struct PJRT_Error_GetCode_Args* a) {
  return a->code = strcmp(failing, "memory") ? 13 : 8, (void*)0;
}
static void* initialize(struct PJRT_Plugin_Initialize_Args* a) { return a->struct_size == 16 ? 0 : made(ERROR); }
static void* event_destroy(struct PJRT_Event_Destroy_Args* a) { return freed(a->event, EVENT), (void*)0; }
static void* event_await(struct PJRT_Event_Await_Args* a) {
  struct object* e = a->event;
  if (e->buffer) {
    CHECK("upload");
    memcpy(e->buffer->data, e->from, e->bytes), e->buffer->awaited = 1;
  } else if (e->to) {
    CHECK("download");
    memcpy(e->to, e->from, e->bytes);
  } else {
    CHECK("work");
  }
  return 0;
}
static void* client_create(struct PJRT_Client_Create_Args* a) { return a->client = made(CLIENT), (void*)0; }
static void* client_destroy(struct PJRT_Client_Destroy_Args* a) { return freed(a->client, CLIENT), (void*)0; }
static void* platform(struct PJRT_Client_PlatformName_Args* a) {
  return a->platform_name = (void*)"mock", a->platform_name_size = 4, (void*)0;
}
static void* devices(struct PJRT_Client_AddressableDevices_Args* a) {
  static void* all[] = {&failing};
  return a->addressable_devices = all, a->num_addressable_devices = 1, (void*)0;
}
static void* compile(struct PJRT_Client_Compile_Args* a) {
  CHECK("compile");
  return a->executable = made(LOADED), (void*)0;
}
static void* upload(struct PJRT_Client_BufferFromHostBuffer_Args* a) {
  static int count;
  if (!strcmp(failing, "second upload") && ++count % 2 == 0) return made(ERROR);
  struct object *b = made(BUFFER), *e = made(EVENT);
  b->rank = a->num_dims, b->type = a->type, b->bytes = 4;
  memcpy(b->dims, a->dims, 8 * b->rank);
  for (size_t i = 0; i < b->rank; ++i) b->bytes *= (size_t)b->dims[i];
  b->data = malloc(b->bytes + 1);
  memset(b->data, 0xA5, b->bytes);
  b->from = e->from = a->data, e->bytes = b->bytes, e->buffer = b;
  a->buffer = b, a->done_with_host_buffer = e;
  return 0;
}
static void* executable_destroy(struct PJRT_Executable_Destroy_Args* a) {
  return freed(a->executable, EXECUTABLE), (void*)0;
}
static void* num_outputs(struct PJRT_Executable_NumOutputs_Args* a) {
  CHECK("count");
  return a->num_outputs = (size_t)outputs, (void*)0;
}
static void* loaded_destroy(struct PJRT_LoadedExecutable_Destroy_Args* a) { return freed(a->executable, LOADED), (void*)0; }
static void* get_executable(struct PJRT_LoadedExecutable_GetExecutable_Args* a) {
  return a->executable = made(EXECUTABLE), (void*)0;
}
static void* execute(struct PJRT_LoadedExecutable_Execute_Args* a) {
  CHECK("execute");
  CHECK("memory");
  const struct object* from = ((void***)a->argument_lists)[0][0];
  struct object* b = made(BUFFER);
  char* data = malloc(from->bytes + 1);
  *b = *from, b->data = data, b->awaited = 1;
  memcpy(data, from->from, from->bytes);
  ((void***)a->output_lists)[0][0] = b;
  *(void**)a->device_complete_events = made(EVENT);
  return 0;
}
static void* buffer_destroy(struct PJRT_Buffer_Destroy_Args* a) {
  struct object* b = a->buffer;
  mistakes += b && !b->awaited && strcmp(failing, "upload");
  return freed(b, BUFFER), (void*)0;
}
static void* element_type(struct PJRT_Buffer_ElementType_Args* a) {
  return a->type = ((struct object*)a->buffer)->type, (void*)0;
}
static void* dimensions(struct PJRT_Buffer_Dimensions_Args* a) {
  struct object* b = a->buffer;
  return a->dims = b->dims, a->num_dims = b->rank, (void*)0;
}
static void* to_host(struct PJRT_Buffer_ToHostBuffer_Args* a) {
  CHECK("to host");
  struct object *b = a->src, *e = made(EVENT);
  const struct PJRT_Buffer_MemoryLayout* layout = a->host_layout;
  for (size_t i = 0; i < b->rank; ++i)
    mistakes += layout->tiled.minor_to_major[i] != (int64_t)(b->rank - 1 - i);
  mistakes += a->dst_size != b->bytes;
  e->from = b->data, e->bytes = b->bytes, e->to = a->dst;
  return a->event = e, (void*)0;
}

static struct { size_t size; void* extension; struct PJRT_Api_Version version; void* functions[71]; } table;

void* GetPjrtApi(void) {
  table.size = sizeof table, table.version.struct_size = 24, table.version.minor_version = 99;
  table.functions[0] = error_destroy, table.functions[1] = error_message, table.functions[2] = error_code;
  table.functions[3] = initialize, table.functions[5] = event_destroy, table.functions[8] = event_await;
  table.functions[10] = client_create, table.functions[11] = client_destroy, table.functions[12] = platform;
  table.functions[16] = devices, table.functions[20] = compile, table.functions[22] = upload;
  table.functions[40] = executable_destroy, table.functions[44] = num_outputs, table.functions[50] = loaded_destroy;
  table.functions[51] = get_executable, table.functions[55] = execute, table.functions[58] = buffer_destroy;
  table.functions[59] = element_type, table.functions[60] = dimensions, table.functions[70] = to_host;
  return &table;
}
