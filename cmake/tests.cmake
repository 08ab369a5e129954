# Unit tests: one program a layer, relay_test_<layer>, made of its *_test.cpp and linked to what the layer may use.
# Fuzzers: one program a file of test/fuzz/, relay_<file>. Benchmarks: one program a file of bench/, relay_<file>;
# libraries.cpp is a part of relay_operators. Tools of the Python tests: one program a file of test/tools/, relay_<file>.
find_package(GTest REQUIRED)

# test/test_main.cpp goes to the repository's root first, so that tests open golden files as "src/relay/..." from
# wherever they are started, and RELAY_SOURCE_DIR does not make objects depend on the checkout.
set_source_files_properties(test/test_main.cpp PROPERTIES COMPILE_DEFINITIONS "RELAY_ROOT=\"${CMAKE_SOURCE_DIR}\"")
add_library(relay_test_main STATIC EXCLUDE_FROM_ALL test/test_main.cpp)
target_link_libraries(relay_test_main PUBLIC GTest::gtest)
target_compile_definitions(relay_test_main INTERFACE "RELAY_SOURCE_DIR=\".\"")

set(RELAY_SLOW_LAYERS lower exec driver) # run as two ctest entries each, to use both cores

foreach(folder ${RELAY_LAYERS})
  if(NOT RELAY_TESTS_${folder})
    continue()
  endif()
  string(REPLACE "/" "_" layer "${folder}")
  add_executable(relay_test_${layer} ${RELAY_TESTS_${folder}})
  relay_unity(relay_test_${layer} ${RELAY_TESTS_${folder}})
  target_link_libraries(relay_test_${layer} PRIVATE relay_${layer} relay_test_main)
  if(folder IN_LIST RELAY_SLOW_LAYERS)
    set(shards 2)
  else()
    set(shards 1)
  endif()
  math(EXPR last "${shards} - 1")
  foreach(shard RANGE ${last})
    set(name ${layer})
    if(shards GREATER 1)
      math(EXPR number "${shard} + 1")
      set(name "${layer}.${number}of${shards}")
    endif()
    add_test(NAME ${name} COMMAND relay_test_${layer} --gtest_brief=1 WORKING_DIRECTORY "${CMAKE_SOURCE_DIR}")
    set_tests_properties(${name} PROPERTIES TIMEOUT 900
                         ENVIRONMENT "GTEST_TOTAL_SHARDS=${shards};GTEST_SHARD_INDEX=${shard}")
  endforeach()
endforeach()

file(GLOB fuzzers CONFIGURE_DEPENDS RELATIVE "${CMAKE_SOURCE_DIR}" "${CMAKE_SOURCE_DIR}/test/fuzz/*.cpp")
file(GLOB tools CONFIGURE_DEPENDS RELATIVE "${CMAKE_SOURCE_DIR}" "${CMAKE_SOURCE_DIR}/test/tools/*.cpp")
file(GLOB benchmarks CONFIGURE_DEPENDS RELATIVE "${CMAKE_SOURCE_DIR}" "${CMAKE_SOURCE_DIR}/bench/*.cpp")
list(REMOVE_ITEM benchmarks bench/libraries.cpp)
foreach(file ${fuzzers} ${benchmarks} ${tools})
  get_filename_component(name "${file}" NAME_WE)
  add_executable(relay_${name} "${file}")
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
add_executable(relay_op_proofs test/ops/prove.cpp test/ops/checks.cpp test/ops/variants.cpp)
add_executable(relay_op_cases test/ops/cases.cpp test/ops/variants.cpp)
target_link_libraries(relay_op_proofs PRIVATE relay_all)
target_link_libraries(relay_op_cases PRIVATE relay_all)
foreach(shard 1 2)
  add_test(NAME op_proofs.${shard}of2 COMMAND relay_op_proofs --short --fail --shard ${shard}/2
           WORKING_DIRECTORY "${CMAKE_SOURCE_DIR}")
  set_tests_properties(op_proofs.${shard}of2 PROPERTIES TIMEOUT 900)
