// The sensor data fusion operator (SDFO): the windows, the right order, and what is refused.
//
// The twin of fusion/operator.py and fusion/track.py. A subclass says what a row means (`read`),
// how an estimate starts, moves and learns (`first`, `predict`, `update`) and what goes out
// (`report`). It keeps nothing of an object outside the object's State, so that fusing measurements
// again gives the same numbers again.
//
// Of each object a front window of its measurements is kept, and a rear window of the estimates
// they gave, in the order (timestamp, sensor, arrival). A measurement that comes late is put in its
// place, and those after it are fused again.
//
// Between items an execution can be interrupted: it is read and put in order at its beginning,
// each item then fuses one more measurement, and what goes out is made at its end.
//
// A Spec, generated from the query:
//
//   struct OwnSpec {
//     using Out = Own;
//     using ObjectKey = SingleObject;                 // or NumberKey, TextKey<N>
//     using SensorKey = NumberKey;                    // or TextKey<N>; the ports by name: numbers
//     static constexpr Microseconds front_us = 1000000, rear_us = 1000000;
//     static constexpr Port ports = 2;
//     static constexpr std::size_t most_row_bytes = ...;    // of any port
//     static constexpr std::size_t row_bytes(Port port);
//     static constexpr std::int64_t most_outputs = -1;      // to one tuple, if declared
//     // Objects, measurements and estimates of all objects together, tuples of one execution.
//     static constexpr std::size_t most_objects = 1, most_measurements = 130;
//     static constexpr std::size_t most_estimates = 130, most_items = 12;
//     static bool object(Port, const void* row, ObjectKey&);   // false: NULL
//     static bool sensor(Port, const void* row, SensorKey&);
//     static void save_row(Port, const void* row, StateWriter&);
//     static bool load_row(Port, StateReader&, void* row);
//   };
#pragma once

#include <algorithm>
#include <initializer_list>

#include "headway/association.hpp"
#include "headway/kalman.hpp"
#include "headway/object_keys.hpp"
#include "headway/pool.hpp"
#include "headway/time_window.hpp"

namespace headway {

/// One input tuple. The first three members order it; no two measurements share them.
template <class SensorKey, class Reading, std::size_t ROW_BYTES>
struct Measurement {
  Microseconds timestamp;
  SensorKey sensor;
  /// Running number of arrival.
  std::int64_t arrival;
  Port port;
  /// What the operator read from the row.
  Reading reading;
  alignas(ALIGNMENT) std::byte row[ROW_BYTES];
};

/// The largest of some sizes.
constexpr std::size_t largest_size(std::initializer_list<std::size_t> sizes) {
  std::size_t found = 0;
  for (const std::size_t size : sizes) found = size > found ? size : found;
  return found;
}

template <class Row>
void save_row_as(const void* row, StateWriter& writer) {
  save_value(writer, *static_cast<const Row*>(row));
}

template <class Row>
bool load_row_as(StateReader& reader, void* row) {
  Row value{};
  if (!load_value(reader, value)) return false;
  std::memcpy(row, &value, sizeof value);
  return true;
}

template <class Spec, class ReadingType, class StateType = FilterState>
class SensorFusion : public GatheringOperator {
 public:
  using Out = typename Spec::Out;
  using ObjectKey = typename Spec::ObjectKey;
  using SensorKey = typename Spec::SensorKey;
  using Reading = ReadingType;
  using State = StateType;
  using Measured = Measurement<SensorKey, Reading, Spec::most_row_bytes>;
  static constexpr bool GATED = HasGate<Spec>::value;
  /// What is known of an object after one measurement.
  using Known = std::conditional_t<GATED, Associated<State>, State>;

