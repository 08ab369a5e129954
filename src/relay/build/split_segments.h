// Work by large constants that needs only some of a segment's arguments becomes a segment of its own, where calls may
// wait.
//
//   %s(%x, %h, %c)   split(nn.dense(%h, %u)) and sums, sigmoids, .. of its parts, %x and %c
//     becomes        let %a = %s1(%h) { nn.dense(%h, %u) };  %s2(%x, %c, %a) { split(%a) and sums, sigmoids, .. }
//
// Such a call is ready before the others, so more of them come together; and where the arguments are constants, as the
// state of a leaf, all of them are one call (runtime/call_queue.h). What a call by itself costs is little beside
// reading the constants.
#pragma once

#include "relay/build/batch_calls.h"

namespace relay::build {

// `module`: after program_passes(). `lowering`: as segments are lowered, each for one call.
Result<ir::Module> split_segments(const ir::Module& module, BatchCalls batch, const lower::LowerOptions& lowering);

}  // namespace relay::build
