// What work costs on a machine: every figure that rules and algorithms choose by. Times are nanoseconds on one core, by
// the machine's description (base/target_desc.h); beside them stand the numbers that no description holds, each with
// its reason. `make lint` refuses sizes of caches, names of processors and bare numbers
// in lower/rules and lower/algorithms.
#pragma once

#include <algorithm>

#include "relay/base/target_desc.h"
#include "relay/te/te.h"

namespace relay::lower {

// --- sizes that are known at run time only, as guesses ---------------------------------------------------------------
inline constexpr int64_t usual_rows = 64;       // of a result, along any axis: places of an image, a batch
inline constexpr int64_t usual_features = 256;  // channels, columns, keys, terms of a product's sum
inline constexpr int64_t usual_row = 1024;      // elements that lie in a row

// --- arithmetic ------------------------------------------------------------------------------------------------------
inline int64_t float_lanes(const TargetDesc& t) { return std::max(1, t.vector_bytes / 4); }

// So many multiply-adds of float32, in whole vectors at full speed.
inline double multiply_adds_ns(const TargetDesc& t, double count) {
  return count / (static_cast<double>(float_lanes(t)) * t.fma_per_cycle * t.ghz);
}
// Operations are counted so that a multiply-add is two of them; `additions` are such operations (operations.h), here of
// float32.
inline double additions_in(const TargetDesc& t, double cycles) { return 2 * t.fma_per_cycle * cycles; }
inline double operations_ns(const TargetDesc& t, double additions) { return multiply_adds_ns(t, additions / 2); }
// The share of that speed that register tiles reach with what stands around their loops: in convolutions, in products
// of Winograd's form, in matrix products, in Strassen's form. Medians over layers of ResNet-50, VGG-16 and BERT, Zen 4.
inline constexpr double convolution_share = 0.85, winograd_share = 0.8, product_share = 0.93, strassen_share = 0.91;

// An estimate tells two ways apart that differ by more than this; the nearer they are, the more stays as it was.
inline constexpr double surely_less = 0.85, likely_less = 0.95, surely_more = 1.2;

// --- memory ----------------------------------------------------------------------------------------------------------
// A cache is counted on to keep half of its size: the other half is for what streams past it.
inline double kept_bytes(int64_t cache) { return static_cast<double>(cache) / 2; }
inline bool stays_in_l1(const TargetDesc& t, double bytes) { return bytes <= kept_bytes(t.l1_bytes); }
inline bool stays_in_l2(const TargetDesc& t, double bytes) { return bytes <= kept_bytes(t.l2_bytes); }
inline bool stays_in_l3(const TargetDesc& t, double bytes) { return bytes <= kept_bytes(t.l3_bytes); }
// Of what is to stay there beside others.
inline int64_t part_of_l1(const TargetDesc& t, int64_t parts) { return t.l1_bytes / parts; }
inline int64_t part_of_l2(const TargetDesc& t, int64_t parts) { return t.l2_bytes / parts; }
inline int64_t part_of_l3(const TargetDesc& t, int64_t parts) { return t.l3_bytes / parts; }

// Reading what is read again and again: from the nearest cache that keeps so much of it.
inline double read_gbps(const TargetDesc& t, double bytes) {
  return bytes <= kept_bytes(t.l2_bytes) ? t.l2_gbps : bytes <= kept_bytes(t.l3_bytes) ? t.l3_gbps : t.dram_gbps;
}
inline double read_ns(const TargetDesc& t, double bytes) { return bytes / read_gbps(t, bytes); }
// What does not stay in L2 between two reads, or is written there.
inline double beyond_l2_ns(const TargetDesc& t, double bytes) {
  return bytes / (bytes <= kept_bytes(t.l3_bytes) ? t.l3_gbps : t.dram_gbps);
}
// Of copies within L2, and of arrays that are read as soon as they are written there or beyond.
inline double in_l2_ns(const TargetDesc& t, double bytes) { return bytes / t.l2_gbps; }
inline double beyond_l2_gbps(const TargetDesc& t) { return t.l3_gbps; }

// Whether an element of so many bytes, one of `all`, is better stored and read by each reader than computed by each of
// what they would read instead: it is written and read once more than that. Where two read, on Zen 4: quotients of 64 x
// 1024 elements 13.0 us stored and 13.9 computed twice, roots 17 and 23; of 8192 x 1024, beyond L3, 12 ms and 6.
inline bool pays_to_store(const TargetDesc& t, double additions, double readers, double bytes, double all) {
  const double in_floats = additions * std::max(bytes / 4, 1.0);  // a vector holds half as many doubles
  return (readers - 1) * operations_ns(t, in_floats) > 2 * bytes / read_gbps(t, all);
}

// --- tasks -----------------------------------------------------------------------------------------------------------
// Handing a task to another thread and back takes less than a microsecond; a task should take longer.
inline constexpr int64_t task_elements = 4096;        // written one by one
inline constexpr int64_t min_task_elements = 1024;    // of axes: more of them inside make a task of each step
inline constexpr int64_t task_multiply_adds = 16384;  // of dot products along rows
inline constexpr int64_t task_windows = 2048;         // results of small windows
// With so many tasks every thread finds some; more of them cost more than they balance.
inline constexpr int64_t enough_tasks = 8;

// A row of so many vectors has enough of them for four chains of sums.
inline constexpr int64_t long_row_vectors = 8;

// --- copies ----------------------------------------------------------------------------------------------------------
// Packing a factor of a product costs about as much as four of its rows: with so many it does not matter.
inline constexpr int64_t rows_for_packing = 16;
// One that is contiguous along the lanes can be read as it lies; packed, it only comes in one stream. Beyond L2 that
// pays from 32 rows on (768 x 1000: 285 us packed, 250 as it lies with 16 rows; 440 and 490 with 32), where L2 holds
// all of it hardly ever (512 x 128: 18 and 12 us with 16 rows, 107 and 96 with 128). Sapphire Rapids, one thread.
inline constexpr int64_t rows_for_copying = 32, rows_for_copying_in_l2 = 128;

}  // namespace relay::lower
