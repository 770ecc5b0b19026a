// Frames, greetings, acknowledgements and deployments that are random or nearly right, and a ring
// of frames against a plain list: nothing may read or write beyond what it was given, and
// everything must be told from what is right. Built with sanitizers; prints how often each outcome
// was seen.
#include <cstdio>
#include <deque>
#include <vector>

#include "headway/node_deployment.hpp"
#include "headway/transport.hpp"
#include "sample_node.hpp"

namespace {

/// xorshift64*: the same numbers everywhere.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return state_ * 0x2545F4914F6CDD1DULL;
  }
  std::size_t below(std::size_t bound) { return static_cast<std::size_t>(next() % bound); }
  bool one_in(std::size_t chances) { return below(chances) == 0; }

 private:
  std::uint64_t state_;
};

using Bytes = std::vector<std::uint8_t>;

struct Counted final : headway::PeerHandler {
  std::int64_t rows = 0;
  std::int64_t marks = 0;
  std::int64_t ends = 0;
  std::uint64_t seen = 0;

  bool has_room(headway::Index) override { return true; }
  void row(headway::Index, const void* row, const headway::SentRow&) override {
    ++rows;
    // Every byte of it is read, so that one that is not there shows.
    const std::uint8_t* const bytes = static_cast<const std::uint8_t*>(row);
    for (std::size_t place = 0; place < sizeof(sample::Sample); ++place) seen += bytes[place];
  }
  void mark(headway::Index, headway::Microseconds) override { ++marks; }
  void ended(headway::Index) override { ++ends; }
  void lost(headway::Index) override {}
  void back(headway::Index) override {}
  void note(const char*, const char*, const char*) override {}
};

sample::Sample random_row(Random& random) {
  sample::Sample row{};
  row.timestamp = static_cast<std::int64_t>(random.next());
  row.flag = {random.one_in(2), true};
  row.whole = {static_cast<std::int32_t>(random.next()), true};
  row.large.known = random.one_in(2);
  row.real = {static_cast<double>(random.below(1000)), true};
  row.text.known = random.one_in(2);
  if (row.text.known) {
    row.text.value.size = static_cast<std::uint16_t>(random.below(9));
    for (std::size_t place = 0; place < row.text.value.size; ++place) {
      row.text.value.bytes[place] = static_cast<char>('a' + random.below(26));
    }
  }
  return row;
}

Bytes right_frame(Random& random, std::uint64_t sequence) {
  Bytes frame(headway::FRAME_OVERHEAD + 4096);
  std::uint8_t* const payload = frame.data() + headway::FRAME_OVERHEAD;
  constexpr headway::FrameKind KINDS[] = {
      headway::FrameKind::ROWS,   headway::FrameKind::ROWS,        headway::FrameKind::MARK,
      headway::FrameKind::END,    headway::FrameKind::ACKNOWLEDGE, headway::FrameKind::HELLO,
      headway::FrameKind::WELCOME};
  const headway::FrameKind kind = KINDS[random.below(7)];
  std::size_t length = 0;
  if (kind == headway::FrameKind::ROWS) {
    const std::size_t count = random.below(20);
    headway::put_big_endian(payload, count, 2);
    length = 2;
    for (std::size_t place = 0; place < count; ++place) {
      const sample::Sample row = random_row(random);
      length +=
          headway::write_row(sample::WIRES[0], &row, place, false, payload + length, 4096 - length);
    }
  } else if (kind == headway::FrameKind::MARK) {
    length = 8;
  } else if (kind == headway::FrameKind::ACKNOWLEDGE) {
    length = 10 * random.below(5);
  } else if (kind == headway::FrameKind::HELLO) {
    const char text[] =
        "{\"incarnation\": \"1f\", \"name\": \"other\", \"nonce\": "
        "\"00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff\", "
        "\"plan\": \"0123456789abcdef\"}";
    length = sizeof text - 1;
    std::memcpy(payload, text, length);
  } else if (kind == headway::FrameKind::WELCOME) {
    const char text[] = "{\"incarnation\": \"1f\", \"proof\": \"00ff\"}";
    length = sizeof text - 1;
    std::memcpy(payload, text, length);
  }
  const std::size_t size = headway::seal_frame(frame.data(), kind, sample::WIRES[0].id,
                                               sample::WIRES[0].schema, sequence, length);
  frame.resize(size);
  return frame;
}

