/* A program that was written for version 1 of the interface: it runs with every later library. */
#include "relay_c_1.h"

#include <stdio.h>

static int failed(relay_status status) { return status != RELAY_OK && puts(relay_last_error()); }

int main(int argc, char** argv) {
  relay_load_options options = {sizeof options, 1};
  relay_model* model = NULL;
  if (argc < 2 || relay_c_version() < RELAY_C_VERSION) return 2;
  if (relay_model_load("no such file", &options, &model) != RELAY_BAD_FILE || !relay_last_error()[0]) return 3;
  if (failed(relay_model_load(argv[1], &options, &model))) return 4;
  relay_port in, out;
  if (failed(relay_model_input(model, 0, &in)) || failed(relay_model_output(model, 0, &out))) return 5;
  printf("%zu %s %d %s %d %d\n", relay_model_input_count(model), in.name, (int)in.rank, in.dim_texts[0],
         (int)in.dims[1], (int)out.dtype);
  float x[8] = {1, 2, 3, 4, 5, 6, 7, 8}, w[32], y[16] = {0};
  for (int i = 0; i < 32; ++i) w[i] = i < 4;
  int64_t x_shape[2] = {2, 4}, w_shape[2] = {8, 4}, y_shape[2] = {2, 8}, wrong[2] = {2, 3};
  relay_tensor inputs[2] = {{x, x_shape, 2, RELAY_FLOAT32, NULL}, {w, w_shape, 2, RELAY_FLOAT32, NULL}};
  relay_tensor results[1] = {{y, y_shape, 2, RELAY_FLOAT32, NULL}};
  if (failed(relay_model_run(model, inputs, 2, results, 1))) return 6;
  printf("%g %g %g\n", y[0], y[1], y[8]);
  results[0] = (relay_tensor){NULL, NULL, 0, RELAY_FLOAT32, NULL};
  if (failed(relay_model_run(model, inputs, 2, results, 1))) return 7;
  printf("%g %d %d\n", ((float*)results[0].data)[8], (int)results[0].rank, results[0].owner != NULL);
  relay_tensor_release(&results[0]);
  inputs[0].shape = wrong;
  results[0] = (relay_tensor){NULL, NULL, 0, RELAY_FLOAT32, NULL};
  printf("%d\n", relay_model_run(model, inputs, 2, results, 1) == RELAY_WRONG_INPUT);
  relay_model_free(model);
  return 0;
}
