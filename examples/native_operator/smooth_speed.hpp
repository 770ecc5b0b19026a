// The mean of a speed in which older readings count less and less.
#pragma once

#include "headway/user_operator.hpp"
#include "streams.hpp"  // Headway writes it: the rows of the query's streams

/// `weight` (0 to 1) is how much a new reading counts.
class SmoothSpeed : public headway::UserOperator<smoothing::Speed, smoothing::Smooth> {
 public:
  void start() override {
    weight_ = number("weight", 0.5);
    mean_ = 0.0;
    readings_ = 0;
  }

  void process(const smoothing::Speed& row) override {
    if (!row.v.known) return;
    mean_ = readings_ == 0 ? row.v.value : mean_ + weight_ * (row.v.value - mean_);
    ++readings_;
    smoothing::Smooth out{};
    out.v = headway::known(mean_);
    out.readings = headway::known(readings_);
    emit(out);
  }

  void save(headway::StateWriter& writer) const override {
    writer.put(mean_);
    writer.put(readings_);
  }

  bool load(headway::StateReader& reader) override {
    return reader.get(mean_) && reader.get(readings_);
  }

 private:
  double weight_ = 0.5;
  double mean_ = 0.0;
  std::int32_t readings_ = 0;
};