endforeach()

# A tool in C that has the runtime without the virtual machine.
add_executable(relay_without_vm test/tools/without_vm.c)
target_link_libraries(relay_without_vm PRIVATE relay_runtime_aot)
set_target_properties(relay_without_vm PROPERTIES LINKER_LANGUAGE CXX)

# The schedule fuzzer in short form: 2,000 cases. `make test-long` runs many more.
if(TARGET relay_fuzz_schedules)
  foreach(first 1 1001)
    add_test(NAME fuzz_schedules.from${first} COMMAND relay_fuzz_schedules --seed ${first} --cases 1000
             WORKING_DIRECTORY "${CMAKE_SOURCE_DIR}")
    set_tests_properties(fuzz_schedules.from${first} PROPERTIES TIMEOUT 900)
  endforeach()
endif()

# Groups for several calls at once; a tenth as fast with sanitizers.
if(TARGET relay_fuzz_schedules)
  if(RELAY_SANITIZE)
    set(batched_cases 150)
  else()
    set(batched_cases 500)
  endif()
  add_test(NAME fuzz_schedules.batched COMMAND relay_fuzz_schedules --batched --cases ${batched_cases}
           WORKING_DIRECTORY "${CMAKE_SOURCE_DIR}")
  set_tests_properties(fuzz_schedules.batched PROPERTIES TIMEOUT 900)
endif()

# Cases that it once failed.
if(TARGET relay_fuzz_schedules)
  foreach(seed 5550 7772 23450 65419 68161 83559 85231)
    add_test(NAME fuzz_schedules.seed${seed} COMMAND relay_fuzz_schedules --seed ${seed} --cases 1
             WORKING_DIRECTORY "${CMAKE_SOURCE_DIR}")
  endforeach()
endif()

# The same of the program fuzzer: 1,000 programs, and every pair of kinds of nodes.
if(TARGET relay_fuzz_programs)
  add_test(NAME fuzz_programs COMMAND relay_fuzz_programs --cases 1000 WORKING_DIRECTORY "${CMAKE_SOURCE_DIR}")
  set_tests_properties(fuzz_programs PROPERTIES TIMEOUT 900)
endif()

# Integers near the ends of their types: 300 programs, and `make test-long` runs 30,000.
if(TARGET relay_fuzz_integers)
  add_test(NAME fuzz_integers COMMAND relay_fuzz_integers --cases 300 WORKING_DIRECTORY "${CMAKE_SOURCE_DIR}")
  set_tests_properties(fuzz_integers PROPERTIES TIMEOUT 900)
endif()

# 600 programs, each after a random order of passes and one pass alone; `make test-passes` runs 20,000.
if(TARGET relay_fuzz_passes)
  add_test(NAME fuzz_passes COMMAND relay_fuzz_passes --cases 600 WORKING_DIRECTORY "${CMAKE_SOURCE_DIR}")
  set_tests_properties(fuzz_passes PROPERTIES TIMEOUT 900)
endif()

# Random networks for all targets, lowered only; `make test-long` lowers 3,000.
if(TARGET relay_fuzz_networks)
  add_test(NAME fuzz_networks COMMAND relay_fuzz_networks --cases 60 WORKING_DIRECTORY "${CMAKE_SOURCE_DIR}")
  set_tests_properties(fuzz_networks PROPERTIES TIMEOUT 900)
endif()

# The examples that are C and C++ programs, as their readers build them.
if(TARGET relay)
  foreach(library all transform runtime_aot)
    add_library(relay::relay_${library} ALIAS relay_${library})
  endforeach()
  foreach(example custom_op custom_pass custom_algorithm custom_rule custom_target c_runtime)
    add_subdirectory(examples/${example})
  endforeach()
  set_target_properties(custom_op custom_pass custom_algorithm custom_rule custom_target tree_lstm PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
  add_test(NAME custom_op COMMAND custom_op)
  add_test(NAME custom_target COMMAND custom_target)
endif()