  // -------------------------------------------------------------- what a subclass says
 protected:
  /// What the row measures; false when it is unusable.
  virtual bool read(Port port, const void* row, Reading& reading) = 0;
  /// The estimate that a measurement of an unknown object gives; false when it cannot start one.
  virtual bool first(const ObjectKey& object, const Measured& measurement, State& state) = 0;
  /// Moves the estimate to a later moment.
  virtual void predict(State& state, Microseconds to) const = 0;
  /// Lets the estimate know the measurement too; `state` is for the measurement's moment.
  virtual void update(State& state, const Measured& measurement) const = 0;
  /// How far the measurement is from what the estimate, which is for its moment, lets expect. Only
  /// a query with a gate asks.
  virtual GateDistance distance(const State& state, const Measured& measurement) const {
    (void)state;
    (void)measurement;
    return {0.0, 0};
  }
  /// Makes the output of one execution with `emit`: `at` is the time of its newest measurement,
  /// `measured` are the objects it measured, in the order of their keys.
  virtual void report(Microseconds at, Span<ObjectKey> measured) = 0;
  /// A piece of the optional part, after so many other pieces: makes the results of an execution
  /// better where they stand, as in user_operator.hpp. False: nothing was left to do.
  virtual bool refine_piece(WaitingRows<Out> results, std::uint32_t piece) {
    (void)results;
    (void)piece;
    return false;
  }

  // -------------------------------------------------------------- what it can use for that

  /// The object's estimate for a moment, by what was measured up to then; false when unknown or not
  /// measured for longer than the rear window.
  bool estimate(const ObjectKey& object, Microseconds at, State& state) {
    const Place track = tracks_.find(object);
    if (track == NOWHERE || tracks_[track].last == NOWHERE) return false;
    Place place = tracks_[track].last;
    while (place != NOWHERE && estimates_[place].timestamp > at) place = estimates_[place].before;
    if (place == NOWHERE || !estimates_[place].known) return false;
    if (earlier_by(at, REAR) > estimates_[place].timestamp) return false;
    compute(object, place);
    if constexpr (GATED) {
      state = estimates_[place].state.believed;
      if (earlier_by(at, REAR) > state.timestamp) return false;
    } else {
      state = estimates_[place].state;
    }
    predict(state, at);
    return true;
  }

  /// A result; it takes the timestamp of the execution's oldest tuple.
  void emit(Out& out) {
    out.timestamp = oldest_input_;
    ++results_;
    output_->emit(&out);
  }

  /// A result that its stream cannot hold; it is told after all tuples that are in no estimate.
  void refuse(Out& out) {
    out.timestamp = oldest_input_;
    ++results_;
    if (!refused_.push(out)) output_->drop(DropKind::FAILED, Reason::USER, 0, NO_PORT, &out);
  }

  // -------------------------------------------------------------- one execution
 public:
  static constexpr std::size_t arena_bytes() {
    return KeyTable<ObjectKey, Track>::bytes(Spec::most_objects) +
           Pool<Estimate>::bytes(Spec::most_estimates) +
           Pool<Measured>::bytes(Spec::most_measurements) + List<Found>::bytes(Spec::most_items) +
           List<std::uint32_t>::bytes(Spec::most_items) + List<Fused>::bytes(Spec::most_items) +
           List<ObjectKey>::bytes(Spec::most_items) + List<Out>::bytes(Spec::most_items);
  }

  void open(Arena& arena) override {
    tracks_.open(arena, Spec::most_objects);
    estimates_.open(arena, Spec::most_estimates);
    measurements_.open(arena, Spec::most_measurements);
    found_.open(arena, Spec::most_items);
    order_.open(arena, Spec::most_items);
    fused_.open(arena, Spec::most_items);
    measured_.open(arena, Spec::most_items);
    refused_.open(arena, Spec::most_items);
  }

  void accept(Port port, const void* row, Nanoseconds now, bool late,
              OperatorOutput& output) override {
    (void)late;
    prepare();
    collect(port, row);
    arrange();
    take_item(port, row, output);
    end(now, output);
  }

  void begin(const Batch& batch, Nanoseconds now, bool timed_out) override {
    (void)now;
    (void)timed_out;
    prepare();
    for (Port port = 0; port < Spec::ports; ++port) {
      for (const Gathered* one = batch.first[port]; one != nullptr; one = one->next) {
        collect(port, one->row());
      }
    }
    arrange();
  }

  void item(const Gathered& tuple, OperatorOutput& output) override {
    take_item(tuple.port, tuple.row(), output);
  }

