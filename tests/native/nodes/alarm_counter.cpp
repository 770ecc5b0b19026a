// An application for the example 'hello': counts alarms, and can feed the source itself.
#include <cstdio>
#include <cstdlib>

#include "application.hpp"

namespace {

class AlarmCounter final : public hello::Application {
 public:
  bool feeds(headway::Index source) const override {
    return source == SOURCE_SPEED && std::getenv("FED_BY_THE_APPLICATION") != nullptr;
  }

  void on_start(headway::Nanoseconds now) override {
    if (!feeds(SOURCE_SPEED)) return;
    for (int place = 0; place < 2; ++place) {
      hello::Speed row{};
      row.timestamp = now / 1000 + place;
      row.v = {20.0 + 20.0 * place, true};
      push_speed(row);
    }
    close_speed();
  }

  void on_alarm(const hello::Alarm& row, headway::Nanoseconds) override {
    ++alarms_;
    if (row.v.known && row.v.value > fastest_) fastest_ = row.v.value;
  }

  void on_end() override { std::fprintf(stderr, "%d alarms up to %.1f\n", alarms_, fastest_); }

 private:
  int alarms_ = 0;
  double fastest_ = 0;
};

}  // namespace

hello::Application& hello::application() {
  static AlarmCounter counter;
  return counter;
}
