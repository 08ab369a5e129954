# Unit tests: one program a layer, relay_test_<layer>, made of its *_test.cpp and linked to what the layer may use.
# Fuzzers: one program a file of test/fuzz/, relay_<file>. Benchmarks: one program a file of bench/, relay_<file>;
# libraries.cpp is a part of relay_operators. Tools of the Python tests: one program a file of test/tools/, relay_<file>.
find_package(GTest)
if(NOT GTest_FOUND) # dev/setup product does not install it
  message(STATUS "GoogleTest is not here: no tests")
  return()
endif()

# test/test_main.cpp goes to the repository's root first, so that tests open golden files as "src/relay/..." from
# wherever they are started, and RELAY_SOURCE_DIR does not make objects depend on the checkout.
set_source_files_properties(test/test_main.cpp PROPERTIES COMPILE_DEFINITIONS "RELAY_ROOT=\"${CMAKE_SOURCE_DIR}\"")
add_library(relay_test_main STATIC EXCLUDE_FROM_ALL test/test_main.cpp)
target_link_libraries(relay_test_main PUBLIC GTest::gtest)
target_compile_definitions(relay_test_main INTERFACE "RELAY_SOURCE_DIR=\".\"")

# Layers whose tests take long, as NAME:SHARDS:SECONDS. They run as several ctest entries, to use all cores, which take
# these seconds each.
set(RELAY_SLOW_LAYERS transform:2:30 driver:2:25)

# Test programs spend their time in the libraries, which stay as optimised as they are.
function(relay_test_program target)
  target_compile_options(${target} PRIVATE "$<$<CONFIG:RelWithDebInfo>:-O1>")
endfunction()

# relay_add_test(NAME SECONDS PROGRAM ARGUMENT...): a ctest entry, run from the repository's root. ctest starts entries
# of the highest cost first, so that no long one is left at the end. SECONDS need not be exact.
function(relay_add_test name seconds)
  add_test(NAME ${name} COMMAND ${ARGN} WORKING_DIRECTORY "${CMAKE_SOURCE_DIR}")
  set_tests_properties(${name} PROPERTIES COST ${seconds} TIMEOUT 900)
endfunction()

foreach(folder ${RELAY_LAYERS})
  if(NOT RELAY_TESTS_${folder})
    continue()
  endif()
  string(REPLACE "/" "_" layer "${folder}")
  add_executable(relay_test_${layer} ${RELAY_TESTS_${folder}})
  relay_unity(relay_test_${layer} ${RELAY_TESTS_${folder}})
  relay_test_program(relay_test_${layer})
  target_link_libraries(relay_test_${layer} PRIVATE relay_${layer} relay_test_main)
  set(slow ${RELAY_SLOW_LAYERS})
  list(FILTER slow INCLUDE REGEX "^${folder}:")
  if(slow MATCHES ":([0-9]+):([0-9]+)")
    foreach(number RANGE 1 ${CMAKE_MATCH_1})
      set(name ${layer}.${number}of${CMAKE_MATCH_1})
      relay_add_test(${name} ${CMAKE_MATCH_2} relay_test_${layer} --gtest_brief=1)
      math(EXPR index "${number} - 1")
      set_tests_properties(${name} PROPERTIES
                           ENVIRONMENT "GTEST_TOTAL_SHARDS=${CMAKE_MATCH_1};GTEST_SHARD_INDEX=${index}")
    endforeach()
  else()
    relay_add_test(${layer} 5 relay_test_${layer} --gtest_brief=1)
  endif()
endforeach()

file(GLOB fuzzers CONFIGURE_DEPENDS RELATIVE "${CMAKE_SOURCE_DIR}" "${CMAKE_SOURCE_DIR}/test/fuzz/*.cpp")
file(GLOB tools CONFIGURE_DEPENDS RELATIVE "${CMAKE_SOURCE_DIR}" "${CMAKE_SOURCE_DIR}/test/tools/*.cpp")
file(GLOB benchmarks CONFIGURE_DEPENDS RELATIVE "${CMAKE_SOURCE_DIR}" "${CMAKE_SOURCE_DIR}/bench/*.cpp")
list(REMOVE_ITEM benchmarks bench/libraries.cpp)
if(CMAKE_CROSSCOMPILING) # an emulator's times say nothing
  set(benchmarks "")