  void end(Nanoseconds now, OperatorOutput& output) override {
    (void)now;
    while (next_fused_ < fused_.size()) fuse_next();
    output_ = &output;
    for (const std::uint32_t place : order_) {
      const Found& found = found_[place];
      if (found.fate == Fate::LATE) {
        output.drop(DropKind::LATE, Reason::FUSION_LATE, 0, found.port, found.row);
      } else if (found.fate == Fate::NO_ROOM) {
        output.drop(DropKind::SHED, Reason::NO_ROOM, 0, found.port, found.row);
      }
    }
    if (!fused_.empty()) conclude();
    if (Spec::most_outputs >= 0 && results_ > Spec::most_outputs * items_) {
      beyond += results_ - Spec::most_outputs * items_;
    }
    output_ = nullptr;
  }

  bool refine(InnerRow* results, std::uint32_t piece, Nanoseconds) final {
    return refine_piece(WaitingRows<Out>(results), piece);
  }

  bool own_timestamps() const override { return true; }

  // -------------------------------------------------------------- state, between two executions

  void save(StateWriter& writer) const override {
    writer.put(newest_);
    writer.put(arrivals_);
    save_count(writer, tracks_.size());
    // As after a restart of the Python engine, objects are kept in the order of their keys.
    Place place = least_track(nullptr);
    for (; place != NOWHERE; place = least_track(&tracks_.key(place))) {
      save_value(writer, tracks_.key(place));
      std::size_t count = 0;
      for (Place one = tracks_[place].first; one != NOWHERE; one = estimates_[one].after) ++count;
      save_count(writer, count);
      for (Place one = tracks_[place].first; one != NOWHERE; one = estimates_[one].after) {
        save_estimate(writer, estimates_[one], is_saved_whole(tracks_[place], one));
      }
    }
  }

  bool load(StateReader& reader) override {
    forget_all();
    if (load_tracks(reader)) return true;
    forget_all();
    return false;
  }

 private:
  static constexpr Microseconds REAR = Spec::rear_us;
  /// What is older than the rear window is never fused again, so it need not be kept.
  static constexpr Microseconds FRONT = Spec::front_us < REAR ? Spec::front_us : REAR;
  static constexpr std::int64_t MOST_ARRIVALS = std::int64_t{1} << 62;

  /// An estimate after one measurement; `known` is false while nothing has come that one could
  /// start with. One that came out of a saved state may not be computed yet: it follows from the
  /// one before it and its measurement. The first and the last of a track always are, and those
  /// whose measurement has gone.
  struct Estimate {
    Microseconds timestamp;
    Place before;
    Place after;
    /// NOWHERE when it has left the front window.
    Place measurement;
    bool known;
    bool computed;
    Known state;
  };

  /// The windows of one object. An empty one was made in this execution.
  struct Track {
    Place first;
    Place last;
    /// The first estimate whose measurement is kept.
    Place front;
    /// Its place in `fused_`, in an execution that measures it.
    std::uint32_t fused;
    std::int64_t execution;
  };

  enum class Fate : std::uint8_t { FUSED, UNUSABLE, LATE, NO_ROOM };

  /// A tuple of this execution.
  struct Found {
    Microseconds timestamp;
    SensorKey sensor;
    std::int64_t arrival;
    ObjectKey object;
    Reading reading;
    const void* row;
    Port port;
    Fate fate;
    /// The next one of the same object.
    std::uint32_t next;
  };

  /// An object that this execution measures, and its tuples in order.
  struct Fused {
    Place track;
    std::uint32_t first;
    std::uint32_t last;
  };

  void prepare() {
    found_.clear();
    order_.clear();
    fused_.clear();
    ++execution_;
    items_ = 0;
    results_ = 0;
    taken_items_ = 0;
    oldest_input_ = INT64_MAX;
    next_fused_ = 0;
    next_found_ = NOWHERE;
  }

