// A node's process: its memory, its run, its report.
//
// Generated programs define a `NodeProgram` and run a `NodeRun` of just those parts that it needs.
// Everything is laid out before the first tuple, in one block whose size is known when the program
// is compiled.
#pragma once

#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "headway/node_options.hpp"
#include "headway/node_recording.hpp"

namespace headway {

/// How a node ends; the same as a Python node.
enum class NodeExit : int {
  FINISHED = 0,
  FAILED = 1,
  BAD_INPUT = 2,
  /// Finished, but a tuple of an output with a hard deadline was late.
  MISSED_HARD_DEADLINE = 3,
};

/// In place of `NodeLinks` (node_links.hpp), for a node that is alone.
struct NoLinks {
  static constexpr bool TAKES_CONNECTIONS = false;
  static constexpr std::size_t bytes(const NodeProgram&) { return 0; }
  static constexpr std::uint32_t most_watched(const NodeProgram&) { return 0; }
  bool prepare(Arena&, const NodeProgram&, NodeOptions&) { return true; }
  template <class Others>
  bool open(Arena&, const NodeProgram&, const NodeOptions& options, Others&, Nanoseconds) {
    return options.can_buses == 0 || failed("--can", "no stream of this node is on a CAN bus");
  }
  std::int64_t count(std::int64_t TransportCounts::*) const { return 0; }
  std::int64_t refused(std::size_t) const { return 0; }
};
/// In place of `Reservations`, under a policy that reserves no processor time.
template <class Time>
struct NoReservations {
  explicit NoReservations(Kernel<Time>&) {}
  static constexpr std::size_t bytes(const Program&) { return 0; }
};

template <class Links, template <class> class Reserving>
class NodeRun {
  using Time = WallTime<MonotonicClock>;
  using Others = OtherNodes<MonotonicClock>;
  static constexpr bool RESERVES = !std::is_same_v<Reserving<Time>, NoReservations<Time>>;

 public:
  static constexpr std::size_t bytes(const NodeProgram& node) {
    return Time::bytes(*node.program) + Reserving<Time>::bytes(*node.program) +
           Others::bytes(node, most_watched(node)) + Links::bytes(node) + NodeRecords::bytes(node) +
           NodeRecording::bytes(node);
  }

  NodeRun(const NodeProgram& node, ApplicationBase* application)
      : node_(node),
        application_(application),
        others_(node, clock_, records_, options_.timing),
        time_(*node.program, records_, clock_, others_),
        reservations_(time_.kernel) {}

  NodeExit run(int count, char** arguments, std::byte* memory, std::size_t size) {
    const Parsed parsed = parse_options(count, arguments, node_, options_);
    if (parsed != Parsed::RUN) {
      return parsed == Parsed::SHOWN ? NodeExit::FINISHED : NodeExit::BAD_INPUT;
    }
    Arena arena(memory, size);
    if (!fits_its_build() || !links_.prepare(arena, node_, options_) || !lay_out(arena)) {
      return NodeExit::BAD_INPUT;
    }
    prepare_signals();
    if (!begin()) return NodeExit::BAD_INPUT;
    if (application_ != nullptr) application_->on_start(time_.pace.now());
    time_.run(recording_);
    if (application_ != nullptr) application_->on_end();
    if (options_.has_subscriber) others_.end_outputs();
    others_.finish();
    look_for_signals();
    records_.note("finished", "", "");
    records_.close();
    return report() ? outcome() : NodeExit::FAILED;
  }

 private:
  /// The application's descriptor is one of them.
  static constexpr std::uint32_t most_watched(const NodeProgram& node) {
    return Links::most_watched(node) + 1;
  }

  // ---------------------------------------------------------------- before the run

