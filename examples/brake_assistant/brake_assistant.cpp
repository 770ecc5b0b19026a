// A brake assistant that is linked into the ECU that computes output2 of the collision warning.
//
// output2 says for every other vehicle how far it is and, if it comes nearer, when it would be
// reached (ttc, in seconds). The assistant prepares the brake when that is soon, brakes when it is
// very soon, and lets go when nothing was near for a while. It is called in the node's own thread,
// right when a row is completed; here it only writes what it would tell the brake.
#include <cinttypes>
#include <cstdio>

#include "application.hpp"

namespace {

enum class Brake { RELEASED, PREPARED, BRAKING };

constexpr double PREPARE_BELOW_S = 3.0;
constexpr double BRAKE_BELOW_S = 1.5;
/// Not needed for so long, the brake is let go (us of sensing time).
constexpr headway::Microseconds RELEASE_AFTER = 500'000;

const char* name_of(Brake brake) {
  switch (brake) {
    case Brake::RELEASED:
      return "released";
    case Brake::PREPARED:
      return "prepared";
    case Brake::BRAKING:
      return "braking";
  }
  return "";
}

class BrakeAssistant final : public collision_warning::Application {
 public:
  void on_output2(const collision_warning::Output2& row, headway::Nanoseconds completed) override {
    ++looked_at_;
    // A column may be unknown: a vehicle that does not come nearer has no time to collision.
    Brake wanted = Brake::RELEASED;
    if (row.ttc.known && row.ttc.value < PREPARE_BELOW_S) wanted = Brake::PREPARED;
    if (row.ttc.known && row.ttc.value < BRAKE_BELOW_S) wanted = Brake::BRAKING;
    // Other vehicles' rows come in between: it brakes at once, and lets go only after a while.
    if (wanted >= brake_) {
      needed_at_ = row.timestamp;
    } else if (row.timestamp - needed_at_ <= RELEASE_AFTER) {
      return;
    }
    change_to(wanted, row, completed);
  }

  void on_end() override {
    std::fprintf(stderr, "brake assistant: %" PRId64 " rows of output2, braked %" PRId64 " times\n",
                 looked_at_, braked_);
  }

 private:
  void change_to(Brake wanted, const collision_warning::Output2& row,
                 headway::Nanoseconds completed) {
    if (wanted == brake_) return;
    brake_ = wanted;
    if (wanted == Brake::BRAKING) ++braked_;
    const double latency_ms = static_cast<double>(completed - row.timestamp * 1000) / 1e6;
    std::fprintf(
        stderr, "brake assistant: %s, vehicle %" PRId64 " at %.1f m, %.1f ms after it was sensed\n",
        name_of(wanted), row.id.value, row.distance.value, latency_ms);
  }

  Brake brake_ = Brake::RELEASED;
  headway::Microseconds needed_at_ = 0;
  std::int64_t looked_at_ = 0;
  std::int64_t braked_ = 0;
};

}  // namespace

collision_warning::Application& collision_warning::application() {
  static BrakeAssistant assistant;
  return assistant;
}