  void collect(Port port, const void* row) {
    ++items_;
    const Microseconds timestamp = timestamp_of(row);
    if (timestamp < oldest_input_) oldest_input_ = timestamp;
    if (found_.full()) return;
    Found found{};
    found.timestamp = timestamp;
    found.arrival = ++arrivals_;
    found.row = row;
    found.port = port;
    found.next = NOWHERE;
    bool usable = read(port, row, found.reading);
    usable = Spec::object(port, row, found.object) && usable;
    usable = Spec::sensor(port, row, found.sensor) && usable;
    found.fate = usable ? Fate::FUSED : Fate::UNUSABLE;
    if (found_.push(found) && usable) {
      order_.push(static_cast<std::uint32_t>(found_.size() - 1));
    }
  }

  /// Puts the usable tuples in order, and finds out which can be fused with which track.
  void arrange() {
    if (order_.size() > 1) {
      std::sort(order_.begin(), order_.end(), [this](std::uint32_t left, std::uint32_t right) {
        return ordered(found_[left], found_[right]);
      });
    }
    std::size_t room = estimates_.room();
    if (measurements_.room() < room) room = measurements_.room();
    for (const std::uint32_t place : order_) {
      Found& found = found_[place];
      Place track = tracks_.find(found.object);
      Microseconds oldest = newest_ == NO_TIME ? NO_TIME : earlier_by(newest_, REAR);
      if (track != NOWHERE && tracks_[track].last != NOWHERE) {
        oldest = earlier_by(estimates_[tracks_[track].last].timestamp, FRONT);
      }
      if (found.timestamp < oldest) {
        found.fate = Fate::LATE;
        continue;
      }
      if (room == 0 || (track == NOWHERE && !new_track(found.object, track))) {
        found.fate = Fate::NO_ROOM;
        continue;
      }
      --room;
      if (tracks_[track].execution != execution_) {
        tracks_[track].execution = execution_;
        tracks_[track].fused = static_cast<std::uint32_t>(fused_.size());
        fused_.push(Fused{track, place, place});
      } else {
        Fused& fused = fused_[tracks_[track].fused];
        found_[fused.last].next = place;
        fused.last = place;
      }
    }
  }

  bool new_track(const ObjectKey& object, Place& track) {
    track = tracks_.insert(object);
    if (track == NOWHERE) return false;
    tracks_[track] = Track{NOWHERE, NOWHERE, NOWHERE, 0, 0};
    return true;
  }

  /// Says so if the tuple cannot be used, and fuses one more measurement.
  void take_item(Port port, const void* row, OperatorOutput& output) {
    if (taken_items_ >= found_.size()) {
      output.drop(DropKind::SHED, Reason::NO_ROOM, 0, port, row);
    } else if (found_[taken_items_].fate == Fate::UNUSABLE) {
      output.drop(DropKind::FAILED, Reason::FUSION_UNUSABLE, 0, port, row);
    }
    ++taken_items_;
    if (next_fused_ < fused_.size()) fuse_next();
  }

  // -------------------------------------------------------------- a track

  template <class Left, class Right>
  static bool ordered(const Left& left, const Right& right) {
    if (left.timestamp != right.timestamp) return left.timestamp < right.timestamp;
    if (!(left.sensor == right.sensor)) return left.sensor < right.sensor;
    return left.arrival < right.arrival;
  }

  /// Whether a tuple stands before one that was fused; the latter is in the front window.
  bool comes_before(const Found& found, const Estimate& estimate) const {
    return estimate.measurement != NOWHERE && ordered(found, measurements_[estimate.measurement]);
  }

  /// Takes one tuple into its object's windows, and fuses again what is kept up to the next one.
  void fuse_next() {
    const Fused& fused = fused_[next_fused_];
    const bool is_first = next_found_ == NOWHERE;
    if (is_first) next_found_ = fused.first;
    const Found& found = found_[next_found_];
    Track& track = tracks_[fused.track];
    if (is_first) {
      position_ = track.last;
      while (position_ != NOWHERE && comes_before(found, estimates_[position_])) {
        position_ = estimates_[position_].before;
      }
    } else {
      Place next = estimates_[position_].after;
      for (; next != NOWHERE && !comes_before(found, estimates_[next]);
           next = estimates_[position_].after) {
        position_ = next;
        fuse(found.object, position_);
      }
    }
    position_ = inserted(found, track);
    fuse(found.object, position_);
    next_found_ = found.next;
    if (next_found_ != NOWHERE) return;
    for (Place next = estimates_[position_].after; next != NOWHERE; next = estimates_[next].after) {
      fuse(found.object, next);
    }
    ++next_fused_;
  }

