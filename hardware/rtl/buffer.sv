// A memory on the chip: rows of several beats, one port that writes a beat, one that reads a row in the next cycle.
module buffer #(
    parameter int ROWS  = 2048,
    parameter int BEATS = 1
) (
    input  logic                            clock,
    input  logic                            write,
    input  accelerator_pkg::row_t           write_row,
    input  logic                 [3:0]      write_beat,
    input  accelerator_pkg::beat_t          in,
    input  logic                            read,
    input  accelerator_pkg::row_t           read_row,
    output logic                 [BEATS-1:0][127:0] out
);
  localparam int BITS = $clog2(ROWS);
  logic [BEATS-1:0][127:0] rows[ROWS];
  logic [3:0] beat;
  assign beat = BEATS == 1 ? 4'd0 : write_beat;
  initial for (int i = 0; i < ROWS; ++i) rows[i] = '0;

  always_ff @(posedge clock) begin
    if (write) rows[write_row[BITS-1:0]][beat] <= in;
    if (read) out <= rows[read_row[BITS-1:0]];
  end
endmodule
