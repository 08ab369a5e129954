// maximum: the range from the least to the largest value. Nothing is clipped; one outlier makes all steps coarse.
#include "relay/quantise/calibration.h"

namespace relay::quantise {

Range maximum(const Histogram& histogram, const CalibrationRequest&) { return {histogram.least, histogram.most}; }

}  // namespace relay::quantise
