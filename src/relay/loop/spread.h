// Finer tasks, for devices with thousands of threads: the outermost loops of a task become part of its number.
//
//   task y < h                                 task item < h * (w / 4)
//     for x in 0..w / 4 {                        let y = item // (w / 4)
//       ...                                      let x = item % (w / 4)
//     }                                          ...
#pragma once

#include "relay/loop/loop.h"

namespace relay::loop {

// A kernel whose tasks are parts of another's: task i of that kernel is tasks [i * per_task, (i + 1) * per_task).
struct FineTasks {
  Kernel kernel;
  Expr per_task;  // over its shape variables; 1 if nothing was changed
};
// Spreads loops as long as their iterations are known to be independent: each writes elements that no other one reads
// or writes.
FineTasks spread(const Kernel& k);

}  // namespace relay::loop