endif()
foreach(file ${fuzzers} ${benchmarks} ${tools})
  get_filename_component(name "${file}" NAME_WE)
  add_executable(relay_${name} "${file}")
  relay_test_program(relay_${name})
  target_link_libraries(relay_${name} PRIVATE relay_all)
endforeach()
if(TARGET relay_functions)
  find_package(benchmark REQUIRED)
  target_link_libraries(relay_functions PRIVATE benchmark::benchmark)
endif()
if(TARGET relay_operators) # beside the kernels of libraries
  find_library(RELAY_DNNL dnnl REQUIRED)
  find_library(RELAY_OPENBLAS openblas REQUIRED)
  target_sources(relay_operators PRIVATE bench/libraries.cpp)
  target_link_libraries(relay_operators PRIVATE ${RELAY_DNNL} ${RELAY_OPENBLAS})
endif()

# What is proven of each operator (make test-ops), and the cases for their oracles.
add_executable(relay_op_proofs test/ops/prove.cpp test/ops/checks.cpp test/ops/compare.cpp test/ops/variants.cpp)
add_executable(relay_op_cases test/ops/cases.cpp test/ops/variants.cpp)
add_executable(relay_op_projects test/ops/projects.cpp test/ops/checks.cpp test/ops/compare.cpp test/ops/variants.cpp)
add_executable(relay_op_device test/ops/on_device.cpp test/ops/checks.cpp test/ops/compare.cpp test/ops/variants.cpp)
foreach(program relay_op_proofs relay_op_cases relay_op_projects relay_op_device)
  relay_test_program(${program})
  target_link_libraries(${program} PRIVATE relay_all)
endforeach()
# A slice of the operators' examples on an OpenCL device; make test-devices runs all. 77: there is none.
relay_add_test(op_device.opencl 60 relay_op_device --target opencl --first --every 8)
set_tests_properties(op_device.opencl PROPERTIES SKIP_RETURN_CODE 77)
foreach(shard 1 2)
  relay_add_test(op_proofs.${shard}of2 20 relay_op_proofs --short --fail --shard ${shard}/2)
endforeach()

# An OpenCL library with faults, for test/python/runtime/test_opencl.py.
add_library(relay_faulty_opencl MODULE test/tools/faulty_opencl.c)
target_compile_options(relay_faulty_opencl PRIVATE -fvisibility=default)
target_link_libraries(relay_faulty_opencl PRIVATE ${CMAKE_DL_LIBS})

# A CUDA driver without a GPU, for tests of the host's side (test/python/runtime/test_cuda.py) and of the code of kernels.
add_library(relay_mock_cuda MODULE test/cuda/mock/mock_cuda.cpp test/cuda/mock/ptx_machine.cpp
                                   test/cuda/mock/ptx_arithmetic.cpp)
target_include_directories(relay_mock_cuda PRIVATE src)
target_compile_options(relay_mock_cuda PRIVATE -O2 -ffp-contract=off)
# A slice of the operators' examples on it; make test-cuda runs all.
relay_add_test(op_device.cuda 60 relay_op_device --target cuda --first --every 8)
set_tests_properties(op_device.cuda PROPERTIES ENVIRONMENT "RELAY_CUDA_LIBRARY=$<TARGET_FILE:relay_mock_cuda>")
add_executable(relay_op_kernels test/ops/kernels.cpp test/ops/checks.cpp test/ops/compare.cpp test/ops/variants.cpp)
relay_test_program(relay_op_kernels)
target_include_directories(relay_op_kernels PRIVATE test/ops)
target_link_libraries(relay_op_kernels PRIVATE relay_all)
# Random kernels as PTX against the interpreter of loops.
add_executable(relay_fuzz_ptx test/cuda/fuzz_kernels.cpp test/cuda/warp_products.cpp test/cuda/mock/ptx_machine.cpp
                              test/cuda/mock/ptx_arithmetic.cpp)
