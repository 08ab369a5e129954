// Moves work on large constants that needs only some of a segment's arguments into a separate segment, if calls may
// wait.
//
//   %s(%x, %h, %c)   split(nn.dense(%h, %u)) and sums, sigmoids, .. of its parts, %x and %c
//     becomes        let %a = %s1(%h) { nn.dense(%h, %u) };  %s2(%x, %c, %a) { split(%a) and sums, sigmoids, .. }
//
// Such calls are ready before others, so more of them run together; and if their arguments are constants, such as the
// state of a leaf, all of them are one call (runtime/call_queue.h). The overhead of a call is small compared with
// reading the constants.
#pragma once

#include "relay/build/batch_calls.h"

namespace relay::build {

// `module`: after program_passes(). `lowering`: the options with which segments are lowered, each for one call.
Result<ir::Module> split_segments(const ir::Module& module, BatchCalls batch, const lower::LowerOptions& lowering);

}  // namespace relay::build