  /// What is asked for needs connections, which this node may have been built without.
  bool fits_its_build() const {
    if (Links::TAKES_CONNECTIONS) return true;
    if (options_.has_subscriber) {
      return failed("--subscriber", "this node was built without connections: build it with --tcp");
    }
    for (const OwnSource& own : node_.own) {
      if (options_.input == nullptr && !is_fed(own.source)) {
        return failed(node_.program->sources[own.source].name,
                      "nobody sends this source: give --input, or an application that feeds it, or "
                      "build with --tcp for drivers");
      }
    }
    return true;
  }

  bool is_fed(Index source) const { return application_ != nullptr && application_->feeds(source); }

  bool lay_out(Arena& arena) {
    const Nanoseconds now = clock_.now();
    for (Operator* const one : node_.program->stateful) one->open(arena);
    if constexpr (RESERVES) {
      time_.open(arena, &reservations_);
      reservations_.open(arena);
    } else {
      time_.open(arena);
    }
    others_.open(arena, time_, application_, most_watched(node_));
    if (!links_.open(arena, node_, options_, others_, now)) return false;
    records_.open(arena, node_);
    recording_.open(arena, node_);
    time_.keeping_up.tolerance = options_.tolerance;
    for (const OwnSource& own : node_.own) {
      if (is_fed(own.source) || options_.input == nullptr) time_.set_live(own.source);
    }
    if (options_.output != nullptr && !records_.create(options_.output, options_.resume)) {
      return failed(options_.output, "cannot write there");
    }
    records_.give_to(application_, options_.has_subscriber ? &others_ : nullptr);
    const char* reason = nullptr;
    if (options_.input != nullptr && !node_.own.empty() &&
        !recording_.load(options_.input, reason)) {
      return failed(options_.input, reason);
    }
    return true;
  }

  static void ask_to_stop(int) { stop_asked = 1; }

  /// Signals are blocked except where the node waits.
  static void prepare_signals() {
    struct sigaction action{};
    action.sa_handler = ask_to_stop;
    ::sigaction(SIGTERM, &action, nullptr);
    ::sigaction(SIGINT, &action, nullptr);
    ::signal(SIGPIPE, SIG_IGN);
    sigset_t blocked;
    ::sigemptyset(&blocked);
    ::sigaddset(&blocked, SIGTERM);
    ::sigaddset(&blocked, SIGINT);
    ::sigprocmask(SIG_BLOCK, &blocked, nullptr);
    ::prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);  // wakes when it is time, not 50 us later
  }

  /// Ties the engine's time to the clock's.
  bool begin() {
    const Nanoseconds first = recording_.first_arrival();
    Nanoseconds epoch = options_.epoch;
    Nanoseconds start = options_.start;
    if (options_.wait && !wait_for_word(first, epoch, start)) return false;
    if (start == NEVER) start = clock_.now();
    if (epoch == NEVER) epoch = first == NEVER ? world_now() : first;
    if (options_.realtime > 0) become_urgent();
    time_.pace.set(epoch, start, options_.speed);
    if (options_.resume) missed_while_down_ = recording_.skip_before(time_.pace.now());
    records_.note_number("running", "epoch", epoch);
    return true;
  }

  bool wait_for_word(Nanoseconds first, Nanoseconds& epoch, Nanoseconds& start) {
    if (first == NEVER) {
      std::printf("{\"ready\": \"%s\", \"first_arrival\": null}\n", node_.node);
    } else {
      std::printf("{\"ready\": \"%s\", \"first_arrival\": %" PRId64 "}\n", node_.node, first);
    }
    std::fflush(stdout);
    char line[512];
    std::size_t length = 0;
    while (length < sizeof line) {
      const ssize_t count = ::read(STDIN_FILENO, line + length, 1);
      if (count <= 0 || line[length] == '\n') break;
      ++length;
    }
    FlatJson told(reinterpret_cast<const std::uint8_t*>(line), length);
    told.find_number("epoch", epoch);
    told.find_number("start", start);
    return length > 0 || failed(node_.node, "nobody said when to start");
  }