target_include_directories(relay_fuzz_ptx PRIVATE src)
target_compile_options(relay_fuzz_ptx PRIVATE -ffp-contract=off)
target_link_libraries(relay_fuzz_ptx PRIVATE relay_all)
relay_add_test(fuzz_ptx 30 relay_fuzz_ptx --cases 200)
# Runs what relay_op_kernels wrote, without a compiler.
add_executable(relay_device_check test/cuda/device_check.cpp test/ops/compare.cpp)
relay_test_program(relay_device_check)
target_include_directories(relay_device_check PRIVATE src test/ops)
target_link_libraries(relay_device_check PRIVATE relay_runtime)

# A tool in C that has the runtime without the virtual machine.
add_executable(relay_without_vm test/tools/without_vm.c)
target_link_libraries(relay_without_vm PRIVATE relay_runtime_aot)
set_target_properties(relay_without_vm PROPERTIES LINKER_LANGUAGE CXX)

if(TARGET relay_fuzz_schedules)
  # The schedule fuzzer in short form: 400 cases. `make test-long` runs many more, these among them.
  foreach(first 1 201)
    relay_add_test(fuzz_schedules.from${first} 8 relay_fuzz_schedules --seed ${first} --cases 200)
  endforeach()
  # Blocks of threads, in the interpreter and as PTX.
  target_sources(relay_fuzz_schedules PRIVATE test/cuda/mock/ptx_machine.cpp test/cuda/mock/ptx_arithmetic.cpp)
  target_compile_options(relay_fuzz_schedules PRIVATE -ffp-contract=off)
  relay_add_test(fuzz_schedules.blocks 20 relay_fuzz_schedules --blocks --cases 100)
  foreach(seed 128 21728 22195) # they failed once
    relay_add_test(fuzz_schedules.blocks.seed${seed} 1 relay_fuzz_schedules --blocks --seed ${seed} --cases 1)
  endforeach()
  # Groups for several calls at once.
  relay_add_test(fuzz_schedules.batched 16 relay_fuzz_schedules --batched --cases 60)
  # Cases that it once failed.
  foreach(seed 5550 7772 23450 65419 68161 83559 85231)
    relay_add_test(fuzz_schedules.seed${seed} 1 relay_fuzz_schedules --seed ${seed} --cases 1)
  endforeach()
endif()

# The same of the program fuzzer: 200 programs.
if(TARGET relay_fuzz_programs)
  foreach(first 1 101)
    relay_add_test(fuzz_programs.from${first} 13 relay_fuzz_programs --seed ${first} --cases 100)
  endforeach()
endif()

# Integers near the ends of their types: 300 programs, and `make test-long` runs 100,000.
if(TARGET relay_fuzz_integers)
  add_test(NAME fuzz_integers COMMAND relay_fuzz_integers --cases 300 WORKING_DIRECTORY "${CMAKE_SOURCE_DIR}")
  set_tests_properties(fuzz_integers PROPERTIES TIMEOUT 900)
endif()

# 150 programs, each compiled after a random order of passes and after one pass alone; `make test-passes` runs 100,000.
if(TARGET relay_fuzz_passes)
  relay_add_test(fuzz_passes 10 relay_fuzz_passes --cases 150)
endif()

# Random networks for all targets, lowered only; `make test-long` lowers 3,000.
if(TARGET relay_fuzz_networks)
  relay_add_test(fuzz_networks 12 relay_fuzz_networks --cases 20)
endif()

# The examples that are C and C++ programs, as their readers build them.
if(TARGET relay)
  foreach(library all transform runtime_aot)
    add_library(relay::relay_${library} ALIAS relay_${library})
  endforeach()
  foreach(example custom_op custom_pass custom_algorithm custom_rule custom_target custom_backend c_runtime)
    add_subdirectory(examples/${example})
  endforeach()
  set_target_properties(custom_op custom_pass custom_algorithm custom_rule custom_target custom_backend tree_lstm PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
  add_test(NAME custom_op COMMAND custom_op)
  add_test(NAME custom_target COMMAND custom_target)
endif()
