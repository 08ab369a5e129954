// OpenCL's functions, found in the driver loader when a device is first asked for: nothing is linked.
#pragma once

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include "relay/base/diagnostics.h"

namespace relay::runtime {

#define RELAY_OPENCL_FUNCTIONS(F)                                                                                     \
  F(clGetPlatformIDs)                                                                                                 \
  F(clGetPlatformInfo)                                                                                                \
  F(clGetDeviceIDs) F(clGetDeviceInfo) F(clCreateContext) F(clReleaseContext) F(clCreateCommandQueue)                 \
      F(clReleaseCommandQueue) F(clCreateBuffer) F(clReleaseMemObject) F(clCreateProgramWithSource) F(clBuildProgram) \
          F(clGetProgramBuildInfo) F(clReleaseProgram) F(clCreateKernel) F(clReleaseKernel) F(clGetKernelInfo)        \
              F(clSetKernelArg) F(clEnqueueNDRangeKernel) F(clEnqueueReadBuffer) F(clEnqueueWriteBuffer)              \
                  F(clEnqueueCopyBuffer) F(clEnqueueFillBuffer) F(clEnqueueMarkerWithWaitList) F(clFlush)             \
                      F(clSetEventCallback) F(clReleaseEvent)

struct OpenClLibrary {
#define RELAY_OPENCL_MEMBER(name) decltype(&::name) name = nullptr;
  RELAY_OPENCL_FUNCTIONS(RELAY_OPENCL_MEMBER)
#undef RELAY_OPENCL_MEMBER
};

// The library of the environment variable RELAY_OPENCL_LIBRARY, or libOpenCL.so.1, loaded once and kept. unknown_target
// if there is none, or if it lacks a function.
Result<const OpenClLibrary*> opencl_library();

// "CL_OUT_OF_RESOURCES (-5)"
std::string opencl_error(cl_int code);

}  // namespace relay::runtime