  void become_urgent() {
    sched_param priority{};
    priority.sched_priority = options_.realtime;
    if (::sched_setscheduler(0, SCHED_FIFO, &priority) != 0 ||
        ::mlockall(MCL_CURRENT | MCL_FUTURE) != 0) {
      records_.note("not in real time", "", "this user may not set a priority or lock memory");
    }
  }

  // ---------------------------------------------------------------- after the run

  /// A hard output may also have lost a tuple: it was refused its time, or found no room.
  NodeExit outcome() const {
    const Counts& counts = time_.kernel.counts;
    const std::int64_t lost = counts.refused + (records_.has_hard() ? counts.no_room : 0);
    if (records_.missed_hard() == 0 && lost == 0) return NodeExit::FINISHED;
    std::fprintf(stderr, "%s: %" PRId64 " hard deadlines missed, %" PRId64 " tuples lost\n",
                 node_.node, records_.missed_hard(), lost);
    return NodeExit::MISSED_HARD_DEADLINE;
  }

  bool report() {
    RecordFile file;
    alignas(ALIGNMENT) static std::byte buffer[EVENTS_BUFFER_BYTES];
    if (options_.output != nullptr) {
      Arena arena(buffer, sizeof buffer);
      file.lay_out(arena, sizeof buffer);
      if (!file.create(options_.output, node_.node, ".report.json", false)) {
        return failed(options_.output, "cannot write the report");
      }
      write_report(file);
      file.close();
    }
    if (options_.json) {
      RecordFile shown;
      Arena arena(buffer, sizeof buffer);
      shown.lay_out(arena, sizeof buffer);
      shown.attach(STDOUT_FILENO);
      write_report(shown);
      shown.close();
    }
    return true;
  }

  void write_report(RecordFile& file) {
    const Counts& counts = time_.kernel.counts;
    const auto put = [&file](const char* name, std::int64_t value) {
      file.print(", \"%s\": %" PRId64, name, value);
    };
    file.put("{\"node\": ");
    file.put_text(node_.node);
    put("ended_at", clock_.now());
    put("arrived", counts.arrived);
    put("received", others_.received);
    put("sent", others_.sent);
    put_outputs(file);
    put_precision(file);
    put("decisions", counts.decisions);
    put("preemptions", counts.preemptions);
    put("timeouts", counts.timeouts);
    put("refused_jobs", counts.refused);
    put("no_room", counts.no_room);
    put_exceeded(file);
    put("late_arrivals", time_.keeping_up.late_arrivals);
    put("worst_lag_ns", time_.keeping_up.worst_lag);
    put("worst_backlog", time_.keeping_up.worst_backlog);
    const auto carried = [this, &put](const char* name, std::int64_t TransportCounts::* count) {
      put(name, links_.count(count));
    };
    carried("bad_frames", &TransportCounts::bad_frames);
    put_refused(file);
    carried("duplicates", &TransportCounts::duplicates);
    carried("gaps", &TransportCounts::gaps);
    carried("overflowed", &TransportCounts::overflowed);
    carried("unfit", &TransportCounts::unfit);
    carried("unsendable", &TransportCounts::unsendable);
    put("missed_while_down", missed_while_down_);
    put_hard_missed(file);
    file.print(", \"stopped\": %s", stop_asked != 0 ? "true" : "false");
    put("notes_left_out", records_.notes_left_out);
    put_dropped(file);
    file.put("}\n");
  }

