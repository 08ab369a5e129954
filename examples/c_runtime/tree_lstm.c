/* Runs the TreeLSTM of examples/tree_lstm.relay on trees, with the runtime alone: no compiler, no virtual machine.
 *
 *   relay compile examples/tree_lstm.relay --aot -o tree.rart
 *   tree_lstm tree.rart weights < trees > states
 *
 * A model that has its weights inside takes no file of them. Then nodes that do not depend on each other are computed together, and
 * it says how many.
 *
 * All files are numbers one after the other. `weights`: w, u, uf and b, float32. `trees`: of each node, before its children,
 * their number (int32) and its 300 floats. `states`: of each tree the 150 floats of h and the 150 of c. */
#include <stdio.h>
#include <stdlib.h>

#include "relay/runtime/relay_c.h"

enum { INPUT = 300, MEMORY = 150 };

static void check(relay_status status) {
  if (status == RELAY_OK) return;
  fprintf(stderr, "%s", relay_last_error());
  exit(1);
}

static relay_value* data(const relay_model* model, const char* type, const char* constructor, relay_value** fields,
                         size_t count) {
  relay_value* made;
  check(relay_value_data(model, type, constructor, fields, count, &made));
  for (size_t i = 0; i < count; ++i) relay_value_free(fields[i]);
  return made;
}

static relay_value* tensor(FILE* file, const int64_t* shape, int32_t rank) {
  size_t count = 1;
  for (int32_t d = 0; d < rank; ++d) count *= (size_t)shape[d];
  float* floats = malloc(count * sizeof(float));
  if (fread(floats, sizeof(float), count, file) != count) {
    fprintf(stderr, "a file ends too early\n");
    exit(1);
  }
  relay_tensor t = {floats, shape, rank, RELAY_FLOAT32, NULL};
  relay_value* made;
  check(relay_value_from_tensor(&t, free, floats, &made)); /* not copied */
  return made;
}

/* Null at the end of the file. */
static relay_value* tree(const relay_model* model, FILE* file) {
  static const int64_t shape[2] = {1, INPUT};
  int32_t count;
  if (fread(&count, sizeof(count), 1, file) != 1) return NULL;
  relay_value* fields[2] = {tensor(file, shape, 2), data(model, "List", "Nil", NULL, 0)};
  relay_value** children = calloc((size_t)count + 1, sizeof(relay_value*));
  for (int32_t i = 0; i < count; ++i) children[i] = tree(model, file);
  while (count-- > 0) {
    relay_value* link[2] = {children[count], fields[1]};
    fields[1] = data(model, "List", "Cons", link, 2);
  }
  free(children);
  return data(model, "Tree", "Rose", fields, 2);
}

int main(int argc, char** argv) {
  static const int64_t shapes[4][2] = {{600, INPUT}, {450, MEMORY}, {MEMORY, MEMORY}, {600, 0}};
  FILE* weights = argc == 3 ? fopen(argv[2], "rb") : NULL;
  if (argc < 2 || argc > 3 || (argc == 3 && weights == NULL))
    return fprintf(stderr, "usage: tree_lstm MODEL [WEIGHTS] < TREES > STATES\n"), 2;
  relay_model* model;
  check(relay_model_load(argv[1], NULL, &model));
  relay_value* args[5];
  size_t count = weights ? 5 : 1;
  for (size_t i = 0; i + 1 < count; ++i) args[i + 1] = tensor(weights, shapes[i], i < 3 ? 2 : 1);
  if (weights) fclose(weights);
  while ((args[0] = tree(model, stdin)) != NULL) {
    relay_value* result;
    check(relay_model_call(model, args, count, &result));
    for (size_t i = 0; i < 2; ++i) {
      relay_value* state;
      relay_tensor floats;
      check(relay_value_field(result, i, &state));
      check(relay_value_as_tensor(state, &floats));
      fwrite(floats.data, sizeof(float), MEMORY, stdout);
      relay_value_free(state);
    }
    relay_value_free(result);
    relay_value_free(args[0]);
  }
  for (size_t i = 1; i < count; ++i) relay_value_free(args[i]);
  int64_t calls, runs;
  check(relay_model_batching(model, &calls, &runs));
  if (calls > 0) fprintf(stderr, "%lld calls in %lld runs\n", (long long)calls, (long long)runs);
  relay_model_free(model);
  return 0;
}
