// The inputs of LSTM operators.
#pragma once

#include "relay/frontend/tflite/recurrent.h"

namespace relay::tflite {

// The places of a direction among the inputs; absent ones are beyond all inputs. Weights of the gates in, forget, cell
// and out are neighbours, and peepholes of in, forget and out.
struct LstmPlaces {
  size_t x, h, peephole, bias, projection, projection_bias, state, cell;
  size_t norm = SIZE_MAX - 4, extra = SIZE_MAX - 4;
};

// Outputs (T, N, units) over quantised data (T, N, ..). Null if a problem was reported.
ir::Expr integer_lstm(Convert& c, const ir::Expr& x, const LstmPlaces& places, bool reverse);

}  // namespace relay::tflite
