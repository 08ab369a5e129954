// Attributes of @main that describe its inputs and results to callers. An importer sets them, an artifact keeps
// them, and Python reads them.
#pragma once

namespace relay::ir::interface {

inline constexpr const char* strings = "strings";                    // the list of strings that numbers stand for
inline constexpr const char* string_inputs = "string_inputs";        // names of inputs with such numbers
inline constexpr const char* string_outputs = "string_outputs";      // names of results with such numbers
inline constexpr const char* complex_inputs = "complex_inputs";      // positions of inputs whose last axis is two parts
inline constexpr const char* complex_outputs = "complex_outputs";    // positions of such results
inline constexpr const char* result_names = "result_names";          // all names, if some results are sequences
inline constexpr const char* result_counts = "result_counts";        // tensors of each; -1: a list, -2: no sequence
inline constexpr const char* map_outputs = "map_outputs";            // names of results that are lists of maps
inline constexpr const char* map_keys = "map_keys";                  // keys, by result
inline constexpr const char* map_word_outputs = "map_word_outputs";  // names of those whose keys are places in ...
inline constexpr const char* map_words = "map_words";                // ... this list

// All of them.
inline constexpr const char* all[] = {strings,         string_inputs,    string_outputs, complex_inputs,
                                      complex_outputs, result_names,     result_counts,  map_outputs,
                                      map_keys,        map_word_outputs, map_words};

}  // namespace relay::ir::interface