  /// A new estimate after `position_`, without a state yet.
  Place inserted(const Found& found, Track& track) {
    const Place place = estimates_.take();
    const Place kept = measurements_.take();
    Measured& measurement = measurements_[kept];
    measurement.timestamp = found.timestamp;
    measurement.sensor = found.sensor;
    measurement.arrival = found.arrival;
    measurement.port = found.port;
    measurement.reading = found.reading;
    std::memcpy(measurement.row, found.row, Spec::row_bytes(found.port));
    append(place, kept, found.timestamp, position_, track);
    return place;
  }

  /// Links an estimate in after another one (NOWHERE: as the first).
  void append(Place place, Place measurement, Microseconds timestamp, Place before, Track& track) {
    Estimate& estimate = estimates_[place];
    estimate.timestamp = timestamp;
    estimate.measurement = measurement;
    estimate.before = before;
    estimate.after = before == NOWHERE ? track.first : estimates_[before].after;
    (before == NOWHERE ? track.first : estimates_[before].after) = place;
    (estimate.after == NOWHERE ? track.last : estimates_[estimate.after].before) = place;
    if (track.front == NOWHERE || track.front == estimate.after) track.front = place;
  }

  /// Makes sure that an estimate is there.
  void compute(const ObjectKey& object, Place place) {
    Place from = place;
    while (!estimates_[from].computed) from = estimates_[from].before;
    while (from != place) {
      from = estimates_[from].after;
      fuse_after_computed(object, from);
    }
  }

  /// Makes the estimate after a measurement from the one before it.
  void fuse(const ObjectKey& object, Place place) {
    const Place before = estimates_[place].before;
    if (before != NOWHERE) compute(object, before);
    fuse_after_computed(object, place);
  }

  void fuse_after_computed(const ObjectKey& object, Place place) {
    Estimate& estimate = estimates_[place];
    const Measured& measurement = measurements_[estimate.measurement];
    const Place before = estimate.before;
    estimate.computed = true;
    if constexpr (GATED) {
      const bool built = before != NOWHERE && estimates_[before].known;
      estimate.known = associate(object, measurement, built ? &estimates_[before].state : nullptr,
                                 estimate.state);
      return;
    } else {
      fuse_with(object, measurement, before, estimate);
    }
  }

  void fuse_with(const ObjectKey& object, const Measured& measurement, Place before,
                 Estimate& estimate) {
    if (before == NOWHERE || !estimates_[before].known ||
        earlier_by(estimate.timestamp, REAR) > estimates_[before].timestamp) {
      estimate.state = State{};
      estimate.known = first(object, measurement, estimate.state);
      return;
    }
    estimate.state = estimates_[before].state;
    predict(estimate.state, estimate.timestamp);
    update(estimate.state, measurement);
    estimate.known = true;
  }

  // -------------------------------------------------------------- with a gate

