// Another engine on the same model, in a separate Python process (python/relay/tools/bench.py), for paired
// measurements.
//
//   RELAY_ASSIGN(ExternalEngine engine,
//                ExternalEngine::start({.engine = "onnxruntime", .model = "net.onnx", .threads = 1}, inputs));
//   RELAY_ASSIGN(std::vector<double> us, engine.run(0.1));      // runs for 0.1 s; returns the time of every run
//
// It is stopped (SIGSTOP) between measurements, so that neither its spinning threads nor ours disturb the other.
#pragma once

#include <sys/types.h>

#include "relay/input/npy.h"

namespace relay::measure {

// Engines that can be measured next to Relay, and the reference for all errors: the model in double precision, by
// PyTorch.
inline const std::vector<std::string> external_engines{"onnxruntime",   "openvino", "openvino-bf16", "torch",
                                                       "torch-compile", "litert",   "tensorflow"};
inline constexpr const char* float64_engine = "torch-float64";
// The model file of the PyTorch engines, written by torch.export.save: net.pt2 next to net.onnx.
std::string torch_program(const std::string& model);

// Runs a file of python/relay/tools with these arguments, in the Python that runs the engines, until it ends. Returns
// its output.
Result<std::string> run_package_file(const std::string& program, const std::string& file,
                                     const std::vector<std::string>& arguments);

struct ExternalEngineOptions {
  std::string engine, model;
  int threads = 1;
  std::string program;  // our argv[0]: the Python next to it is tried
};

class ExternalEngine {
 public:
  static Result<ExternalEngine> start(const ExternalEngineOptions& options, const std::vector<Tensor>& inputs);
  ExternalEngine(ExternalEngine&& other) noexcept;
  ExternalEngine& operator=(ExternalEngine&&) = delete;
  ~ExternalEngine();

  const std::string& version() const { return version_; }          // "onnxruntime 1.31.1"
  const std::vector<Tensor>& outputs() const { return outputs_; }  // of one run
  double ready_ms() const { return ready_ms_; }                    // reading, compiling and the first run
  int64_t peak_bytes() const { return peak_bytes_; }               // peak memory of its process so far
  Result<std::vector<double>> run(double seconds);

 private:
  ExternalEngine() = default;
  Result<std::string> read_line(int seconds);
  Diagnostic failed(const std::string& what) const;
  Diagnostic ended();

  pid_t pid_ = -1;
  int in_ = -1, out_ = -1;  // its stdin, its stdout
  std::string pending_, name_, version_, folder_;
  std::vector<Tensor> outputs_;
  double ready_ms_ = 0;
  int64_t peak_bytes_ = 0;
};

}  // namespace relay::measure
