// Runs a network on one row of numbers and prints the largest of its results: classify NETWORK.rart NUMBERS...
#include <relay/runtime/relay_cpp.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

int main(int argc, char** argv) try {
  if (argc < 2) return std::fprintf(stderr, "usage: classify NETWORK.rart NUMBERS...\n"), 2;
  const relay::api::Model model(argv[1]);
  std::vector<float> row;
  for (int i = 2; i < argc; ++i) row.push_back(std::strtof(argv[i], nullptr));

  const auto results = model.run({relay::api::Tensor::of(row.data(), {1, static_cast<int64_t>(row.size())})});
  const float* scores = results[0].data<float>();
  const int64_t count = results[0].size();
  std::printf("%s: class %d of %d\n", model.inputs()[0].name.c_str(),
              static_cast<int>(std::max_element(scores, scores + count) - scores), static_cast<int>(count));
  return 0;
} catch (const relay::api::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