  /// What is known of a key after a measurement; false while nothing is.
  bool associate(const ObjectKey& object, const Measured& measurement, const Known* before,
                 Known& after) {
    const Microseconds at = measurement.timestamp;
    if (before == nullptr) return begin_anew(object, measurement, after);
    after = *before;
    after.outside = false;
    if (after.rival.known && earlier_by(at, REAR) > after.rival.value.timestamp) end_rival(after);
    if (earlier_by(at, REAR) > after.believed.timestamp) {
      if (!after.rival.known) return begin_anew(object, measurement, after);
      take_over(after);
    }
    State predicted = after.believed;
    predict(predicted, at);
    GateDistance apart = distance(predicted, measurement);
    if (apart.numbers == 0) {
      // It does not say where its object is: true of whichever the key means.
      update(predicted, measurement);
      after.believed = predicted;
      if (!after.rival.known) return true;
      predict(after.rival.value, at);
      update(after.rival.value, measurement);
      return true;
    }
    if (is_inside(apart)) {
      update(predicted, measurement);
      after.believed = predicted;
      end_rival(after);
      return true;
    }
    if (after.rival.known) {
      State moved = after.rival.value;
      predict(moved, at);
      apart = distance(moved, measurement);
      if (apart.numbers != 0 && is_inside(apart)) {
        if (at > after.rival.value.timestamp && after.agreed < Spec::gate_confirm) ++after.agreed;
        update(moved, measurement);
        after.rival.value = moved;
        after.outside = after.agreed < Spec::gate_confirm;
        if (!after.outside) take_over(after);
        return true;
      }
    }
    end_rival(after);
    State fresh{};
    after.outside = true;
    if (!first(object, measurement, fresh)) return true;
    after.rival = known(fresh);
    after.rival_born = at;
    after.agreed = 1;
    if (Spec::gate_confirm == 1) {
      take_over(after);
      after.outside = false;
    }
    return true;
  }

  bool begin_anew(const ObjectKey& object, const Measured& measurement, Known& after) {
    after = Known{};
    after.born = measurement.timestamp;
    return first(object, measurement, after.believed);
  }

  static bool is_inside(const GateDistance& apart) {
    return apart.squared <= Spec::gate_limits[apart.numbers];
  }

  static void end_rival(Known& known) {
    known.rival = Maybe<State>{};
    known.rival_born = 0;
    known.agreed = 0;
  }

  static void take_over(Known& known) {
    known.believed = known.rival.value;
    known.born = known.rival_born;
    end_rival(known);
  }

  /// Whether a measurement was outside its object's gate, and the rival that it went into did not
  /// come to be believed.
  bool stays_outside(const ObjectKey& object, Place place) {
    const Known& then = estimates_[place].state;
    if (!then.outside) return false;
    if (!then.rival.known) return true;
    for (Place one = estimates_[place].after; one != NOWHERE; one = estimates_[one].after) {
      compute(object, one);
      if (estimates_[one].known && estimates_[one].state.born == then.rival_born) return false;
    }
    return true;
  }

  /// Whether a saved state can be of that moment.
  static bool is_of(const Known& known, Microseconds timestamp) {
    if constexpr (GATED) {
      return known.believed.timestamp <= timestamp &&
             (!known.rival.known || known.rival.value.timestamp <= timestamp);
    } else {
      return known.timestamp == timestamp;
    }
  }

  /// Forgets what is older than the windows. The newest estimate before the rear window stays: all
  /// that may still come is built upon it.
  void prune(const ObjectKey& object, Track& track) {
    const Microseconds newest = estimates_[track.last].timestamp;
    const Microseconds front = earlier_by(newest, FRONT), rear = earlier_by(newest, REAR);
    while (estimates_[track.front].timestamp < front) {
      compute(object, track.front);
      leave(object, track.front);
      track.front = estimates_[track.front].after;
    }
    while (track.first != track.last) {
      const Place second = estimates_[track.first].after;
      if (estimates_[second].timestamp >= rear) break;
      compute(object, second);
      estimates_.give(track.first);
      track.first = second;
      estimates_[second].before = NOWHERE;
    }
  }

  /// A measurement leaves the front window; if it is in no estimate, that is said.
  void leave(const ObjectKey& object, Place place) {
    Estimate& estimate = estimates_[place];
    const Measured& measurement = measurements_[estimate.measurement];
    if (!estimate.known) {
      output_->drop(DropKind::FAILED, Reason::FUSION_UNSTARTED, 0, measurement.port,
                    measurement.row);
    } else if constexpr (GATED) {
      if (stays_outside(object, place)) {
        output_->drop(DropKind::FAILED, Reason::FUSION_OUTSIDE, 0, measurement.port,
                      measurement.row);
      }
    }
    (void)object;
    measurements_.give(estimate.measurement);
    estimate.measurement = NOWHERE;
  }

  // -------------------------------------------------------------- the end of an execution

