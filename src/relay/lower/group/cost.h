// The cost model: every figure that rules and algorithms choose by. Times are nanoseconds on one core, by the machine's
// description (machine/target_desc.h). Numbers that are not part of a description follow here, each with its reason.
// `make lint` refuses cache sizes, names of processors and bare numbers in lower/rules and lower/algorithms.
#pragma once

#include <algorithm>

#include "relay/machine/target_desc.h"
#include "relay/te/te.h"

namespace relay::lower {

// --- guesses for sizes that are known at run time only ---------------------------------------------------------------
inline constexpr int64_t usual_rows = 64;       // elements of a result along any axis: places of an image, a batch
inline constexpr int64_t usual_features = 256;  // channels, columns, keys, terms of a product's sum
inline constexpr int64_t usual_row = 1024;      // elements of a contiguous row

// --- arithmetic ------------------------------------------------------------------------------------------------------
inline int64_t float_lanes(const TargetDesc& t) { return std::max(1, t.vector_bytes / 4); }

// Time of `count` float32 multiply-adds, in whole vectors at full speed.
inline double multiply_adds_ns(const TargetDesc& t, double count) {
  return count / (static_cast<double>(float_lanes(t)) * t.fma_per_cycle * t.ghz);
}
// Operations, with a multiply-add counted as two; `additions` are such operations (operations.h), here of float32.
inline double additions_in(const TargetDesc& t, double cycles) { return 2 * t.fma_per_cycle * cycles; }
inline double operations_ns(const TargetDesc& t, double additions) { return multiply_adds_ns(t, additions / 2); }
// The share of that speed that register tiles reach, with the work around their loops: in convolutions, in products of
// Winograd's form, in matrix products, in Strassen's form. Medians over layers of ResNet-50, VGG-16 and BERT, Zen 4.
inline constexpr double convolution_share = 0.85, winograd_share = 0.8, product_share = 0.93, strassen_share = 0.91;

// Thresholds for ratios of two estimates. The nearer the estimates, the more is left as it was.
inline constexpr double surely_less = 0.85, likely_less = 0.95, surely_more = 1.2;

// --- memory ----------------------------------------------------------------------------------------------------------
// A cache is assumed to keep half of its size; the other half is left for data that streams through.
inline double kept_bytes(int64_t cache) { return static_cast<double>(cache) / 2; }
inline bool stays_in_l1(const TargetDesc& t, double bytes) { return bytes <= kept_bytes(t.l1_bytes); }
inline bool stays_in_l2(const TargetDesc& t, double bytes) { return bytes <= kept_bytes(t.l2_bytes); }
inline bool stays_in_l3(const TargetDesc& t, double bytes) { return bytes <= kept_bytes(t.l3_bytes); }
// A share of a cache, for data that has to stay there with others.
inline int64_t part_of_l1(const TargetDesc& t, int64_t parts) { return t.l1_bytes / parts; }
inline int64_t part_of_l2(const TargetDesc& t, int64_t parts) { return t.l2_bytes / parts; }
inline int64_t part_of_l3(const TargetDesc& t, int64_t parts) { return t.l3_bytes / parts; }

// Repeated reads: from the nearest cache that keeps `bytes`.
inline double read_gbps(const TargetDesc& t, double bytes) {
  return bytes <= kept_bytes(t.l2_bytes) ? t.l2_gbps : bytes <= kept_bytes(t.l3_bytes) ? t.l3_gbps : t.dram_gbps;
}
inline double read_ns(const TargetDesc& t, double bytes) { return bytes / read_gbps(t, bytes); }
// Access to data that does not stay in L2 between two reads, or is written there.
inline double beyond_l2_ns(const TargetDesc& t, double bytes) {
  return bytes / (bytes <= kept_bytes(t.l3_bytes) ? t.l3_gbps : t.dram_gbps);
}
// Copies within L2, and arrays that are read right after they are written, in L2 or beyond.
inline double in_l2_ns(const TargetDesc& t, double bytes) { return bytes / t.l2_gbps; }
inline double beyond_l2_gbps(const TargetDesc& t) { return t.l3_gbps; }

// True if an element of `bytes`, one of `all` bytes, is better stored and read by each reader than recomputed by each
// of them from its inputs: storing costs one write and one read more. With two readers, on Zen 4: quotients of 64 x
// 1024 elements take 13.0 us stored and 13.9 us computed twice, roots 17 us and 23 us; quotients of 8192 x 1024
// elements, beyond L3, 12 ms and 6 ms.
inline bool pays_to_store(const TargetDesc& t, double additions, double readers, double bytes, double all) {
  const double in_floats = additions * std::max(bytes / 4, 1.0);  // a vector holds half as many doubles
  return (readers - 1) * operations_ns(t, in_floats) > 2 * bytes / read_gbps(t, all);
}

// --- tasks -----------------------------------------------------------------------------------------------------------
// Handing a task to another thread and back takes less than a microsecond; a task should take longer.
inline constexpr int64_t task_elements = 4096;        // elements written one by one
inline constexpr int64_t min_task_elements = 1024;    // with as many inside, an axis is parallel
inline constexpr int64_t task_multiply_adds = 16384;  // multiply-adds of dot products along rows
inline constexpr int64_t task_windows = 2048;         // results of small windows
// With this many tasks every thread finds some; more of them cost more than they balance.
inline constexpr int64_t enough_tasks = 8;

// A row of this many vectors has enough of them for four chains of sums.
inline constexpr int64_t long_row_vectors = 8;

// --- copies ----------------------------------------------------------------------------------------------------------
// Packing a factor of a product costs about as much as four of its rows; with this many rows the cost does not matter.
inline constexpr int64_t rows_for_packing = 16;
// A factor that is contiguous along the lanes can be read in place; packing only turns it into one stream. Beyond L2
// that pays from 32 rows on (768 x 1000: 285 us packed, 250 us in place with 16 rows; 440 us and 490 us with 32). If L2
// holds all of it, it hardly ever pays (512 x 128: 18 us and 12 us with 16 rows, 107 us and 96 us with 128). Sapphire
// Rapids, one thread.
inline constexpr int64_t rows_for_copying = 32, rows_for_copying_in_l2 = 128;

}  // namespace relay::lower
