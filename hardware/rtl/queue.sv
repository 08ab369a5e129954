// A first-in first-out queue. An entry can be taken in the cycle after it was pushed.
module queue #(
    parameter int WIDTH = 8,
    parameter int DEPTH = 16  // a power of two
) (
    input  logic             clock,
    input  logic             reset,
    input  logic             push,
    input  logic [WIDTH-1:0] in,
    output logic             full,
    input  logic             pop,
    output logic [WIDTH-1:0] head,
    output logic             empty
);
  localparam int BITS = $clog2(DEPTH);
  logic [WIDTH-1:0] entries[DEPTH];
  logic [BITS:0] first, next;

  assign full  = next - first == (BITS + 1)'(DEPTH);
  assign empty = next == first;
  assign head  = entries[first[BITS-1:0]];

  always_ff @(posedge clock)
    if (reset) begin
      first <= 0;
      next  <= 0;
    end else begin
      if (push) entries[next[BITS-1:0]] <= in;
      if (push) next <= next + 1;
      if (pop) first <= first + 1;
    end
endmodule
