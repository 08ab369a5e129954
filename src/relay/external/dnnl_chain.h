// A contraction with what is computed on its result, as oneDNN takes it in one primitive:
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
  ir::Expr bias, summand;          // null: none
  std::string activation;          // "relu", "clip", "logistic", "tanh", "gelu", "swish"; empty: none
  double low = 0, high = 0;        // of clip
};

// A float32 contraction that oneDNN computes as the program says; typed.
bool is_taken_contraction(const ir::Call& call);
// The chain that ends in `root`, typed. Nothing: something in it is of another form.
std::optional<Chain> read_chain(const ir::Expr& root);
// What looks like one; read_chain() says whether it is.
pattern::Pattern chain_pattern();

// Other calls that oneDNN takes, so that images stay in its layouts between convolutions: of relu, additions, pools.
bool is_taken(const ir::Call& call);

}  // namespace relay::external
