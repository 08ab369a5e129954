// The accelerator: three modules with a queue of instructions each, four channels of tokens, and buffers on the chip.
//
// It has a port to memory for instructions, one for loads and one for stores. Answers to requests come in order.
module accelerator
  import accelerator_pkg::*;
(
    input  logic        clock,
    input  logic        reset,
    input  logic [31:0] begin_address,  // of the stream
    output logic        done,

    output logic         fetch_request,
    output logic  [31:0] fetch_address,
    input  logic         fetch_answer,
    input  logic [255:0] fetch_data,

    output logic         read_request,
    output logic  [31:0] read_address,
    input  logic         read_ready,
    input  logic         read_answer,
    input  beat_t        read_data,

    output logic         write_request,
    output logic  [31:0] write_address,
    output beat_t        write_data,
    input  logic         write_ready,
    input  logic         write_acknowledge
);
  // --- instructions ---
  logic [255:0] instruction, load_head, compute_head, store_head;
  logic to_load, to_compute, to_store, load_full, compute_full, store_full;
  logic load_empty, compute_empty, store_empty, take_load, take_compute, take_store;

  fetch fetch_unit (
      .clock, .reset, .begin_address, .request(fetch_request), .address(fetch_address), .answer(fetch_answer),
      .answer_data(fetch_data), .instruction, .to_load, .to_compute, .to_store, .load_full, .compute_full, .store_full
  );
  queue #(.WIDTH(256), .DEPTH(QUEUE_DEPTH)) load_queue (
      .clock, .reset, .push(to_load), .in(instruction), .full(load_full), .pop(take_load), .head(load_head),
      .empty(load_empty)
  );
  queue #(.WIDTH(256), .DEPTH(QUEUE_DEPTH)) compute_queue (
      .clock, .reset, .push(to_compute), .in(instruction), .full(compute_full), .pop(take_compute),
      .head(compute_head), .empty(compute_empty)
  );
  queue #(.WIDTH(256), .DEPTH(QUEUE_DEPTH)) store_queue (
      .clock, .reset, .push(to_store), .in(instruction), .full(store_full), .pop(take_store), .head(store_head),
      .empty(store_empty)
  );

  // --- tokens ---
  tokens_t send, take, available;
  channel filled (.clock, .reset, .send(send.filled), .take(take.filled), .available(available.filled));
  channel freed (.clock, .reset, .send(send.freed), .take(take.freed), .available(available.freed));
  channel ready (.clock, .reset, .send(send.ready), .take(take.ready), .available(available.ready));
  channel drained (.clock, .reset, .send(send.drained), .take(take.drained), .available(available.drained));

  // --- buffers ---
  logic write_data_row, write_weight_row, write_param_row, compute_reads, out_write;
  row_t loaded_row, data_row, weight_row, out_row, stored_row;
  logic [3:0] loaded_beat;
  beat_t loaded, data_value, out_value;
  logic [2047:0] weight_value, param_value;

  buffer #(.ROWS(DATA_ROWS), .BEATS(1)) data_buffer (
      .clock, .write(write_data_row), .write_row(loaded_row), .write_beat(loaded_beat), .in(loaded),
      .read(compute_reads), .read_row(data_row), .out(data_value)
  );
  buffer #(.ROWS(WEIGHT_ROWS), .BEATS(16)) weight_buffer (
      .clock, .write(write_weight_row), .write_row(loaded_row), .write_beat(loaded_beat), .in(loaded),
      .read(compute_reads), .read_row(weight_row), .out(weight_value)
  );
  buffer #(.ROWS(PARAM_ROWS), .BEATS(16)) param_buffer (
      .clock, .write(write_param_row), .write_row(loaded_row), .write_beat(loaded_beat), .in(loaded),
      .read(compute_reads), .read_row(weight_row), .out(param_value)
  );
  beat_t out_buffer[OUT_ROWS];
  initial for (int k = 0; k < OUT_ROWS; ++k) out_buffer[k] = '0;
  always_ff @(posedge clock) if (out_write) out_buffer[out_row[10:0]] <= out_value;

  // --- modules ---
  load load_module (
      .clock, .reset, .available(!load_empty), .head(load_head), .take(take_load),
      .freed_available(available.freed), .take_freed(take.freed), .send_filled(send.filled), .request(read_request),
      .address(read_address), .request_ready(read_ready), .answer(read_answer), .answer_data(read_data),
      .write_data(write_data_row), .write_weight(write_weight_row), .write_param(write_param_row),
      .write_row(loaded_row), .write_beat(loaded_beat), .write_value(loaded)
  );
  compute compute_module (
      .clock, .reset, .available(!compute_empty), .head(compute_head), .take(take_compute),
      .filled_available(available.filled), .drained_available(available.drained), .take_filled(take.filled),
      .take_drained(take.drained), .send_freed(send.freed), .send_ready(send.ready), .done, .read(compute_reads),
      .data_row, .weight_row, .data_value, .weight_value, .param_value, .out_write, .out_row, .out_value
  );
  store store_module (
      .clock, .reset, .available(!store_empty), .head(store_head), .take(take_store),
      .ready_available(available.ready), .take_ready(take.ready), .send_drained(send.drained),
      .read_row(stored_row), .read_value(out_buffer[stored_row[10:0]]), .write(write_request),
      .address(write_address), .value(write_data), .write_ready, .acknowledge(write_acknowledge)
  );
endmodule