/// Some bytes are changed, cut or added; the checksum is often made right again, so that what lies
/// behind it is looked at too.
void spoil(Random& random, Bytes& frame) {
  const std::size_t changes = 1 + random.below(4);
  for (std::size_t change = 0; change < changes; ++change) {
    switch (random.below(5)) {
      case 0:
        frame[random.below(frame.size())] = static_cast<std::uint8_t>(random.next());
        break;
      case 1:
        frame[random.below(frame.size())] ^= static_cast<std::uint8_t>(1u << random.below(8));
        break;
      case 2:
        frame.resize(1 + random.below(frame.size()));
        break;
      case 3:
        for (std::size_t more = random.below(20); more > 0; --more) {
          frame.push_back(static_cast<std::uint8_t>(random.next()));
        }
        break;
      default:
        if (frame.size() > headway::FRAME_OVERHEAD) {
          const std::size_t behind = frame.size() - headway::FRAME_OVERHEAD;
          frame[headway::FRAME_OVERHEAD + random.below(behind)] =
              static_cast<std::uint8_t>(random.next());
        }
    }
  }
  if (frame.size() >= headway::FRAME_OVERHEAD && !random.one_in(3)) {
    if (!random.one_in(4)) {
      headway::put_big_endian(frame.data() + 20, frame.size() - headway::FRAME_OVERHEAD, 4);
    }
    const std::uint32_t checksum = headway::crc32(
        frame.data() + headway::FRAME_OVERHEAD, frame.size() - headway::FRAME_OVERHEAD,
        headway::crc32(frame.data(), headway::FRAME_HEADER_BYTES));
    headway::put_big_endian(frame.data() + headway::FRAME_HEADER_BYTES, checksum, 4);
  }
}

struct Outcomes {
  std::int64_t faults[headway::WIRE_FAULTS] = {};
  std::int64_t incomplete = 0;
  std::int64_t good = 0;
  std::int64_t greetings = 0;
  std::int64_t positions = 0;
};

void fuzz_frames(std::uint64_t seed, std::int64_t frames, Outcomes& outcomes, Counted& handler) {
  Random random(seed);
  static std::byte memory[1 << 16];
  headway::Arena arena(memory, sizeof memory);
  headway::TransportCounts counts;
  headway::StreamReader reader;
  reader.open(arena, sample::NODE, handler, counts);
  headway::StreamPositions positions;
  positions.open(arena, sample::NODE.wires.count);
  headway::Identity me;
  me.name = sample::NODE.node;
  me.fingerprint = sample::NODE.fingerprint;
  for (std::int64_t number = 1; number <= frames; ++number) {
    Bytes bytes = right_frame(random, static_cast<std::uint64_t>(number));
    if (!random.one_in(4)) spoil(random, bytes);
    // In a block of just its size, so that the sanitizer sees a look beyond it.
    const std::size_t size = bytes.size();
    std::uint8_t* const exact = new std::uint8_t[size];
    std::memcpy(exact, bytes.data(), size);
    headway::WireFrame frame{};
    headway::WireFault fault = headway::WireFault::FINE;
    const headway::ReadResult result = headway::read_frame(exact, size, 4096, frame, fault);
    if (result == headway::ReadResult::INCOMPLETE) ++outcomes.incomplete;
    if (result == headway::ReadResult::BAD) ++outcomes.faults[static_cast<std::size_t>(fault)];
    if (result == headway::ReadResult::FRAME) {
      ++outcomes.good;
      if (frame.kind == headway::FrameKind::HELLO) {
        headway::GreetingIn greeting;
        fault = greeting.begin(me, frame);
        if (fault == headway::WireFault::FINE) {
          ++outcomes.greetings;
          fault = greeting.check(me, frame);
        }
      } else if (frame.kind == headway::FrameKind::WELCOME) {
        headway::GreetingOut greeting;
        greeting.begin(me, "other");
        fault = greeting.check(me, frame);
      } else if (frame.kind == headway::FrameKind::ACKNOWLEDGE) {
        headway::StreamPositions told = positions;
        if (told.read(sample::NODE, frame)) {
          ++outcomes.positions;
        } else {
          fault = headway::WireFault::BAD_POSITIONS;
        }
        positions.clear();
      } else if (headway::in_place(headway::LinkStage::FROM_SENDER, frame.kind)) {
        headway::PendingRows pending;
        if (frame.sequence > (std::uint64_t{1} << 40)) positions.clear();
        fault = reader.take(frame, positions, pending);
      }
      ++outcomes.faults[static_cast<std::size_t>(fault)];
    }
    delete[] exact;
  }
}

