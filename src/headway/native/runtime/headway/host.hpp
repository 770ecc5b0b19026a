// A program as a shared library, in the process of somebody who has data for it.
//
// The functions at the end are all that the library exports; `headway.native.library` is their
// other side. Rows go in and out as they lie in memory: the library tells the layout of its
// structs. A program is one vehicle: its operators are variables of the library, so each further
// vehicle loads the library once more, or takes the state of this one away and brings it back.
//
// The generated file that makes a library of a program includes this header once and defines
// `headway::host::host()`.
#pragma once

#include "headway/host_fleet.hpp"
#include "headway/host_results.hpp"
#include "headway/node_tables.hpp"

namespace headway::host {

/// Of the functions below and all that they hand over.
inline constexpr std::uint32_t ABI_VERSION = 3;

/// What a run keeps for its owner, as bits.
inline constexpr std::uint32_t KEEP_OUTPUTS = 1;
inline constexpr std::uint32_t KEEP_TRACE = 2;

/// A stream's struct: the same as in its WireStream, without what only messages need.
struct StreamLayout {
  const char* name;
  std::uint32_t row_bytes;
  std::uint32_t column_count;
  const WireColumn* columns;
};

/// A source or output and its stream.
struct Named {
  const char* name;
  std::uint32_t stream;
};

/// Tuples in order of arrival. The n-th arrival of a source is the n-th of its rows.
struct ArrivalArrays {
  std::uint64_t count;
  const std::int64_t* times;
  const std::uint16_t* sources;
  /// By source.
  const std::byte* const* rows;
};

/// Fills in the next arrivals, and keeps those before them; false when there are none.
using More = std::uint8_t (*)(ArrivalArrays*);

struct RunCounts {
  std::int64_t now;
  std::int64_t arrived;
  std::int64_t timeouts;
  std::int64_t decisions;
  std::int64_t preemptions;
  std::int64_t refused;
  std::int64_t no_room;
  std::int64_t results;
  /// Whether the memory was enough for all results.
  std::int64_t complete;
  /// Tuple by tuple: when the next timer is over.
  std::int64_t next_timer;
};

/// Most sources of a program.
inline constexpr std::size_t MOST_SOURCES = 1024;

/// Goes through arrays of arrivals, one after another.
class ArrivalReader {
 public:
  ArrivalReader(const Program& program, More more) : program_(program), more_(more) {}

  void begin(const ArrivalArrays& arrays) {
    arrays_ = arrays;
    next_ = 0;
    for (std::uint32_t source = 0; source < program_.sources.count; ++source) {
      rows_[source] = arrays.rows[source];
    }
  }

  /// `Given` has the members of a time keeper's arrival.
  template <class Given>
  bool next(Given& given) {
    if (next_ == arrays_.count && !take_more()) return false;
    const std::uint16_t marked = arrays_.sources[next_];
    const Index source = static_cast<Index>(marked & ~MALFORMED);
    given.time = arrays_.times[next_];
    given.source = source;
    given.malformed = (marked & MALFORMED) != 0;
    given.row = nullptr;
    if (!given.malformed) {
      given.row = rows_[source];
      rows_[source] += program_.sources[source].row_bytes;
    }
    ++next_;
    return true;
  }

 private:
  bool take_more() {
    ArrivalArrays arrays{};
    if (more_ == nullptr || more_(&arrays) == 0 || arrays.count == 0) return false;
    begin(arrays);
    return true;
  }

  const Program& program_;
  More more_;
  ArrivalArrays arrays_{};
  std::uint64_t next_ = 0;
  const std::byte* rows_[MOST_SOURCES] = {};
};

/// What the functions speak to: a program, and a time keeper that runs it.
class Host {
 public:
  const Program& program;
  const Span<StreamLayout> streams;
  Results results;
  /// The state that was saved last.
  Buffer saved;

  Host(const Program& the_program, Span<StreamLayout> the_streams, Span<PlaceOfLoss> places,
       Buffer* outputs)
      : program(the_program), streams(the_streams), results(the_program, places, outputs) {}
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  /// Lays out all memory; called once. False when there is not enough.
  virtual bool start() = 0;
  /// In virtual time, to the end.
  virtual void run(More more) { (void)more; }
  // Tuple by tuple:
  virtual void take(const ArrivalArrays& arrivals) { (void)arrivals; }
  virtual void run_until(Nanoseconds time) { (void)time; }
  virtual void finish() {}
  virtual bool save(StateWriter& writer) {
    (void)writer;
    return false;
  }
  virtual bool load(const void* bytes, std::size_t size) {
    (void)bytes;
    (void)size;
    return false;
  }
  /// Tuple by tuple, many vehicles one after another.
  virtual FleetEnd run_fleet(const FleetGiven& given, FleetGave& gave) {
    (void)given;
    (void)gave;
    return FleetEnd::NO_MEMORY;
  }
  virtual RunCounts counts() const = 0;
  virtual std::int64_t beyond_rate(Index source) const = 0;
  /// Of the optional part before a stream.
  virtual Precision precision(Index stream) const {
    (void)stream;
    return {};
  }

