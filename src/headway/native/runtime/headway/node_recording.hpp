// Recorded arrivals of a node's sources, as `headway launch` writes them: frames of tuples, one
// each, in order of arrival; the sequence of a frame is when it arrived (us). A frame without a
// tuple stands for one that does not have the form its source promises.
//
// The file is looked through once, before anything runs, and mapped: replaying it reads no disk.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "headway/jobs.hpp"
#include "headway/wall_time.hpp"
#include "headway/wire_format.hpp"

namespace headway {

class NodeRecording final : public ArrivalSource {
 public:
  static constexpr std::size_t bytes(const NodeProgram& node) { return aligned(largest_row(node)); }

  void open(Arena& arena, const NodeProgram& node) {
    node_ = &node;
    row_ = arena.take(largest_row(node));
  }

  /// False with a reason when the file is no such recording.
  bool load(const char* path, const char*& reason) {
    const int descriptor = ::open(path, O_RDONLY | O_CLOEXEC);
    struct stat about{};
    if (descriptor < 0 || ::fstat(descriptor, &about) != 0) {
      reason = "it cannot be read";
      return false;
    }
    size_ = static_cast<std::size_t>(about.st_size);
    if (size_ > 0) {
      void* const mapped =
          ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE | MAP_POPULATE, descriptor, 0);
      bytes_ = mapped == MAP_FAILED ? nullptr : static_cast<const std::uint8_t*>(mapped);
    }
    ::close(descriptor);
    if (size_ > 0 && bytes_ == nullptr) {
      reason = "it cannot be mapped";
      return false;
    }
    return look_through(reason);
  }

  /// When the first tuple arrives; NEVER without one.
  Nanoseconds first_arrival() const { return first_; }

  /// Leaves out what arrives before a time; how many.
  std::int64_t skip_before(Nanoseconds time) {
    std::int64_t skipped = 0;
    WireFrame frame{};
    while (frame_at(at_, frame) && time_of(frame) < time) {
      at_ += FRAME_OVERHEAD + frame.length;
      ++skipped;
    }
    return skipped;
  }

  bool next(RecordedArrival& arrival) override {
    WireFrame frame{};
    if (!frame_at(at_, frame)) return false;
    at_ += FRAME_OVERHEAD + frame.length;
    const OwnSource* const own = source_of(frame);
    SentRow sent;
    RowsCursor rows;
    rows.begin(node_->wires[own->wire], frame.payload, frame.length, row_);
    const bool formed = rows.more() && rows.next(row_, sent);
    arrival = {time_of(frame), own->source, !formed, row_};
    return true;
  }

 private:
  bool frame_at(std::size_t at, WireFrame& frame) const {
    WireFault fault = WireFault::FINE;
    return at < size_ &&
           read_frame(bytes_ + at, size_ - at, MOST_PAYLOAD, frame, fault) == ReadResult::FRAME;
  }

  static Nanoseconds time_of(const WireFrame& frame) {
    return nanoseconds_of(static_cast<Microseconds>(frame.sequence));
  }

  const OwnSource* source_of(const WireFrame& frame) const {
    for (const OwnSource& own : node_->own) {
      const WireStream& stream = node_->wires[own.wire];
      if (stream.id == frame.stream && stream.schema == frame.schema) return &own;
    }
    return nullptr;
  }

  bool look_through(const char*& reason) {
    Nanoseconds before = -NEVER;
    WireFrame frame{};
    std::size_t at = 0;
    while (at < size_) {
      if (!frame_at(at, frame) || frame.kind != FrameKind::ROWS) {
        reason = "it is no recording for a native node, or cut short";
        return false;
      }
      const OwnSource* const own = source_of(frame);
      if (own == nullptr) {
        reason = "it has tuples of other sources, or of another query";
        return false;
      }
      RowsCursor rows;
      if (!rows.begin(node_->wires[own->wire], frame.payload, frame.length, row_) ||
          time_of(frame) < before) {
        reason = "its tuples are damaged or not in order of arrival";
        return false;
      }
      if (at == 0) first_ = time_of(frame);
      before = time_of(frame);
      at += FRAME_OVERHEAD + frame.length;
    }
    return true;
  }

  const NodeProgram* node_ = nullptr;
  const std::uint8_t* bytes_ = nullptr;
  std::size_t size_ = 0;
  std::size_t at_ = 0;
  Nanoseconds first_ = NEVER;
  void* row_ = nullptr;
};

}  // namespace headway
