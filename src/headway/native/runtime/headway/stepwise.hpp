// The meaning of a query, tuple by tuple: the run in which nothing takes time, and which can stop
// after any tuple and go on elsewhere.
//
// Its owner brings the arrivals one by one, in order, and gets the results by its sinks. The
// program is one whose operators are not charged, on one node. Between two arrivals the whole state
// can be saved as bytes, and taken up by another process.
#pragma once

#include "headway/kernel.hpp"
#include "headway/snapshot.hpp"

namespace headway {

class Stepwise {
 public:
  static constexpr bool FREE_UNITS = true;
  static constexpr bool ITEM_BY_ITEM = false;

  Kernel<Stepwise> kernel;

  Stepwise(const Program& program, Sinks& sinks)
      : kernel(program, *this, sinks), program_(program) {}
  Stepwise(const Stepwise&) = delete;
  Stepwise& operator=(const Stepwise&) = delete;

  static constexpr std::size_t bytes(const Program& program) {
    return Kernel<Stepwise>::bytes(program) + Heap<TimedCall>::bytes(program.most_events);
  }

  /// Lays out the memory of the run; operators are opened by who owns them.
  void open(Arena& arena) {
    kernel.open(arena, false);  // the times are those of a recording or a stream, not of a vehicle
    events_.open(arena, program_.most_events);
    kernel.now = -NEVER;  // recordings may begin before 1970
  }

  // -------------------------------------------------------------- time

  /// A tuple arrives; timers before it go first. One that should have come earlier arrives now.
  void take(Nanoseconds time, Index source, const void* row) {
    come_to(time);
    kernel.arrive(source, row);
  }

  /// What arrives does not have the form that its source promises.
  void reject(Nanoseconds time, Index source, const void* row) {
    come_to(time);
    kernel.reject(source, row);
  }

  /// A tuple arrives now; no timer runs.
  void arrive(Index source, const void* row) { kernel.arrive(source, row); }

  /// Timers that are over before that time: nothing else comes before it.
  void run_until(Nanoseconds time) {
    while (!events_.empty() && events_.top().time < time) {
      const TimedCall event = events_.pop();
      kernel.now = event.time;
      kernel.run(event.call);
    }
  }

  /// When the next timer is over; NEVER if none runs.
  Nanoseconds next_timer() const { return events_.empty() ? NEVER : events_.top().time; }

  /// The input has ended: all timers run out and all windows close.
  void finish() {
    run_until(NEVER);
    for (const ClosingOperator& closing : program_.closing) {
      kernel.finish(closing);
      run_until(NEVER);
    }
  }

  // -------------------------------------------------------------- for the kernel

  bool at(Nanoseconds time, Order order, const Call& call) {
    return events_.push({time, TimedCall::turn_of(order, kernel.next_number()), call});
  }
  /// Nothing costs anything here: a job that does all the same is run at once.
  bool queue(Job& job) {
    kernel.number_job(job);
    kernel.begin(job);
    while (kernel.step_on(job)) {
    }
    kernel.end(job);
    return true;
  }
  void send(const Outlet&, const void*, std::int64_t, bool) {}  // there is one node only
  void time_moved() { kernel.look(false); }
  Microseconds source_mark(Index source) { return kernel.ingest(source).watermark(); }
  Nanoseconds completed() const { return kernel.now; }

  // -------------------------------------------------------------- state

  /// All that the future depends on (between two arrivals).
  void save(StateWriter& to) {
    SummedWriter writer(to);
    writer.put(fingerprint_of(program_));
    save_sections(writer, [] {});
    writer.seal();
  }

  /// Takes up a state that `save` gave, in place of the present one. False: these bytes are no such
  /// state of this program; then another has to be taken up (that of the beginning, say).
  bool load(const void* bytes, std::size_t count) {
    BlockReader reader(bytes, count);
    if (!reader.unseal()) return false;
    std::uint64_t fingerprint = 0;
    if (!reader.get(fingerprint) || fingerprint != fingerprint_of(program_)) return false;
    return load_sections(reader, [] { return true; }) && reader.left() == 0;
  }

  /// Of what parts a state consists: the kernel's, one for each source, each operator with state
  /// and each unit that gathers, and the timers.
  std::uint32_t sections() const {
    std::uint32_t count = 2 + program_.sources.count + program_.stateful.count;
    for (const Unit& unit : program_.units) count += unit.gather != Gather::NOTHING ? 1 : 0;
    return count;
  }

  /// Forgets what nothing can meet any more, so that states are small.
  void tidy() { kernel.watermarks.tidy(); }

  /// Writes all sections; `ended` is called after each.
  template <class Ended>
  void save_sections(StateWriter& writer, Ended ended) {
    writer.put(kernel.now);
    writer.put(kernel.number);
    writer.put(kernel.roots);
    kernel.watermarks.save(writer);
    ended();
    for (std::uint32_t source = 0; source < program_.sources.count; ++source) {
      kernel.ingest(static_cast<Index>(source)).save(writer);
      ended();
    }
    for (const Operator* stateful : program_.stateful) {
      stateful->save(writer);
      ended();
    }
    for (std::uint32_t place = 0; place < program_.units.count; ++place) {
      UnitState& unit = kernel.unit(static_cast<Index>(place));
      if (unit.table->gather == Gather::NOTHING) continue;
      save_batch(unit, writer);
      ended();
    }
    save_events(writer);
    ended();
  }