 protected:
  /// When the library is unloaded all its memory is given back.
  ~Host() {
    std::free(memory_);
#if defined(HEADWAY_GROWS)
    GrownMemory::give_all();
#endif
  }

  /// The memory of the program and its time keeper; null when there is not enough.
  std::byte* take_memory(std::size_t bytes) {
    memory_ = std::malloc(bytes);
    return static_cast<std::byte*>(memory_);
  }

  /// What the numbers of a kernel are to the outside.
  RunCounts counts_of(const Counts& counts, Nanoseconds now, Nanoseconds next_timer) const {
    return {now,
            counts.arrived,
            counts.timeouts,
            counts.decisions,
            counts.preemptions,
            counts.refused,
            counts.no_room,
            static_cast<std::int64_t>(results.given()),
            results.complete() ? 1 : 0,
            next_timer};
  }

 private:
  void* memory_ = nullptr;
};

/// The program of this library.
Host& host();

}  // namespace headway::host

// ---------------------------------------------------------------- what the library exports

extern "C" {

std::uint32_t headway_abi() { return headway::host::ABI_VERSION; }

std::uint8_t headway_stream(std::uint32_t place, headway::host::StreamLayout* stream) {
  const auto& streams = headway::host::host().streams;
  if (place >= streams.count) return 0;
  *stream = streams[place];
  return 1;
}

std::uint8_t headway_source(std::uint32_t place, headway::host::Named* source) {
  const headway::Program& program = headway::host::host().program;
  if (place >= program.sources.count) return 0;
  const headway::Source& one = program.sources[place];
  *source = {one.name, program.outlets[one.outlet].stream};
  return 1;
}

std::uint8_t headway_output(std::uint32_t place, headway::host::Named* output) {
  const headway::Program& program = headway::host::host().program;
  if (place >= program.outputs.count) return 0;
  *output = {program.outputs[place].name, program.outputs[place].stream};
  return 1;
}

std::uint8_t headway_start(std::uint32_t keeps) {
  headway::host::Host& host = headway::host::host();
  host.results.kept = (keeps & headway::host::KEEP_OUTPUTS) != 0;
  host.results.traced = (keeps & headway::host::KEEP_TRACE) != 0;
  return host.start() ? 1 : 0;
}

void headway_run(headway::host::More more) { headway::host::host().run(more); }

void headway_take(const headway::host::ArrivalArrays* arrivals) {
  headway::host::host().take(*arrivals);
}

void headway_run_until(std::int64_t time) { headway::host::host().run_until(time); }

void headway_finish() { headway::host::host().finish(); }

void headway_counts(headway::host::RunCounts* counts) { *counts = headway::host::host().counts(); }

std::int64_t headway_beyond(std::uint8_t of_operator, std::uint32_t place) {
  const headway::host::Host& host = headway::host::host();
  if (of_operator == 0) return host.beyond_rate(static_cast<headway::Index>(place));
  return host.program.stateful[place]->beyond;
}

std::uint8_t headway_saves(std::uint32_t place) {
  return headway::host::host().program.stateful[place]->saves() ? 1 : 0;
}

void headway_precision(std::uint32_t output, headway::Precision* precision) {
  const headway::host::Host& host = headway::host::host();
  *precision = host.precision(host.program.outputs[output].stream);
}

void headway_output_rows(std::uint32_t place, headway::host::Bytes* rows) {
  const headway::host::Results& results = headway::host::host().results;
  const headway::host::Buffer& buffer = results.output_rows(static_cast<headway::Index>(place));
  *rows = {buffer.data(), buffer.size()};
}

void headway_drops(headway::host::Bytes* records, headway::host::Bytes* rows) {
  const headway::host::Results& results = headway::host::host().results;
  *records = {results.drops().data(), results.drops().size()};
  *rows = {results.dropped_rows().data(), results.dropped_rows().size()};
}

void headway_events(headway::host::Bytes* events) {
  const headway::host::Buffer& buffer = headway::host::host().results.events();
  *events = {buffer.data(), buffer.size()};
}

void headway_clear() { headway::host::host().results.clear(); }

std::uint8_t headway_save(headway::host::Bytes* state) {
  headway::host::Host& host = headway::host::host();
  host.saved.clear();
  headway::host::BufferWriter writer(host.saved);
  const bool saved = host.save(writer);
  const bool complete = writer.end() && saved;
  *state = {host.saved.data(), host.saved.size()};
  return complete ? 1 : 0;
}

std::uint8_t headway_load(const void* state, std::uint64_t size) {
  return headway::host::host().load(state, size) ? 1 : 0;
}

std::uint8_t headway_run_fleet(const headway::host::FleetGiven* given,
                               headway::host::FleetGave* gave) {
  return static_cast<std::uint8_t>(headway::host::host().run_fleet(*given, *gave));
}

}  // extern "C"
