// A channel of tokens: counts those that were sent and not yet taken.
module channel (
    input  logic clock,
    input  logic reset,
    input  logic send,
    input  logic take,
    output logic available
);
  logic [15:0] count;
  assign available = count != 0;
  always_ff @(posedge clock)
    if (reset) count <= 0;
    else count <= count + 16'(send) - 16'(take);
endmodule