  /// Reads all sections in place of the present state; `ended` is called after each and says
  /// whether it ended where it should.
  template <class Ended>
  bool load_sections(StateReader& reader, Ended ended) {
    if (!reader.get(kernel.now) || !reader.get(kernel.number) || !reader.get(kernel.roots)) {
      return false;
    }
    if (!kernel.watermarks.load(reader) || !ended()) return false;
    for (std::uint32_t source = 0; source < program_.sources.count; ++source) {
      if (!kernel.ingest(static_cast<Index>(source)).load(reader) || !ended()) return false;
    }
    for (Operator* const stateful : program_.stateful) {
      if (!stateful->load(reader) || !ended()) return false;
    }
    for (std::uint32_t place = 0; place < program_.units.count; ++place) {
      UnitState& unit = kernel.unit(static_cast<Index>(place));
      if (unit.table->gather == Gather::NOTHING) continue;
      if (!load_batch(unit, reader) || !ended()) return false;
    }
    return load_events(reader) && ended();
  }

 private:
  void come_to(Nanoseconds time) {
    run_until(time);
    if (time > kernel.now) kernel.now = time;
    ++kernel.counts.arrived;
  }

  /// Bytes of the rows that enter a unit by a port.
  std::uint32_t row_bytes_at(const UnitState& unit, Port port) const {
    for (const Outlet& outlet : program_.outlets) {
      for (const Entry& entry : outlet.entries) {
        if (entry.unit == unit.index && entry.port == port) return outlet.row_bytes;
      }
    }
    return 0;
  }

  void save_batch(const UnitState& unit, StateWriter& writer) const {
    writer.put(static_cast<std::uint8_t>(unit.gathers_some ? 1 : 0));
    if (!unit.gathers_some) return;
    writer.put(unit.oldest);
    writer.put(static_cast<std::uint8_t>(unit.oldest_late ? 1 : 0));
    for (Port port = 0; port < unit.table->ports; ++port) {
      std::uint32_t count = 0;
      for (const Gathered* one = unit.batch.first[port]; one != nullptr; one = one->next) ++count;
      writer.put(count);
      for (const Gathered* one = unit.batch.first[port]; one != nullptr; one = one->next) {
        writer.put(static_cast<std::uint8_t>(one->late ? 1 : 0));
        writer.write(one->row(), row_bytes_at(unit, port));
      }
    }
  }

  bool load_batch(UnitState& unit, StateReader& reader) {
    give_batch(unit, unit.batch);
    unit.batch = Batch{};
    unit.ports_filled = 0;
    unit.timer = 0;
    if (!read_flag(reader, unit.gathers_some)) return false;
    if (!unit.gathers_some) return true;
    if (!reader.get(unit.oldest) || !read_flag(reader, unit.oldest_late)) return false;
    for (Port port = 0; port < unit.table->ports; ++port) {
      std::uint32_t count = 0;
      if (!reader.get(count)) return false;
      if (count != 0) ++unit.ports_filled;
      for (; count != 0; --count) {
        Gathered* const slot = static_cast<Gathered*>(unit.gathered.take());
        if (slot == nullptr) return false;
        slot->next = nullptr;
        slot->port = port;
        Batch& batch = unit.batch;
        (batch.last[port] == nullptr ? batch.first[port] : batch.last[port]->next) = slot;
        batch.last[port] = slot;
        ++batch.items;
        if (!read_flag(reader, slot->late)) return false;
        if (!reader.read(slot->row(), row_bytes_at(unit, port))) return false;
      }
    }
    return unit.batch.items != 0;
  }

  void save_events(StateWriter& writer) {
    List<TimedCall>& events = events_.items();
    std::sort(events.begin(), events.end());  // a sorted list is a heap
    writer.put(static_cast<std::uint32_t>(events.size()));
    for (const TimedCall& event : events) {
      const Call& call = event.call;
      writer.put(event.time);
      writer.put(event.turn);
      writer.put(static_cast<std::uint8_t>(call.what));
      writer.put(call.place);
      writer.put(call.number);
      writer.put(call.root);
      // A timer of a batch that nobody waits for is kept too: it moves the time when it is over.
      const bool runs =
          call.what == CallKind::GATHER_TIMEOUT && kernel.unit(call.place).timer == call.number;
      writer.put(static_cast<std::uint8_t>(runs ? 1 : 0));
    }
  }

  bool load_events(StateReader& reader) {
    events_.clear();
    std::uint32_t count = 0;
    if (!reader.get(count)) return false;
    for (; count != 0; --count) {
      TimedCall event{};
      Call& call = event.call;
      std::uint8_t what = 0;
      bool runs = false;
      if (!reader.get(event.time) || !reader.get(event.turn) || !reader.get(what)) return false;
      if (!reader.get(call.place) || !reader.get(call.number)) return false;
      if (!reader.get(call.root) || !read_flag(reader, runs)) return false;
      call.what = static_cast<CallKind>(what);
      if (!can_be(call)) return false;
      if (call.what == CallKind::EXPIRE) {
        call.argument = kernel.unit(call.place).table->steps[0].stateful;
      }
      if (runs) kernel.unit(call.place).timer = call.number;
      if (!events_.push(event)) return false;
    }
    return true;
  }

  /// Whether the program has what a call is about.
  bool can_be(const Call& call) {
    if (call.what == CallKind::RELEASE_SHED) {
      return call.place < program_.sources.count && kernel.ingest(call.place).sheds;
    }
    if (call.place >= program_.units.count) return false;
    const Unit& unit = program_.units[call.place];
    if (call.what == CallKind::GATHER_TIMEOUT) return unit.gather != Gather::NOTHING;
    return call.what == CallKind::EXPIRE && unit.steps[0].stateful != nullptr;
  }

  const Program& program_;
  Heap<TimedCall> events_;
};

}  // namespace headway