  void conclude() {
    Microseconds at = NO_TIME;
    for (const Fused& fused : fused_) {
      const Microseconds last = found_[fused.last].timestamp;
      if (last > at) at = last;
      prune(tracks_.key(fused.track), tracks_[fused.track]);
    }
    if (at > newest_) newest_ = at;
    measured_.clear();
    for (const Fused& fused : fused_) measured_.push(tracks_.key(fused.track));
    std::sort(measured_.begin(), measured_.end());
    report(at, {measured_.begin(), static_cast<std::uint32_t>(measured_.size())});
    drop_unseen();
    for (const Out& out : refused_) {
      output_->drop(DropKind::FAILED, Reason::USER, 0, NO_PORT, &out);
    }
    refused_.clear();
  }

  /// Forgets objects whose estimates nothing that may still come in time could be built upon. A
  /// measurement may come as late as the rear window is long, and builds on an estimate at most as
  /// old as that again: so after twice its length.
  void drop_unseen() {
    if (next_drop_ != NO_TIME && newest_ <= next_drop_) return;
    const Microseconds oldest = earlier_by(earlier_by(newest_, REAR), REAR);
    next_drop_ = later_by(newest_, REAR);
    if constexpr (GATED) {
      // What is told of them has the order of their keys, also after a restart.
      for (Place place = least_unseen(oldest); place != NOWHERE; place = least_unseen(oldest)) {
        drop_track(place);
      }
    }
    Place next;
    for (Place place = tracks_.first(); place != NOWHERE; place = next) {
      next = tracks_.after(place);
      const Microseconds newest = estimates_[tracks_[place].last].timestamp;
      if (newest < oldest) {
        drop_track(place);
      } else if (later_by(later_by(newest, REAR), REAR) < next_drop_) {
        next_drop_ = later_by(later_by(newest, REAR), REAR);
      }
    }
  }

  /// The track with the least key, of those not measured since then.
  Place least_unseen(Microseconds oldest) const {
    Place least = NOWHERE;
    for (Place place = tracks_.first(); place != NOWHERE; place = tracks_.after(place)) {
      if (estimates_[tracks_[place].last].timestamp >= oldest) continue;
      if (least == NOWHERE || tracks_.key(place) < tracks_.key(least)) least = place;
    }
    return least;
  }

  void drop_track(Place track) {
    Place next;
    for (Place place = tracks_[track].first; place != NOWHERE; place = next) {
      next = estimates_[place].after;
      if (estimates_[place].measurement != NOWHERE) {
        if constexpr (GATED) compute(tracks_.key(track), place);
        leave(tracks_.key(track), place);
      }
      if constexpr (!GATED) estimates_.give(place);
    }
    if constexpr (GATED) {
      // What comes later says whether a rival came to be believed, so it stays until all is told.
      for (Place place = tracks_[track].first; place != NOWHERE; place = next) {
        next = estimates_[place].after;
        estimates_.give(place);
      }
    }
    tracks_.erase(track);
  }

  // -------------------------------------------------------------- state as bytes

  void forget_all() {
    prepare();
    tracks_.clear();
    estimates_.clear();
    measurements_.clear();
    newest_ = NO_TIME;
    next_drop_ = NO_TIME;
    arrivals_ = 0;
  }

  /// The track with the least key, of those whose keys are greater than that.
  Place least_track(const ObjectKey* after) const {
    Place least = NOWHERE;
    for (Place place = tracks_.first(); place != NOWHERE; place = tracks_.after(place)) {
      const ObjectKey& key = tracks_.key(place);
      if (after != nullptr && !(*after < key)) continue;
      if (least == NOWHERE || key < tracks_.key(least)) least = place;
    }
    return least;
  }

  /// Whether the state itself is written, which is far larger than a measurement.
  bool is_saved_whole(const Track& track, Place place) const {
    return place == track.first || place == track.last || estimates_[place].measurement == NOWHERE;
  }

