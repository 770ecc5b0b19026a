// From the functions of a program, which take rows by their types, to those of its tables, which
// take pointers.
#pragma once

#include <initializer_list>

#include "headway/tables.hpp"

namespace headway {

template <class In, bool (*FUNCTION)(const In&)>
bool filter_row(const void* row) {
  return FUNCTION(*static_cast<const In*>(row));
}

template <class In, class Out, void (*FUNCTION)(const In&, Out&)>
void map_row(const void* row, void* out) {
  FUNCTION(*static_cast<const In*>(row), *static_cast<Out*>(out));
}

template <class In, class Out, WholeResult (*FUNCTION)(const In&, Out&)>
WholeResult run_train(const void* row, void* out) {
  return FUNCTION(*static_cast<const In*>(row), *static_cast<Out*>(out));
}

template <class In, ShedValue (*FUNCTION)(const In&)>
ShedValue shed_value(const void* row) {
  return FUNCTION(*static_cast<const In*>(row));
}

/// The largest of some sizes.
constexpr std::uint32_t largest_row(std::initializer_list<std::size_t> sizes) {
  std::size_t most = 0;
  for (const std::size_t size : sizes) {
    if (size > most) most = size;
  }
  return static_cast<std::uint32_t>(most);
}

}  // namespace headway
