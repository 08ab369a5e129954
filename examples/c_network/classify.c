/* Runs a network on one row of numbers and prints the largest of its results: classify NETWORK.rart NUMBERS... */
#include <relay/runtime/relay_c.h>
#include <stdio.h>
#include <stdlib.h>

static int fail(void) {
  fprintf(stderr, "%s\n", relay_last_error());
  return 1;
}

static size_t largest(const float* values, int64_t count) {
  size_t best = 0;
  for (int64_t i = 1; i < count; ++i)
    if (values[i] > values[best]) best = (size_t)i;
  return best;
}

int main(int argc, char** argv) {
  if (relay_c_version() < RELAY_C_VERSION) {
    fprintf(stderr, "the library has version %u of the interface, and %d is needed\n", relay_c_version(),
            RELAY_C_VERSION);
    return 1;
  }
  relay_model* model;
  if (argc < 2 || relay_model_load(argv[1], NULL, &model) != RELAY_OK) return fail();
  relay_port port;
  if (relay_model_input(model, 0, &port) != RELAY_OK) return fail();
  printf("%s: %d dimensions\n", port.name, port.rank);

  float values[16] = {0};
  int count = argc - 2 < 16 ? argc - 2 : 16;
  for (int i = 0; i < count; ++i) values[i] = strtof(argv[i + 2], NULL);
  int64_t shape[2] = {1, count};
  relay_tensor in = {values, shape, 2, RELAY_FLOAT32, NULL}, out = {0};
  if (relay_model_run(model, &in, 1, &out, 1) != RELAY_OK) {
    relay_model_free(model);
    return fail();
  }
  printf("class %zu of %lld\n", largest(out.data, out.shape[1]), (long long)out.shape[1]);
  relay_tensor_release(&out);
  relay_model_free(model);
  return 0;
}
