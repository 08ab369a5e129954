// One lane of the vector unit: a sum and an operand to a result.
module lane
  import accelerator_pkg::*;
(
    input  function_t          func,
    input  logic signed [31:0] x,
    input  logic signed [31:0] b,
    input  logic signed [31:0] bias,
    input  logic signed [31:0] multiplier,
    input  logic        [31:0] shift,
    input  logic signed [31:0] offset,
    input  logic               clip,
    input  logic signed [7:0]  low,
    input  logic signed [7:0]  high,
    output logic signed [31:0] y
);
  // (value + bias) * multiplier / 2^shift, rounded with halves up, plus the offset, as the nearest int32.
  logic signed [31:0] biased;
  logic signed [63:0] product, half, shifted;
  logic signed [64:0] moved;
  logic signed [31:0] scaled;
  assign biased = (func == F_SCALE ? x : b) + bias;
  assign product = 64'(biased) * 64'(multiplier);
  assign half = (64'd1 << shift[5:0]) >> 1;
  assign shifted = $signed(product + half) >>> shift[5:0];
  assign moved = 65'(shifted) + 65'(offset);
  assign scaled = moved > 65'sh7fffffff ? 32'sh7fffffff : moved < -65'sh80000000 ? 32'sh80000000 : moved[31:0];

  logic signed [31:0] result;
  always_comb
    case (func)
      F_MOVE: result = b;
      F_ADD: result = x + b;
      F_MAX: result = x > b ? x : b;
      F_MIN: result = x < b ? x : b;
      F_MULTIPLY: result = x * b;
      F_SHIFT: result = x >>> b[4:0];
      F_SCALE: result = scaled;
      default: result = x + scaled;  // F_ADD_SCALED
    endcase
  assign y = !clip ? result : result < 32'(low) ? 32'(low) : result > 32'(high) ? 32'(high) : result;
endmodule
