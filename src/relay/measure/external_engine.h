// Another engine on the same model, in a Python process of its own (python/relay/bench.py), for measuring side by side.
//
//   RELAY_ASSIGN(ExternalEngine engine,
//                ExternalEngine::start({.engine = "onnxruntime", .model = "net.onnx", .threads = 1}, inputs));
//   RELAY_ASSIGN(std::vector<double> us, engine.run(0.1));      // it runs for 0.1 s; the time of every run
//
// It is stopped (SIGSTOP) whenever it is not running for us, so that neither its spinning threads nor ours disturb the
// other.
#pragma once

#include <sys/types.h>

#include "relay/input/npy.h"

namespace relay::measure {

// What can be measured beside us, and the reference of everybody's errors: the model in double precision, by PyTorch.
inline const std::vector<std::string> external_engines{"onnxruntime", "openvino", "torch", "torch-compile"};
inline constexpr const char* float64_engine = "torch-float64";
// Where the PyTorch engines find the model: what torch.export.save wrote, net.pt2 beside net.onnx.
std::string torch_program(const std::string& model);

// A file of the Python package, run with these arguments in the Python that these engines run in, until it ends; what
// it printed.
Result<std::string> run_package_file(const std::string& program, const std::string& file,
                                     const std::vector<std::string>& arguments);

struct ExternalEngineOptions {
  std::string engine, model;
  int threads = 1;
  std::string program;  // argv[0] of ours: the Python beside it is tried
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
  int64_t peak_bytes() const { return peak_bytes_; }               // of its process until then
  Result<std::vector<double>> run(double seconds);

 private:
  ExternalEngine() = default;
  Result<std::string> read_line(int seconds);
  Diagnostic failed(const std::string& what) const;

  pid_t pid_ = -1;
  int in_ = -1, out_ = -1;  // its stdin, its stdout
  std::string pending_, name_, version_, folder_;
  std::vector<Tensor> outputs_;
  double ready_ms_ = 0;
  int64_t peak_bytes_ = 0;
};

}  // namespace relay::measure
