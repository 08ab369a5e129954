// The load module: copies lines of memory to rows of a buffer and surrounds data by padding.
//
// The first half requests a beat a cycle and notes its destination in a queue; the second half writes the beats when
// they arrive. Padding takes its place in the queue, but no request.
module load
  import accelerator_pkg::*;
(
    input logic clock,
    input logic reset,

    input  logic  available,  // an instruction
    input  move_t head,
    output logic  take,

    input  logic freed_available,
    output logic take_freed,
    output logic send_filled,

    output logic         request,
    output logic  [31:0] address,
    input  logic         request_ready,
    input  logic         answer,
    input  beat_t        answer_data,

    output logic        write_data,
    output logic        write_weight,
    output logic        write_param,
    output row_t        write_row,
    output logic  [3:0] write_beat,
    output beat_t       write_value
);
  // --- requests ---
  move_t i;
  logic busy;
  logic [12:0] x, y;  // in the padded area
  logic [3:0] beat;
  logic [31:0] line_address;
  row_t row;

  logic wide, real_line, is_padding, slot, last_beat, last_x, last_y, last;
  assign wide = i.opcode != LOAD_DATA;
  assign real_line = y >= 13'(i.top) && y < 13'(i.top) + 13'(i.lines);
  assign is_padding = !real_line || x < 13'(i.left) || x >= 13'(i.left) + 13'(i.columns);
  assign last_beat = !wide || beat == 15;
  assign last_x = x == 13'(i.left) + 13'(i.columns) + 13'(i.right) - 1;
  assign last_y = y == 13'(i.top) + 13'(i.lines) + 13'(i.bottom) - 1;
  assign last = last_beat && last_x && last_y;

  logic [31:0] column;
  assign column = 32'(x) - 32'(i.left);
  assign address = line_address + (wide ? column << 8 : column << 4) + (32'(beat) << 4);

  typedef struct packed {
    opcode_t opcode;
    row_t row;
    logic [3:0] beat;
    logic is_padding;
    logic [7:0] pad;
    logic sends;  // a token, after this beat
  } flight_t;
  flight_t flight_in, flight;
  logic flight_full, flight_empty, arrive;
  queue #(.WIDTH($bits(flight_t)), .DEPTH(FLIGHT_DEPTH)) flights (
      .clock, .reset, .push(slot), .in(flight_in), .full(flight_full), .pop(arrive), .head(flight), .empty(flight_empty)
  );
  assign flight_in = '{i.opcode, row, beat, is_padding, i.pad, last && i.signals.filled};
  assign request = busy && !flight_full && !is_padding;
  assign slot = busy && !flight_full && (is_padding || request_ready);

  assign take = available && (!head.waits.freed || freed_available) && (!busy || (slot && last));
  assign take_freed = take && head.waits.freed;

  always_ff @(posedge clock)
    if (reset) busy <= 0;
    else if (take) begin
      busy <= 1;
      i <= head;
      x <= 0;
      y <= 0;
      beat <= 0;
      row <= head.row;
      line_address <= head.address;
    end else if (slot) begin
      if (last) busy <= 0;
      beat <= last_beat ? 0 : beat + 1;
      if (last_beat) begin
        row <= row + 1;
        x <= last_x ? 0 : x + 1;
        if (last_x) begin
          y <= y + 1;
          if (real_line) line_address <= line_address + i.pitch;
        end
      end
    end

  // --- arrivals ---
  assign arrive = !flight_empty && (flight.is_padding || answer);
  assign write_data = arrive && flight.opcode == LOAD_DATA;
  assign write_weight = arrive && flight.opcode == LOAD_WEIGHT;
  assign write_param = arrive && flight.opcode == LOAD_PARAM;
  assign write_row = flight.row;
  assign write_beat = flight.beat;
  assign write_value = flight.is_padding ? {LANES{flight.pad}} : answer_data;
  assign send_filled = arrive && flight.sends;
endmodule
