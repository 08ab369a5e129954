// The compute module: steps of MULTIPLY and VECTOR, one a cycle.
//
//   issue   the loops give the rows of the step
//   read    rows of data, weights and parameters arrive from their buffers
//   work    16 x 16 products are summed; the sum's row arrives
//   write   the sum, or the result of the vector unit, is written
module compute
  import accelerator_pkg::*;
(
    input logic clock,
    input logic reset,

    input  logic   available,  // an instruction
    input  steps_t head,
    output logic   take,

    input  logic filled_available,
    input  logic drained_available,
    output logic take_filled,
    output logic take_drained,
    output logic send_freed,
    output logic send_ready,
    output logic done,

    // Buffers, which answer in the next cycle.
    output logic           read,
    output row_t           data_row,
    output row_t           weight_row,
    input  logic   [127:0] data_value,
    input  logic  [2047:0] weight_value,
    input  logic  [2047:0] param_value,

    output logic  out_write,
    output row_t  out_row,
    output beat_t out_value
);
  // --- issue ---
  steps_t i;
  vector_t v;
  loop_t [3:0] loops;
  logic busy, step, last;
  row_t [3:0] index, sums, datas, weights;  // of each loop: its iteration, and the rows at the begin of the inner loops

  assign step = busy;
  always_comb begin
    last = 1;
    for (int k = 0; k < 4; ++k) last &= index[k] == loops[k].extent - 1;
  end
  assign take = available && (!head.waits.filled || filled_available) && (!head.waits.drained || drained_available) &&
                (!busy || last);
  assign take_filled = take && head.waits.filled;
  assign take_drained = take && head.waits.drained;

  // The innermost loop that has not ended goes on, and those in it begin again.
  logic [1:0] advancing;
  always_comb begin
    advancing = 0;
    for (int k = 0; k < 4; ++k) if (index[k] != loops[k].extent - 1) advancing = 2'(k);
  end

  localparam loop_t ONCE = '{weight_step: 0, data_step: 0, sum_step: 0, extent: 1};
  always_ff @(posedge clock)
    if (reset) busy <= 0;
    else if (take) begin
      busy <= 1;
      i <= head;
      v <= vector_t'(head.loops[3]);
      index <= '0;
      for (int k = 0; k < 4; ++k) begin
        loops[k] <= head.opcode == MULTIPLY || (head.opcode == VECTOR && k < 3) ? head.loops[k] : ONCE;
        sums[k] <= head.sum;
        datas[k] <= head.data;
        weights[k] <= head.weight;
      end
    end else if (step) begin
      if (last) busy <= 0;
      index[advancing] <= index[advancing] + 1;
      for (int k = 0; k < 4; ++k) if (2'(k) >= advancing) begin
        if (2'(k) > advancing) index[k] <= 0;
        sums[k] <= sums[advancing] + loops[advancing].sum_step;
        datas[k] <= datas[advancing] + loops[advancing].data_step;
        weights[k] <= weights[advancing] + loops[advancing].weight_step;
      end
    end

  // A sum begins where all loops that leave its row unchanged are at their begin.
  logic begins;
  always_comb begin
    begins = i.clear;
    for (int k = 0; k < 4; ++k) begins &= index[k] == 0 || loops[k].sum_step != 0;
  end

  typedef struct packed {
    logic multiplies, works;  // works: it is no SYNC or HALT
    logic begins;
    row_t sum;
    vector_t v;
    logic send_freed, send_ready, halts;
  } stage_t;
  stage_t issued, reading, working;
  logic reads, works;  // the stages hold a step
  assign issued = '{i.opcode == MULTIPLY, i.opcode == MULTIPLY || i.opcode == VECTOR, begins, sums[3], v,
                    last && i.signals.freed, last && i.signals.ready, i.opcode == HALT};
  assign read = step;
  assign data_row = datas[3];
  assign weight_row = weights[3];

  always_ff @(posedge clock) begin
    reads <= !reset && step;
    works <= !reset && reads;
    reading <= issued;
    working <= reading;
  end

  // --- read: products and their sums ---
  logic signed [31:0] dots[LANES];
  logic signed [31:0] dot[LANES], operand[LANES];
  logic [2047:0] param;
  always_comb
    for (int o = 0; o < LANES; ++o) begin
      dots[o] = 0;
      for (int k = 0; k < LANES; ++k)
        dots[o] += 32'($signed(data_value[8*k+:8])) * 32'($signed(weight_value[8*(LANES*o+k)+:8]));
    end
  always_ff @(posedge clock) begin
    dot <= dots;
    param <= param_value;
    for (int k = 0; k < LANES; ++k)
      operand[k] <= reading.v.operand == DATA ? 32'($signed(data_value[8*k+:8])) :
                    reading.v.operand == PARAM ? param_value[32*k+:32] : 32'($signed(reading.v.immediate));
  end

  // --- sums: read while the products are summed. A row that is written in this cycle is not in the buffer yet. ---
  logic [511:0] sums_kept[SUM_ROWS];
  initial for (int k = 0; k < SUM_ROWS; ++k) sums_kept[k] = '0;
  logic [511:0] sum, written;
  logic sum_write;
  assign sum_write = works && working.works && (working.multiplies || !working.v.to_out);
  always_ff @(posedge clock) begin
    sum <= sum_write && working.sum == reading.sum ? written : sums_kept[reading.sum[10:0]];
    if (sum_write) sums_kept[working.sum[10:0]] <= written;
  end

  // --- write ---
  for (genvar k = 0; k < LANES; ++k) begin : lanes
    logic signed [31:0] y;
    lane unit (
        .func(working.v.func), .x(sum[32*k+:32]), .b(operand[k]), .bias(param[32*k+:32]),
        .multiplier(param[512+32*k+:32]), .shift(param[1024+32*k+:32]), .offset(param[1536+32*k+:32]),
        .clip(working.v.clip), .low(working.v.low), .high(working.v.high), .y
    );
    assign written[32*k+:32] = !working.multiplies ? y : (working.begins ? 0 : sum[32*k+:32]) + dot[k];
    assign out_value[8*k+:8] = y[7:0];
  end
  assign out_write = works && working.works && !working.multiplies && working.v.to_out;
  assign out_row = working.sum;
  assign send_freed = works && working.send_freed;
  assign send_ready = works && working.send_ready;

  always_ff @(posedge clock)
    if (reset) done <= 0;
    else if (works && working.halts) done <= 1;
endmodule
