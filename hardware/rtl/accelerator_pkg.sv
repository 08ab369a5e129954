// The encoding of instructions, as in src/relay/accelerator/isa.h and docs/accelerator.md.
package accelerator_pkg;

  localparam int LANES = 16;
  localparam int DATA_ROWS = 2048;
  localparam int WEIGHT_ROWS = 1024;
  localparam int PARAM_ROWS = 128;
  localparam int SUM_ROWS = 2048;
  localparam int OUT_ROWS = 2048;
  localparam int FETCH_DEPTH = 8;
  localparam int QUEUE_DEPTH = 16;
  localparam int FLIGHT_DEPTH = 64;

  typedef logic [127:0] beat_t;  // 16 bytes: what a port moves at once
  typedef logic [11:0] row_t;

  typedef enum logic [3:0] {
    HALT, SYNC, LOAD_DATA, LOAD_WEIGHT, LOAD_PARAM, MULTIPLY, VECTOR, STORE
  } opcode_t;

  typedef enum logic [3:0] {
    F_MOVE, F_ADD, F_MAX, F_MIN, F_MULTIPLY, F_SHIFT, F_SCALE, F_ADD_SCALED
  } function_t;

  typedef enum logic [1:0] {IMMEDIATE, PARAM, DATA} operand_t;

  // Tokens: from load, to load, to store, from store; compute is the other end.
  typedef struct packed {
    logic drained;
    logic ready;
    logic freed;
    logic filled;
  } tokens_t;

  typedef struct packed {
    logic [79:0] unused2;
    logic [7:0] pad;
    row_t right, left, bottom, top, columns, lines;
    logic [31:0] pitch;
    logic [31:0] address;
    logic [3:0] unused1;
    row_t row;
    logic [3:0] unused0;
    tokens_t signals, waits;
    opcode_t opcode;
  } move_t;

  typedef struct packed {
    row_t weight_step, data_step, sum_step, extent;
  } loop_t;

  typedef struct packed {
    loop_t [3:0] loops;  // the last is the innermost
    logic [11:0] unused1;
    row_t weight, data, sum;
    logic [2:0] unused0;
    logic clear;
    tokens_t signals, waits;
    opcode_t opcode;
  } steps_t;

  // In place of the last loop of VECTOR.
  typedef struct packed {
    logic [7:0] unused;
    logic clip, to_out;
    operand_t operand;
    function_t func;
    logic [7:0] high, low;
    logic [15:0] immediate;
  } vector_t;

endpackage
