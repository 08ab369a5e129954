// Another engine on the same model, in a Python process of its own (python/relay/bench.py), for measuring side by side.
//
//   RELAY_ASSIGN(Peer peer, Peer::start({.engine = "onnxruntime", .model = "net.onnx", .threads = 1}, inputs));
//   RELAY_ASSIGN(std::vector<double> us, peer.run(0.1));      // it runs for 0.1 s; the time of every run
//
// It is stopped (SIGSTOP) whenever it is not running for us, so that neither its spinning threads nor ours disturb the other.
#pragma once

#include <sys/types.h>

#include "relay/driver/npy.h"

namespace relay::driver {

struct PeerOptions {
  std::string engine, model;
  int threads = 1;
  std::string program;  // argv[0] of ours: the Python beside it is tried
};

class Peer {
 public:
  static Result<Peer> start(const PeerOptions& options, const std::vector<Tensor>& inputs);
  Peer(Peer&& other) noexcept;
  Peer& operator=(Peer&&) = delete;
  ~Peer();

  const std::string& version() const { return version_; }          // "onnxruntime 1.31.1"
  const std::vector<Tensor>& outputs() const { return outputs_; }  // of one run
  Result<std::vector<double>> run(double seconds);

 private:
  Peer() = default;
  Result<std::string> read_line();
  Diagnostic failed(const std::string& what) const;

  pid_t pid_ = -1;
  int in_ = -1, out_ = -1;  // its stdin, its stdout
  std::string pending_, version_, folder_;
  std::vector<Tensor> outputs_;
};

}  // namespace relay::driver
