/* An OpenCL library that passes every call to the real one, except for the faults of the environment variable
   RELAY_OPENCL_FAULTS, a list such as "no-memory,lost":

     no-platform  there is no platform
     old          devices have version 1.1
     no-double    devices lack cl_khr_fp64
     no-memory    buffers of more than a MiB cannot be made
     lost         kernels are launched, and the first one ends with an error
     hang         the first kernel never ends
     no-build     the compiler refuses every program
     strict-order a kernel is refused that does not wait for the last write on another queue, as drivers may read older
                  memory then

   Relay loads it by RELAY_OPENCL_LIBRARY. */
#define _GNU_SOURCE
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

static int has(const char* fault) {
  const char* given = getenv("RELAY_OPENCL_FAULTS");
  return given && strstr(given, fault) != NULL;
}

static void* real(const char* name) {
  static void* library;
  if (!library) library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
  return library ? dlsym(library, name) : NULL;
}

#define PASS(result, name, params, args)        \
  CL_API_ENTRY result CL_API_CALL name params { \
    result(*call) params = real(#name);         \
    return call args;                           \
  }

PASS(cl_int, clGetPlatformInfo, (cl_platform_id a, cl_platform_info b, size_t c, void* d, size_t* e), (a, b, c, d, e))
PASS(cl_int, clGetDeviceIDs, (cl_platform_id a, cl_device_type b, cl_uint c, cl_device_id* d, cl_uint* e),
     (a, b, c, d, e))
PASS(cl_context, clCreateContext,
     (const cl_context_properties* a, cl_uint b, const cl_device_id* c,
      void(CL_CALLBACK* d)(const char*, const void*, size_t, void*), void* e, cl_int* f),
     (a, b, c, d, e, f))
PASS(cl_int, clReleaseContext, (cl_context a), (a))
PASS(cl_command_queue, clCreateCommandQueue, (cl_context a, cl_device_id b, cl_command_queue_properties c, cl_int* d),
     (a, b, c, d))
PASS(cl_int, clReleaseCommandQueue, (cl_command_queue a), (a))
PASS(cl_int, clReleaseMemObject, (cl_mem a), (a))
PASS(cl_program, clCreateProgramWithSource, (cl_context a, cl_uint b, const char** c, const size_t* d, cl_int* e),
     (a, b, c, d, e))
PASS(cl_int, clGetProgramBuildInfo,
     (cl_program a, cl_device_id b, cl_program_build_info c, size_t d, void* e, size_t* f), (a, b, c, d, e, f))
PASS(cl_int, clReleaseProgram, (cl_program a), (a))
PASS(cl_kernel, clCreateKernel, (cl_program a, const char* b, cl_int* c), (a, b, c))
PASS(cl_int, clReleaseKernel, (cl_kernel a), (a))
PASS(cl_int, clGetKernelInfo, (cl_kernel a, cl_kernel_info b, size_t c, void* d, size_t* e), (a, b, c, d, e))
PASS(cl_int, clGetKernelWorkGroupInfo,
     (cl_kernel a, cl_device_id b, cl_kernel_work_group_info c, size_t d, void* e, size_t* f), (a, b, c, d, e, f))
PASS(cl_int, clSetKernelArg, (cl_kernel a, cl_uint b, size_t c, const void* d), (a, b, c, d))
PASS(cl_int, clEnqueueReadBuffer,
     (cl_command_queue a, cl_mem b, cl_bool c, size_t d, size_t e, void* f, cl_uint g, const cl_event* h, cl_event* i),
     (a, b, c, d, e, f, g, h, i))
PASS(cl_int, clEnqueueCopyBuffer,
     (cl_command_queue a, cl_mem b, cl_mem c, size_t d, size_t e, size_t f, cl_uint g, const cl_event* h, cl_event* i),
     (a, b, c, d, e, f, g, h, i))
PASS(cl_int, clEnqueueFillBuffer,
     (cl_command_queue a, cl_mem b, const void* c, size_t d, size_t e, size_t f, cl_uint g, const cl_event* h,
      cl_event* i),
     (a, b, c, d, e, f, g, h, i))
PASS(cl_int, clFlush, (cl_command_queue a), (a))
PASS(cl_int, clReleaseEvent, (cl_event a), (a))
PASS(cl_int, clGetEventProfilingInfo, (cl_event a, cl_profiling_info b, size_t c, void* d, size_t* e), (a, b, c, d, e))

CL_API_ENTRY cl_int CL_API_CALL clGetPlatformIDs(cl_uint n, cl_platform_id* ids, cl_uint* count) {
  cl_int (*call)(cl_uint, cl_platform_id*, cl_uint*) = real("clGetPlatformIDs");
  if (!has("no-platform")) return call(n, ids, count);
  if (count) *count = 0;
  return -1001; /* CL_PLATFORM_NOT_FOUND_KHR */
}

CL_API_ENTRY cl_int CL_API_CALL clGetDeviceInfo(cl_device_id d, cl_device_info what, size_t n, void* to, size_t* size) {
  cl_int (*call)(cl_device_id, cl_device_info, size_t, void*, size_t*) = real("clGetDeviceInfo");
  static const char old[] = "OpenCL 1.1 old";
  if (what == CL_DEVICE_VERSION && has("old")) {
    if (size) *size = sizeof old;
    if (to && n >= sizeof old) memcpy(to, old, sizeof old);
    return CL_SUCCESS;
  }
  const cl_int code = call(d, what, n, to, size);
  if (what == CL_DEVICE_DOUBLE_FP_CONFIG && has("no-double") && to) memset(to, 0, n);
  return code;
}

CL_API_ENTRY cl_mem CL_API_CALL clCreateBuffer(cl_context c, cl_mem_flags f, size_t bytes, void* from, cl_int* code) {
  cl_mem (*call)(cl_context, cl_mem_flags, size_t, void*, cl_int*) = real("clCreateBuffer");
  if (bytes <= 1 << 20 || !has("no-memory")) return call(c, f, bytes, from, code);
  *code = CL_MEM_OBJECT_ALLOCATION_FAILURE;
  return NULL;
}

CL_API_ENTRY cl_int CL_API_CALL clBuildProgram(cl_program p, cl_uint n, const cl_device_id* d, const char* o,
                                               void(CL_CALLBACK* done)(cl_program, void*), void* data) {
  cl_int (*call)(cl_program, cl_uint, const cl_device_id*, const char*, void(CL_CALLBACK*)(cl_program, void*), void*) =
      real("clBuildProgram");
  return has("no-build") ? CL_BUILD_PROGRAM_FAILURE : call(p, n, d, o, done, data);
}

static cl_event last_write;
static cl_command_queue written_by;

CL_API_ENTRY cl_int CL_API_CALL clEnqueueWriteBuffer(cl_command_queue q, cl_mem to, cl_bool blocking, size_t at,
                                                     size_t bytes, const void* from, cl_uint n, const cl_event* w,
                                                     cl_event* e) {
  cl_int (*call)(cl_command_queue, cl_mem, cl_bool, size_t, size_t, const void*, cl_uint, const cl_event*, cl_event*) =
      real("clEnqueueWriteBuffer");
  const cl_int code = call(q, to, blocking, at, bytes, from, n, w, e);
  last_write = e ? *e : NULL;
  written_by = q;
  return code;
}

CL_API_ENTRY cl_int CL_API_CALL clEnqueueNDRangeKernel(cl_command_queue q, cl_kernel k, cl_uint dims, const size_t* o,
                                                       const size_t* g, const size_t* l, cl_uint n, const cl_event* w,
                                                       cl_event* e) {
  cl_int (*call)(cl_command_queue, cl_kernel, cl_uint, const size_t*, const size_t*, const size_t*, cl_uint,
                 const cl_event*, cl_event*) = real("clEnqueueNDRangeKernel");
  if (has("strict-order") && written_by && written_by != q && (n == 0 || w[n - 1] != last_write))
    return CL_INVALID_EVENT_WAIT_LIST;
  return call(q, k, dims, o, g, l, n, w, e);
}

/* The event of the marker behind the kernels fails (lost), or is never done (hang). */
CL_API_ENTRY cl_int CL_API_CALL clEnqueueMarkerWithWaitList(cl_command_queue q, cl_uint n, const cl_event* w,
                                                            cl_event* e) {
  cl_int (*call)(cl_command_queue, cl_uint, const cl_event*, cl_event*) = real("clEnqueueMarkerWithWaitList");
  return call(q, n, w, e);
}

CL_API_ENTRY cl_int CL_API_CALL clSetEventCallback(cl_event e, cl_int type,
                                                   void(CL_CALLBACK* done)(cl_event, cl_int, void*), void* data) {
  cl_int (*call)(cl_event, cl_int, void(CL_CALLBACK*)(cl_event, cl_int, void*), void*) = real("clSetEventCallback");
  static int markers; /* the weights and inputs are copied first */
  ++markers;
  const char* after = getenv("RELAY_OPENCL_FAULTS_AFTER");
  if (markers > (after ? atoi(after) : 0)) {
    if (has("hang")) return CL_SUCCESS; /* it is never called */
    if (has("lost")) {
      done(e, CL_OUT_OF_RESOURCES, data);
      return CL_SUCCESS;
    }
  }
  return call(e, type, done, data);
}
