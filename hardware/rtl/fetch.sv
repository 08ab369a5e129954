// Reads instructions ahead, in order, and hands each to the queue of its module. Stops at HALT.
module fetch
  import accelerator_pkg::*;
(
    input logic clock,
    input logic reset,
    input logic [31:0] begin_address,

    // Memory: a request for the 32 bytes at an address, and its answer later.
    output logic         request,
    output logic [31:0]  address,
    input  logic         answer,
    input  logic [255:0] answer_data,

    output logic [255:0] instruction,
    output logic         to_load,
    output logic         to_compute,
    output logic         to_store,
    input  logic         load_full,
    input  logic         compute_full,
    input  logic         store_full
);
  logic [255:0] head;
  logic empty, full, dispatch, stopped;
  logic [3:0] taken;  // places of the queue that hold an instruction or wait for an answer

  queue #(.WIDTH(256), .DEPTH(FETCH_DEPTH)) fetched (
      .clock, .reset, .push(answer), .in(answer_data), .full, .pop(dispatch), .head, .empty
  );

  opcode_t opcode;
  assign opcode = opcode_t'(head[3:0]);
  assign instruction = head;
  assign request = !stopped && taken < 4'(FETCH_DEPTH);

  logic valid, is_load, is_store;
  assign valid = !empty && !stopped;
  assign is_load = opcode == LOAD_DATA || opcode == LOAD_WEIGHT || opcode == LOAD_PARAM;
  assign is_store = opcode == STORE;
  assign to_load = valid && is_load && !load_full;
  assign to_store = valid && is_store && !store_full;
  assign to_compute = valid && !is_load && !is_store && !compute_full;
  assign dispatch = to_load || to_store || to_compute;

  always_ff @(posedge clock)
    if (reset) begin
      address <= begin_address;
      taken <= 0;
      stopped <= 0;
    end else begin
      if (request) address <= address + 32;
      taken <= taken + 4'(request) - 4'(dispatch);
      if (dispatch && opcode == HALT) stopped <= 1;
    end
endmodule