/// A deployment with changed bytes is read or not, and nothing else.
std::int64_t fuzz_deployments(std::uint64_t seed, int rounds) {
  const char right[] =
      "{\"query\": \"q\", \"nodes\": {\"a\": {\"address\": \"127.0.0.1:4711\", \"target\": "
      "\"native\", \"sources\": [\"x\", {\"y\": [1]}]}, \"me\": {\"sources\": [], \"address\": "
      "\"127.0.0.1:99\"}}, \"start_order\": [\"a\"]}";
  Random random(seed);
  std::int64_t found = 0;
  for (int round = 0; round < rounds; ++round) {
    const std::size_t size = round == 0 ? sizeof right - 1 : 1 + random.below(sizeof right - 1);
    char* const text = new char[size];
    std::memcpy(text, right, size);
    for (std::size_t change = round == 0 ? 0 : random.below(4); change > 0; --change) {
      text[random.below(size)] = "{}[]\",:\\ax1"[random.below(11)];
    }
    headway::DeploymentReader reader(text, size);
    found += reader.find("me").found && !reader.find("me").native && reader.find("a").native;
    delete[] text;
  }
  return found;
}

/// The ring of frames against a list of what should be in it.
bool fuzz_kept_frames(std::uint64_t seed, int rounds) {
  struct Meant {
    std::size_t size;
    std::uint64_t sequence;
  };
  Random random(seed);
  alignas(headway::ALIGNMENT) static std::byte memory[2048];
  headway::Arena arena(memory, sizeof memory);
  headway::KeptFrames frames;
  frames.open(arena, 1024);
  std::deque<Meant> meant;
  std::size_t out = 0;
  std::uint64_t sequence = 0;
  for (int round = 0; round < rounds; ++round) {
    switch (random.below(5)) {
      case 0:
      case 1: {
        const std::size_t size = 1 + random.below(150);
        std::uint8_t* const room = frames.room(size);
        if (room == nullptr) {
          if (meant.empty()) return false;
          frames.drop_oldest();
          meant.pop_front();
          out = out > 0 ? out - 1 : 0;
          break;
        }
        std::memset(room, static_cast<int>(++sequence & 0xFF), size);
        frames.keep(size, 0, sequence, 1);
        meant.push_back({size, sequence});
        break;
      }
      case 2:
        if (!frames.has_waiting()) break;
        {
          std::size_t size = 0;
          const std::uint8_t* const bytes = frames.waiting(size);
          if (size != meant[out].size || frames.waiting_sequence() != meant[out].sequence) {
            return false;
          }
          for (std::size_t place = 0; place < size; ++place) {
            if (bytes[place] != (meant[out].sequence & 0xFF)) return false;
          }
          frames.sent();
          ++out;
        }
        break;
      case 3: {
        const std::uint64_t limit = out == 0 ? 0 : meant[random.below(out)].sequence;
        frames.forget_if([limit](headway::Index, std::uint64_t one) { return one <= limit; });
        while (out > 0 && meant.front().sequence <= limit) {
          meant.pop_front();
          --out;
        }
        break;
      }
      default:
        if (random.one_in(5)) {
          frames.rewind();
          out = 0;
        }
    }
    if (frames.count() != meant.size() || frames.count_waiting() != meant.size() - out)
      return false;
  }
  return true;
}

}  // namespace

int main(int, char** arguments) {
  const std::uint64_t seed = std::strtoull(arguments[1], nullptr, 10);
  const std::int64_t frames = std::strtoll(arguments[2], nullptr, 10);
  Outcomes outcomes;
  Counted handler;
  fuzz_frames(seed, frames, outcomes, handler);
  std::printf("{\"incomplete\": %lld, \"good\": %lld, \"greetings\": %lld, \"positions\": %lld, ",
              static_cast<long long>(outcomes.incomplete), static_cast<long long>(outcomes.good),
              static_cast<long long>(outcomes.greetings),
              static_cast<long long>(outcomes.positions));
  std::printf("\"rows\": %lld, \"marks\": %lld, \"ends\": %lld, \"deployments\": %lld, ",
              static_cast<long long>(handler.rows), static_cast<long long>(handler.marks),
              static_cast<long long>(handler.ends),
              static_cast<long long>(fuzz_deployments(seed + 1, 20000)));
  std::printf("\"ring\": %s, \"faults\": [", fuzz_kept_frames(seed + 2, 200000) ? "true" : "false");
  for (std::size_t fault = 0; fault < headway::WIRE_FAULTS; ++fault) {
    std::printf("%s%lld", fault == 0 ? "" : ", ", static_cast<long long>(outcomes.faults[fault]));
  }
  std::printf("]}\n");
  return 0;
}
