// Runs artifacts on the device that they are compiled for, and compares with expected results:
//
//   relay_device_check FOLDER [--json FILE]
//
// FOLDER has lists, *.txt, of lines "NAME ULPS [REPEATS]", and for each name NAME.rart and NAME.safetensors, with
// tensors input00 .. and result00 .. in it. Examples with REPEATS are timed: the median of whole calls, copies
// included. Ends with 1 if an example fails.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

#include "compare.h"
#include "relay/runtime/artifacts/artifact.h"
#include "relay/tensor/safetensors.h"

namespace relay::proofs {
namespace {

struct Outcome {
  std::string name;
  Problem problem;
  double ms = 0;  // 0: not timed
};

Outcome check(const std::string& folder, const std::string& name, double ulps, int repeats) {
  const std::string path = folder + "/" + name;
  Outcome out{name, {}, 0};
  const Result<NamedTensors> data = read_safetensors(path + ".safetensors");
  if (!data) return {name, render(data.errors()), 0};
  Tensors inputs, want;
  for (const auto& [key, tensor] : *data) (key.starts_with("input") ? inputs : want).push_back(tensor);
  const Result<std::shared_ptr<runtime::Executable>> program = runtime::load_executable(path + ".rart");
  if (!program) return {name, render(program.errors()), 0};
  const Result<Tensors> got = (*program)->run(inputs);
  out.problem = difference(got, Result<Tensors>(want), ulps);
  if (!got) out.problem = render(got.errors());
  if (!out.problem.empty() || repeats == 0) return out;
  std::vector<double> times;
  for (int i = 0; i < repeats; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    if (const Result<Tensors> again = (*program)->run(inputs); !again) return {name, render(again.errors()), 0};
    times.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count());
  }
  std::nth_element(times.begin(), times.begin() + repeats / 2, times.end());
  out.ms = times[static_cast<size_t>(repeats / 2)];
  return out;
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (char c : text) out += c == '"' || c == '\\' ? std::string("\\") + c : c < ' ' ? " " : std::string(1, c);
  return out + "\"";
}

int run(const std::string& folder, const std::string& json) {
  std::vector<Outcome> all;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    if (file.path().extension() != ".txt") continue;
    std::ifstream list(file.path());
    for (std::string line; std::getline(list, line);) {
      std::istringstream words(line);
      std::string name;
      double ulps = 0;
      int repeats = 0;
      words >> name >> ulps >> repeats;
      if (name.empty()) continue;
      all.push_back(check(folder, name, ulps, repeats));
      const Outcome& last = all.back();
      if (!last.problem.empty()) std::cout << format("FAILED {}: {}\n", name, last.problem) << std::flush;
      if (last.ms > 0) std::cout << format("{}: {:.3f} ms\n", name, last.ms) << std::flush;
    }
  }
  size_t failed = 0;
  std::string text;
  for (const Outcome& o : all) {
    failed += !o.problem.empty();
    text += format("{}\n {{\"name\": {}, \"problem\": {}, \"ms\": {}}}", text.empty() ? "" : ",", quoted(o.name),
                   quoted(o.problem), o.ms);
  }
  if (!json.empty()) std::ofstream(json) << "[" << text << "\n]\n";
  std::cout << format("{} passed, {} failed\n", all.size() - failed, failed);
  return failed > 0 || all.empty();
}

}  // namespace
}  // namespace relay::proofs

int main(int argc, char** argv) {
  const bool has_json = argc == 4 && std::string(argv[2]) == "--json";
  if (argc != 2 && !has_json) {
    std::cerr << "usage: relay_device_check FOLDER [--json FILE]\n";
    return 2;
  }
  return relay::proofs::run(argv[1], has_json ? argv[3] : "");
}
