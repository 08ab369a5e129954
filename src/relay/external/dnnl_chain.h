// A contraction with the operations on its result, as one primitive of oneDNN:
//
//   activation(contraction(data, weight) + bias + summand)         all but the contraction may be missing
#pragma once

#include <optional>
#include <string>

#include "relay/ir/expr.h"
#include "relay/pattern/pattern.h"

namespace relay::external {

struct Chain {
  const ir::Call* head = nullptr;  // nn.conv2d, nn.dense, nn.matmul, nn.batch_matmul
  ir::Expr bias, summand;          // null if missing
  std::string activation;          // "relu", "clip", "logistic", "tanh", "gelu", "swish"; empty if missing
  double low = 0, high = 0;        // bounds of clip
};

// True for a float32 contraction that oneDNN computes as the program specifies. The call must be typed.
bool is_taken_contraction(const ir::Call& call);
// The chain that ends in `root`, which is typed. Unset if a part of it has another form.
std::optional<Chain> read_chain(const ir::Expr& root);
// Matches candidates for chains; read_chain() decides.
pattern::Pattern chain_pattern();

// True for other calls that oneDNN takes, so that images stay in its layouts between convolutions: relu, additions,
// pools.
bool is_taken(const ir::Call& call);

}  // namespace relay::external