  void save_estimate(StateWriter& writer, const Estimate& estimate, bool whole) const {
    writer.put(estimate.timestamp);
    save_value(writer, estimate.known);
    save_value(writer, whole);
    if (estimate.known && whole) save_value(writer, estimate.state);
    save_value(writer, estimate.measurement != NOWHERE);
    if (estimate.measurement == NOWHERE) return;
    const Measured& measurement = measurements_[estimate.measurement];
    save_value(writer, measurement.sensor);
    writer.put(measurement.arrival);
    writer.put(measurement.port);
    Spec::save_row(measurement.port, measurement.row, writer);
  }

  bool load_tracks(StateReader& reader) {
    std::uint32_t tracks = 0;
    if (!reader.get(newest_) || !reader.get(arrivals_) || !load_count(reader, tracks)) return false;
    if (arrivals_ < 0 || arrivals_ >= MOST_ARRIVALS) return false;
    for (; tracks > 0; --tracks) {
      ObjectKey object{};
      Place track = NOWHERE;
      std::uint32_t estimates = 0;
      if (!load_value(reader, object) || tracks_.find(object) != NOWHERE) return false;
      if (!new_track(object, track) || !load_count(reader, estimates) || estimates == 0) {
        return false;
      }
      for (; estimates > 0; --estimates) {
        if (!load_estimate(reader, tracks_[track])) return false;
      }
      const Estimate& last = estimates_[tracks_[track].last];
      if (last.measurement == NOWHERE || !last.computed) return false;
    }
    return true;
  }

  bool load_estimate(StateReader& reader, Track& track) {
    const Place place = estimates_.take();
    if (place == NOWHERE) return false;
    Estimate& estimate = estimates_[place];
    const Place before = track.last;
    Microseconds timestamp = 0;
    bool measured = false;
    if (!reader.get(timestamp) || !load_value(reader, estimate.known)) return false;
    if (!load_value(reader, estimate.computed)) return false;
    if (before != NOWHERE && timestamp < estimates_[before].timestamp) return false;
    if (estimate.known && estimate.computed) {
      if (!load_value(reader, estimate.state)) return false;
      if (!is_of(estimate.state, timestamp)) return false;
    }
    if (!load_value(reader, measured)) return false;
    if (!estimate.computed && (!measured || before == NOWHERE)) return false;
    Place kept = NOWHERE;
    if (measured && !load_measurement(reader, timestamp, kept)) return false;
    if (before != NOWHERE && estimates_[before].measurement != NOWHERE &&
        (!measured ||
         !ordered(measurements_[estimates_[before].measurement], measurements_[kept]))) {
      return false;
    }
    append(place, kept, timestamp, before, track);
    if (!measured) track.front = NOWHERE;
    return true;
  }

  bool load_measurement(StateReader& reader, Microseconds timestamp, Place& kept) {
    kept = measurements_.take();
    if (kept == NOWHERE) return false;
    Measured& measurement = measurements_[kept];
    measurement.timestamp = timestamp;
    return load_value(reader, measurement.sensor) && reader.get(measurement.arrival) &&
           measurement.arrival <= arrivals_ && reader.get(measurement.port) &&
           measurement.port < Spec::ports &&
           Spec::load_row(measurement.port, reader, measurement.row) &&
           timestamp_of(measurement.row) == timestamp &&
           read(measurement.port, measurement.row, measurement.reading);
  }

  KeyTable<ObjectKey, Track> tracks_;
  Pool<Estimate> estimates_;
  Pool<Measured> measurements_;
  Microseconds newest_ = NO_TIME;
  /// No track is dropped before the newest measurement is later than this.
  Microseconds next_drop_ = NO_TIME;
  std::int64_t arrivals_ = 0;

  // Of the present execution:
  List<Found> found_;
  List<std::uint32_t> order_;
  List<Fused> fused_;
  List<ObjectKey> measured_;
  List<Out> refused_;
  OperatorOutput* output_ = nullptr;
  std::int64_t execution_ = 0;
  std::int64_t items_ = 0;
  std::int64_t results_ = 0;
  std::size_t taken_items_ = 0;
  Microseconds oldest_input_ = INT64_MAX;
  std::size_t next_fused_ = 0;
  Place next_found_ = NOWHERE;
  Place position_ = NOWHERE;
};

}  // namespace headway
