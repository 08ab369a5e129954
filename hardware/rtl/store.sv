// The store module: copies rows of `out` to lines of memory. A token is sent when memory has acknowledged all beats.
module store
  import accelerator_pkg::*;
(
    input logic clock,
    input logic reset,

    input  logic  available,  // an instruction
    input  move_t head,
    output logic  take,

    input  logic ready_available,
    output logic take_ready,
    output logic send_drained,

    output row_t  read_row,
    input  beat_t read_value,  // in the same cycle

    output logic         write,
    output logic  [31:0] address,
    output beat_t        value,
    input  logic         write_ready,
    input  logic         acknowledge
);
  move_t i;
  logic busy, waiting;
  row_t x, y, row;
  logic [31:0] line_address;
  logic [15:0] outstanding;  // beats without acknowledgement

  logic slot, last_x, last;
  assign last_x = x == i.columns - 1;
  assign last = last_x && y == i.lines - 1;
  assign read_row = row;
  assign write = busy && !waiting;
  assign slot = write && write_ready;
  assign value = read_value;
  assign address = line_address + (32'(x) << 4);

  assign take = available && (!head.waits.ready || ready_available) &&
                (!busy || (slot && last && !i.signals.drained));
  assign take_ready = take && head.waits.ready;
  assign send_drained = waiting && outstanding == 0;

  always_ff @(posedge clock)
    if (reset) begin
      busy <= 0;
      waiting <= 0;
      outstanding <= 0;
    end else begin
      outstanding <= outstanding + 16'(slot) - 16'(acknowledge);
      if (take) begin
        busy <= 1;
        i <= head;
        x <= 0;
        y <= 0;
        row <= head.row;
        line_address <= head.address;
      end else if (slot) begin
        row <= row + 1;
        x <= last_x ? 0 : x + 1;
        if (last_x) begin
          y <= y + 1;
          line_address <= line_address + i.pitch;
        end
        if (last) begin
          busy <= i.signals.drained;
          waiting <= i.signals.drained;
        end
      end else if (send_drained) begin
        busy <= 0;
        waiting <= 0;
      end
    end
endmodule
