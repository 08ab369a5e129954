# Sources compiled together: up to RELAY_UNITY_SIZE files of one folder become one translation unit, because headers and
# templates take most of the time of a file. RELAY_UNITY=OFF compiles each file
# alone, which is better while few files are edited.
#
# Files of a batch share one scope: two file-local functions of one name clash. Rename one of them, or, where the shared
# name is a convention, name the file below.
option(RELAY_UNITY "Compile files of a folder together" ON)
set(RELAY_UNITY_SIZE 14)

set(RELAY_COMPILED_ALONE
    python/src/data.cpp
    python/src/nodes.cpp
    python/src/te.cpp
    src/relay/driver/schedules_test.cpp
    src/relay/driver/isolated_step.cpp
    src/relay/driver/verify_test.cpp
    src/relay/eval/lanes.cpp
    src/relay/eval/te_test.cpp
    src/relay/exec/match_test.cpp
    src/relay/exec/sizes.cpp
    src/relay/exec/value_code.cpp
    src/relay/frontend/common/known.cpp
    src/relay/frontend/onnx/random.cpp
    src/relay/frontend/onnx/microsoft/bifurcation.cpp
    src/relay/frontend/onnx/microsoft/ordered.cpp
    src/relay/frontend/onnx/microsoft/quantize.cpp
    src/relay/frontend/onnx/microsoft/rotary.cpp
    src/relay/frontend/onnx/microsoft/weights.cpp
    src/relay/ir/equal.cpp
    src/relay/loop/simplify.cpp
    src/relay/lower/algorithms/attention/plan.cpp
    src/relay/lower/lower_test.cpp
    src/relay/lower/rules_test.cpp
    src/relay/codegen/llvm/llvm_memory.cpp
    src/relay/measure/external_engine.cpp
    src/relay/op/custom.cpp
    src/relay/op/create/shape_of.cpp
    src/relay/op/sort/radix.cpp
    src/relay/op/nn/recurrent/recurrent_definition.cpp
    src/relay/runtime/program/program.cpp
    src/relay/runtime/functions/vm.cpp # left out of relay_runtime_aot, as the next
    src/relay/runtime/functions/with_vm.cpp
    src/relay/scalar/expr.cpp
    src/relay/scalar/simplify_test.cpp
    src/relay/target/x86/x86_test.cpp
    src/relay/te/te.cpp
    src/relay/tensor/safetensors.cpp
    src/relay/text/names.cpp
    src/relay/text/parse_type.cpp
    src/relay/transform/algebra/combine_parallel.cpp
    src/relay/transform/algebra/specialise.cpp
    src/relay/transform/control/lambda_lift.cpp
    src/relay/transform/control/to_cps.cpp
    src/relay/transform/control/to_graph_normal_form.cpp
    src/relay/transform/gradient/lazy_gradient_init.cpp
    src/relay/transform/group/fuse_results.cpp)

# relay_unity(TARGET SOURCE...): batches the sources by folder, in equal parts.
function(relay_unity target)
  if(NOT RELAY_UNITY)
    return()
  endif()
  set(folders "")
  foreach(source ${ARGN})
    string(REPLACE "${CMAKE_SOURCE_DIR}/" "" source "${source}")
    if(source IN_LIST RELAY_COMPILED_ALONE)
      continue()
    endif()
    get_filename_component(folder "${source}" DIRECTORY)
    list(APPEND folders "${folder}")
    list(APPEND sources_in_${folder} "${source}")
  endforeach()
  list(REMOVE_DUPLICATES folders)
  foreach(folder ${folders})
    set(sources ${sources_in_${folder}})
    list(SORT sources)
    list(LENGTH sources count)
    math(EXPR batches "(${count} + ${RELAY_UNITY_SIZE} - 1) / ${RELAY_UNITY_SIZE}")
    string(REPLACE "/" "_" name "${folder}")
    set(number 0)
    foreach(source ${sources})
      math(EXPR batch "${number} * ${batches} / ${count}")
      set_property(SOURCE "${CMAKE_SOURCE_DIR}/${source}" PROPERTY UNITY_GROUP "${name}_${batch}")
      math(EXPR number "${number} + 1")
    endforeach()
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()