  void put_outputs(RecordFile& file) {
    constexpr struct {
      const char* name;
      std::int64_t parts;
    } PERCENTILES[] = {{"p50", 500'000},
                       {"p90", 900'000},
                       {"p99", 990'000},
                       {"p99.9", 999'000},
                       {"p99.99", 999'900}};
    file.put(", \"outputs\": {");
    for (std::uint32_t place = 0; place < node_.program->outputs.count; ++place) {
      const Index output = static_cast<Index>(place);
      const LatencyHistogram& latencies = records_.latencies(output);
      if (place > 0) file.put(", ");
      file.put_text(node_.program->outputs[place].name);
      file.print(": {\"tuples\": %" PRId64 ", \"missed\": %" PRId64 ", \"hard\": %s",
                 records_.tuples(output), records_.missed(output),
                 node_.program->outputs[place].hard ? "true" : "false");
      file.put(", \"latency_ns\": {");
      for (const auto& one : PERCENTILES) {
        file.print("\"%s\": %" PRId64 ", ", one.name, latencies.percentile(one.parts));
      }
      file.print("\"longest\": %" PRId64 "}}", latencies.longest());
    }
    file.put("}");
  }

  /// By stream, pieces of optional parts.
  void put_precision(RecordFile& file) {
    file.put(", \"precision\": {");
    bool any = false;
    for (std::uint32_t place = 0; place < node_.program->streams.count; ++place) {
      const Precision precision = time_.kernel.precision(static_cast<Index>(place));
      if (precision.asked == 0) continue;
      if (any) file.put(", ");
      any = true;
      file.put_text(node_.program->streams[place].name);
      file.print(": {\"done\": %" PRId64 ", \"asked\": %" PRId64 "}", precision.done,
                 precision.asked);
    }
    file.put("}");
  }

  void put_hard_missed(RecordFile& file) {
    file.put(", \"hard_missed\": [");
    bool any = false;
    for (std::uint32_t place = 0; place < node_.program->outputs.count; ++place) {
      const Output& output = node_.program->outputs[place];
      if (!output.hard || records_.missed(static_cast<Index>(place)) == 0) continue;
      if (any) file.put(", ");
      any = true;
      file.put_text(output.name);
    }
    file.put("]");
  }

  /// Sources that sent more than they declare, operators that gave more.
  void put_exceeded(RecordFile& file) {
    file.put(", \"exceeded\": [");
    bool any = false;
    for (const Unit& unit : node_.program->units) {
      for (const Step& step : unit.steps) {
        if (step.stateful == nullptr || step.stateful->beyond == 0) continue;
        file.put(any ? ", {\"where\": " : "{\"where\": ");
        any = true;
        file.put_text(step.name);
        file.print(", \"declared\": \"most_outputs\", \"count\": %" PRId64 "}",
                   step.stateful->beyond);
      }
    }
    for (std::uint32_t source = 0; source < node_.program->sources.count; ++source) {
      const Ingest& ingest = time_.kernel.ingest(static_cast<Index>(source));
      if (!ingest.watched || ingest.watch.beyond == 0) continue;
      file.put(any ? ", {\"where\": " : "{\"where\": ");
      any = true;
      file.put_text(node_.program->sources[source].name);
      file.print(", \"declared\": \"rate\", \"count\": %" PRId64 "}", ingest.watch.beyond);
    }
    file.put("]");
  }

  void put_refused(RecordFile& file) {
    file.put(", \"refused\": {");
    bool any = false;
    for (std::size_t fault = 0; fault < WIRE_FAULTS; ++fault) {
      const std::int64_t count = links_.refused(fault);
      if (count == 0) continue;
      file.print("%s\"%s\": %" PRId64, any ? ", " : "", refusal_name(static_cast<WireFault>(fault)),
                 count);
      any = true;
    }
    file.put("}");
  }

  void put_dropped(RecordFile& file) {
    file.put(", \"dropped\": {");
    bool any = false;
    for (std::size_t kind = 0; kind < DROP_KINDS; ++kind) {
      if (records_.dropped_of[kind] == 0) continue;
      file.print("%s\"%s\": %" PRId64, any ? ", " : "", DROP_NAMES[kind],
                 records_.dropped_of[kind]);
      any = true;
    }
    file.put("}");
  }

  const NodeProgram& node_;
  ApplicationBase* application_;
  NodeOptions options_;
  MonotonicClock clock_;
  NodeRecords records_;
  Others others_;
  Time time_;
  Reserving<Time> reservations_;
  NodeRecording recording_;
  Links links_;
  std::int64_t missed_while_down_ = 0;
};

}  // namespace headway
