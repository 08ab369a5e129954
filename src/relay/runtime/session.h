// Session: a model whose state lives from run to run.
//
//   RELAY_ASSIGN(std::unique_ptr<Session> session, Session::create(executable));
//   session->run({frame});  // reads and updates the state
//
// The state is the inputs that each run donates for one of its results (Program::donations). A session owns their
// arrays, which begin as zeros; inputs() and outputs() are the others. Most states are updated in place, and a run
// allocates nothing for them. The sessions of a model share its weights and plans, and run in parallel; the runs of one
// session follow each other.
#pragma once

#include "relay/runtime/executable.h"

namespace relay::runtime {

class Session {
 public:
  // bad_option if the model has no state, or takes or returns anything but tensors.
  static Result<std::unique_ptr<Session>> create(std::shared_ptr<Executable> executable);

  const std::vector<PortInfo>& inputs() const { return inputs_; }
  const std::vector<PortInfo>& outputs() const { return outputs_; }
  const std::vector<PortInfo>& states() const { return states_; }  // as the inputs of the model

  // Executable::run() and run_into() without the state. If a run fails in the middle, the state is lost, and later runs
  // are refused until it is set.
  Result<std::vector<Tensor>> run(std::span<const Tensor> inputs, const RunOptions& options = {});
  Status run_into(std::span<const Tensor> inputs, std::span<Tensor> outputs, const RunOptions& options = {});

  // A copy of a state; no value if its size is not known yet.
  Result<Tensor> state(size_t index) const;
  // Copies `value`; no value is zeros of the first run's sizes. wrong_input if the type or a fixed size differs.
  Status set_state(size_t index, const Tensor& value);
  // All states become zeros. Sizes that are not fixed are those of the next run.
  void reset();
  // Copies of all states at one moment, and back. If one does not fit, restore() changes none.
  std::vector<Tensor> snapshot() const;
  Status restore(std::span<const Tensor> states);

 private:
  explicit Session(std::shared_ptr<Executable> executable);
  Status check_state(size_t index, const Tensor& value) const;
  Status allocate(size_t index, std::span<const Tensor> inputs);

  std::shared_ptr<Executable> executable_;
  std::vector<PortInfo> inputs_, outputs_, states_;
  std::vector<size_t> input_at_, output_at_, state_at_;  // places among the model's inputs and results
  std::vector<size_t> result_at_;                        // the result that updates each state
  mutable std::mutex mutex_;                             // held by a run; guards the following
  std::vector<Tensor> values_;                           // no value: zeros, allocated by the next run
  bool is_lost_ = false;
};

}  // namespace relay::runtime
