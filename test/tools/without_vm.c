/* relay_without_vm ARTIFACT: loads it with the runtime that has no virtual machine, says what runs it, and runs it on ones when
 * it takes tensors of known shapes. For test/python/language/test_programs.py. */
#include <stdio.h>
#include <stdlib.h>

#include "relay/runtime/relay_c.h"

int main(int argc, char** argv) {
  relay_model* model;
  if (argc != 2) return 2;
  if (relay_model_load(argv[1], NULL, &model) != RELAY_OK) return fputs(relay_last_error(), stderr), 1;
  printf("%s\n", relay_model_executor(model));
  relay_tensor inputs[8], output = {0};
  size_t count = relay_model_input_count(model);
  for (size_t i = 0; i < count && i < 8; ++i) {
    relay_port port;
    relay_model_input(model, i, &port);
    if (port.rank < 0) return relay_model_free(model), 0;
    size_t elements = 1;
    for (int32_t d = 0; d < port.rank; ++d) elements *= (size_t)port.dims[d];
    float* ones = malloc(elements * sizeof(float));
    for (size_t k = 0; k < elements; ++k) ones[k] = 1;
    inputs[i] = (relay_tensor){ones, port.dims, port.rank, RELAY_FLOAT32, NULL};
  }
  if (relay_model_run(model, inputs, count, &output, 1) != RELAY_OK) return fputs(relay_last_error(), stderr), 1;
  printf("%g\n", ((float*)output.data)[0]);
  relay_tensor_release(&output);
  for (size_t i = 0; i < count; ++i) free(inputs[i].data);
  relay_model_free(model);
  return 0;
}
