// A program as tables: what the compiler decided, written by the generator as constants.
//
// Everything that can be known before the first tuple stands here: trains and their costs, who
// takes whose tuples and in which order, ranks, deadlines, buses and frames, sizes of buffers. The
// kernel only follows them. Numbers such as `unit` or `stream` are places in the program's tables.
#pragma once

#include <cstdint>

#include "headway/operator.hpp"

namespace headway {

using Index = std::uint16_t;
inline constexpr Index NONE = 0xFFFF;

// ---------------------------------------------------------------- trains

/// What an operator of a train does with a row.
enum class StepKind : std::uint8_t {
  FILTER,    // passes the row or not; the row stays as it is
  MAP,       // makes another row of it
  PASS,      // the row stays as it is (a union of rows of one layout)
  CONVERT,   // a union whose inputs differ in layout: `by_port`
  STATEFUL,  // an Operator
};

using FilterFunction = bool (*)(const void* row);
using MapFunction = void (*)(const void* row, void* out);

struct Step {
  const char* name;
  StepKind kind;
  /// By which port tuples of the train enter it; the head is entered by the port of the tuple.
  Port port;
  /// Computation time for one tuple on its node.
  Nanoseconds cost;
  /// Bytes of what goes out.
  std::uint32_t row_bytes;
  FilterFunction filter;
  MapFunction map;
  /// Of a CONVERT; null where the layout is the same.
  const MapFunction* by_port;
  Operator* stateful;
};

/// How many operators of a train ran, and whether its result is there.
struct WholeResult {
  std::uint16_t ran;
  bool passed;
};
/// A train of stateless operators as one function.
using WholeTrain = WholeResult (*)(const void* row, void* out);

enum class Gather : std::uint8_t { NOTHING, ALL, TIME };

/// By what jobs are ordered, least first: (timestamp or root or nothing, plus a constant; then
/// another constant, from 0 to 0xFFFF).
enum class KeyBase : std::uint8_t { TIMESTAMP, ROOT, CONSTANT };
struct KeyRule {
  KeyBase base;
  std::int64_t add;
  std::int64_t second;
};

/// What the last operator of a train may do besides its cost if there is time (imprecise
/// computation, HVLB_CC section 4.4): so many pieces of that time, which are not interrupted.
struct OptionalPart {
  GatheringOperator* refines;
  std::uint32_t pieces;
  Nanoseconds piece_cost;
};

/// A train (or a single operator) on a node: what is scheduled as one.
struct Unit {
  const char* name;
  Index node;
  /// The cores that run it: a place in `Program::groups`.
  Index group;
  Span<Step> steps;
  /// Null where an operator keeps state or gathers.
  WholeTrain whole;
  KeyRule key;
  /// Where its results go.
  Index exit;
  /// Whether its jobs take no time at all.
  bool free;
  /// Whether windows after it must wait for its jobs under way.
  bool holds_windows_back;
  /// Relative deadline by EDF* from the tuple's timestamp, and the whole cost.
  Nanoseconds deadline;
  Nanoseconds cost;
  // Of a head that gathers:
  Gather gather;
  bool between_items;
  Port ports;
  Nanoseconds timeout;
  Nanoseconds base_cost;
  Nanoseconds item_cost;
  GatheringOperator* gathering;
  /// Null: it has none.
  const OptionalPart* optional;
  // Sizes:
  /// The largest row that enters by any port, and that stands between two operators of it or at its
  /// end.
  std::uint32_t entry_bytes;
  std::uint32_t inner_bytes;
  /// Jobs of it that can wait or be under way at once; results that can be pending in it; tuples
  /// that can be gathered.
  std::uint32_t most_jobs;
  std::uint32_t most_pending;
  std::uint32_t most_gathered;
};

// ---------------------------------------------------------------- streams

struct Entry {
  Index unit;
  Port port;
};

/// Where the tuples of a stream go from one node, in this order: outputs, units there, other nodes.
struct Outlet {
  Index stream;
  Index node;
  std::uint32_t row_bytes;
  Span<Index> outputs;
  Span<Entry> entries;
  /// Whether it leaves for other nodes.
  bool sent;
};

struct Stream {
  const char* name;
  std::uint32_t row_bytes;
  /// Whether windows must wait for messages of it that are under way between nodes.
  bool holds_windows_back;
};

/// At most `count` in any `period`, displaced by up to `jitter`; count 0: not declared. With an
/// `offset` of 0 or more: at the multiples of the period and that much later.
struct DeclaredRate {
  std::uint32_t count;
  Nanoseconds period;
  Nanoseconds jitter;
  Nanoseconds offset = -1;
};

/// The value of a tuple to a load shedder: NULL below all numbers, NaN above. Whole numbers are in
/// `whole`, the others in `real`.
struct ShedValue {
  std::uint8_t rank;  // 0 NULL, 1 a number, 2 NaN
  std::int64_t whole;
  double real;
};
inline bool operator<(const ShedValue& left, const ShedValue& right) {
  if (left.rank != right.rank) return left.rank < right.rank;
  if (left.rank != 1) return false;
  if (left.whole != right.whole) return left.whole < right.whole;
  return left.real < right.real;
}

struct Shedding {
  std::uint32_t at_most;
  Nanoseconds per;
  /// On arrival, or at the window's end.
  bool on_arrival;
  ShedValue (*value)(const void* row);
};

struct Source {
  const char* name;
  Index outlet;
  std::uint32_t row_bytes;
  Microseconds lateness;
  DeclaredRate rate;
  /// Null: it takes all.
  const Shedding* shedding;
};

struct Output {
  const char* name;
  Index stream;
  Index node;
  /// From the tuple's timestamp; 0 where none is declared.
  Nanoseconds deadline;
  bool hard;
};

// ---------------------------------------------------------------- windows

/// An operator up to the last window, in topological order.
struct WindowedOperator {
  const char* name;
  /// Its own place among the watermarks: sources first, then these operators in order.
  Index mark;
  /// Places of the watermarks of the streams it reads, and those streams (for messages under way).
  Span<Index> input_marks;
  Span<Index> input_streams;
  /// The units it stands in.
  Span<Index> units;
  /// Null if it keeps no state.
  Operator* stateful;
  /// The unit that gathers for it, or NONE.
  Index gathering_unit;
};

/// An operator that closes windows as time moves, the unit it heads, and the sources before it.
struct ClosingOperator {
  Index unit;
  Operator* stateful;
  Index mark;
  Span<Index> sources;
};

/// A join or the like, told now and then how far time has come, so that it can forget.
struct ForgettingOperator {
  Operator* stateful;
  Index mark;
};

// ---------------------------------------------------------------- nodes and buses

struct NodeTable {
  const char* name;
};

/// One queue of ready jobs and the cores it feeds.
struct CoreGroup {
  Index node;
  /// What the trace calls each core; the last one is used first.
  Span<const char*> places;
  Nanoseconds decision_cost;
  Nanoseconds preemption_cost;
};

/// Where a stream goes from a medium: to nodes at once, through gateways to other media.
struct Onward {
  Index medium;
  Nanoseconds delay;
};
struct Branch {
  Index stream;
  Index medium;
  std::int32_t priority;
  /// The time of each frame of one tuple.
  Span<Nanoseconds> frames;
  /// Outlets on the receiving nodes.
  Span<Index> receivers;
  Span<Onward> onward;
};

/// How a stream leaves its node: the branches on the media it enters, and the outlet that gets a
/// tuple last: then all have it.
struct Crossing {
  Index stream;
  Span<Index> first_branches;
  Index last_receiver;
};

struct Medium {
  const char* name;
};

// ---------------------------------------------------------------- reservations (ROP-EDF)

/// Where a job belongs: a task in a node's ledger, behind so many gatherings.
struct PathPlace {
  Index ledger;
  Index task;
  Index stage;
  bool hard;
};

/// What a job brings to a node at most, by declared costs, decisions included: once, and for each
/// tuple; whether that is a bound; the relative deadline of the last train of its path there.
struct PathWork {
  Nanoseconds once;
  Nanoseconds each;
  Nanoseconds last;
  bool bounded;
};

/// Of a unit that declares a cost; where nothing is declared there are no places. Sources are those
/// of the whole plan.
struct UnitReservation {
  /// Whose task the results of timers and windows belong to.
  Index first_source;
  /// By source, the ledger NONE where none of its tuples come; and by source, then port.
  Span<PathPlace> places;
  Span<PathWork> works;
};

/// Capacities are in millionths of a node.
struct ReservedTask {
  bool hard;
  /// Of a soft task under policy 2: its share, while no tuple holds any of it.
  std::int64_t share;
};
struct LedgerTable {
  Span<ReservedTask> tasks;
  /// What hard tasks leave, and how much of it stays free because operators are not interrupted.
  std::int64_t soft_capacity;
  std::int64_t overhead;
};

/// A source that a hard path begins at: its declared rates, and the soft trains and outputs that
/// may take what is beyond them. Without rates: not policed.
struct PolicedSource {
  /// Its number among the sources of the whole plan; NONE: a stream of another node.
  Index origin;
  Span<DeclaredRate> rates;
  Span<Entry> takers;
  Span<Index> outputs;
};

/// What soft tuples reserve (ROP-EDF section 4).
enum class SoftRule : std::uint8_t {
  WHOLE_TUPLES,  // policy 1: their own utilisation: they run in full or not at all
  SHARES,        // policy 2: that, or what is left of the share of their task
};

struct ReservationTables {
  SoftRule rule;
  Span<LedgerTable> ledgers;
  /// By unit, and by source.
  Span<UnitReservation> units;
  Span<PolicedSource> sources;
};

// ---------------------------------------------------------------- all of it

struct Program {
  const char* query;
  bool preemptive;
  Span<Unit> units;
  Span<Outlet> outlets;
  Span<Stream> streams;
  Span<Source> sources;
  Span<Output> outputs;
  Span<WindowedOperator> windowed;
  Span<ClosingOperator> closing;
  Span<ForgettingOperator> forgetting;
  Span<NodeTable> nodes;
  Span<CoreGroup> groups;
  Span<Medium> media;
  Span<Branch> branches;
  Span<Crossing> crossings;
  /// All operators with state, in the order of the query.
  Span<Operator*> stateful;
  /// Under a policy that reserves processor time; else null.
  const ReservationTables* reservations;
  /// Timers, messages and the like that can be outstanding at once.
  std::uint32_t most_events;
  std::uint32_t most_messages;
};

// ---------------------------------------------------------------- what a run tells the outside

struct Dropped {
  DropKind kind;
  Reason reason;
  std::int64_t detail;
  /// A source (by its place) or an operator: then a place in `Program::stateful`, or NONE for one
  /// that keeps no state.
  bool at_source;
  Index where;
  /// The name of that source or operator.
  const char* name;
  Port port;
  const void* row;
  /// Of a shed tuple.
  ShedValue value;
};

/// The kinds of the Python engine's trace, with the same numbers.
struct TraceEvent {
  std::uint8_t kind;
  Nanoseconds start;
  Nanoseconds end;
  const char* node;
  const char* place;
  const char* name;
  std::int64_t number;
  std::int32_t first;
  std::int32_t count;
};

/// Takes what a run gives.
class Sinks {
 public:
  virtual void output(Index output, const void* row, Nanoseconds completed, bool late) = 0;
  virtual void dropped(const Dropped& one, Nanoseconds now) = 0;
  virtual void event(const TraceEvent& event) = 0;
  bool traced = false;

 protected:
  ~Sinks() = default;
};

/// Pieces of optional parts that were done, of those asked for.
struct Precision {
  std::int64_t done = 0;
  std::int64_t asked = 0;
};

/// What a run counts.
struct Counts {
  std::int64_t arrived = 0;
  std::int64_t timeouts = 0;
  std::int64_t decisions = 0;
  std::int64_t preemptions = 0;
  std::int64_t refused = 0;
  /// Tuples shed because a buffer was full.
  std::int64_t no_room = 0;
};

}  // namespace headway
