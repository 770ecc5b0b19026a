// The framing of CAN against a pair of sockets that stands for a bus: what one node sends, another
// gets, and what is lost or spoilt on the way is counted. Prints what was seen.
#include <cstdio>
#include <vector>

#include "headway/can_transport.hpp"
#include "sample_node.hpp"

namespace {

struct Taken final : headway::PeerHandler {
  std::vector<sample::Sample> rows;
  std::vector<bool> late;
  std::int64_t marks = 0;
  std::int64_t last_mark = 0;
  std::int64_t ends = 0;

  bool has_room(headway::Index) override { return true; }
  void row(headway::Index, const void* row, const headway::SentRow& sent) override {
    sample::Sample one;
    std::memcpy(&one, row, sizeof one);
    rows.push_back(one);
    late.push_back(sent.late);
  }
  void mark(headway::Index, headway::Microseconds mark) override {
    ++marks;
    last_mark = mark;
  }
  void ended(headway::Index) override { ++ends; }
  void lost(headway::Index) override {}
  void back(headway::Index) override {}
  void note(const char*, const char*, const char*) override {}
};

std::uint64_t state = 88172645463325252ULL;
std::uint64_t drawn() {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state;
}

sample::Sample made_row(int number) {
  sample::Sample row;
  std::memset(static_cast<void*>(&row), 0, sizeof row);
  row.timestamp = number % 3 == 0 ? -number * 1'000'003LL : 4'500'000'000'000'000LL - number;
  if (number % 2 == 0) row.flag = {number % 4 == 0, true};
  row.whole = {-number, true};
  if (number % 5 != 0) row.large = {static_cast<std::int64_t>(drawn()), true};
  row.single = {static_cast<float>(number) / 3, true};
  row.real = {static_cast<double>(number) / 7, true};
  row.text.known = number % 7 != 0;
  for (int place = 0; row.text.known && place < number % 9; ++place) {
    row.text.value.bytes[row.text.value.size++] = static_cast<char>('a' + place);
  }
  if (number % 11 != 0) row.moment = {number, true};
  return row;
}

/// By their values: what stands between these is nobody's.
bool same(const sample::Sample& left, const sample::Sample& right) {
  std::uint8_t bytes[2][256] = {};
  const std::size_t one = headway::write_row(sample::WIRES[0], &left, 0, false, bytes[0], 256);
  const std::size_t other = headway::write_row(sample::WIRES[0], &right, 0, false, bytes[1], 256);
  return one == other && std::memcmp(bytes[0], bytes[1], one) == 0;
}

constexpr headway::CanStream OUT[] = {{0, 5, true}};
constexpr headway::CanStream IN[] = {{0, 5, false}};

/// Sends rows from one node to another; `drops`: one frame in so many is lost (0: none).
void story(bool fd, unsigned drops, int count) {
  int ours[2];
  int theirs[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ours) != 0 ||
      ::socketpair(AF_UNIX, SOCK_SEQPACKET, 0, theirs) != 0) {
    std::printf("no sockets\n");
    return;
  }
  alignas(headway::ALIGNMENT) static std::byte memory[1 << 16];
  headway::Arena arena(memory, sizeof memory);
  Taken nobody;
  Taken taken;
  headway::CanTransport sender;
  headway::CanTransport receiver;
  sender.open(arena, sample::NODE, nobody, headway::span(OUT), ours[0], fd);
  receiver.open(arena, sample::NODE, taken, headway::span(IN), theirs[1], fd);
  std::vector<sample::Sample> sent;
  std::int64_t frames = 0;
  std::int64_t lost = 0;
  std::uint32_t first_identifier = 0;
  std::vector<int> lengths;
  for (int number = 1; number <= count; ++number) {
    const sample::Sample row = made_row(number);
    sent.push_back(row);
    sender.send_row(0, &row, 0, number % 4 == 1);
    headway::CanFrame frame{};
    ssize_t size = 0;
    while ((size = ::recv(ours[1], &frame, sizeof frame, MSG_DONTWAIT)) > 0) {
      if (frames++ == 0) first_identifier = frame.identifier;
      if (number == 1) lengths.push_back(frame.length);
      if (drops > 0 && drawn() % drops == 0) {
        ++lost;
      } else if (::send(theirs[0], &frame, static_cast<std::size_t>(size), 0) < 0) {
        std::printf("cannot pass on\n");
      }
    }
    receiver.turn(0);
  }
  sender.send_mark(0, 1234);
  sender.send_end(0);
  headway::CanFrame frame{};
  for (int rest = 0; rest < 2; ++rest) {
    const ssize_t size = ::recv(ours[1], &frame, sizeof frame, MSG_DONTWAIT);
    if (size <= 0 || ::send(theirs[0], &frame, static_cast<std::size_t>(size), 0) < 0) break;
  }
  receiver.turn(0);
  // Every row that came is one that was sent, in order.
  std::size_t at = 0;
  bool right = true;
  for (std::size_t place = 0; place < taken.rows.size(); ++place) {
    while (at < sent.size() && !same(sent[at], taken.rows[place])) ++at;
    right = right && at < sent.size() && taken.late[place] == ((at + 1) % 4 == 1);
    ++at;
  }
  std::printf("{\"fd\": %s, \"frames\": %lld, \"lost\": %lld, \"sent\": %zu, \"came\": %zu, ",
              fd ? "true" : "false", static_cast<long long>(frames), static_cast<long long>(lost),
              sent.size(), taken.rows.size());
  std::printf("\"right\": %s, \"marks\": %lld, \"mark\": %lld, \"ends\": %lld, ",
              right ? "true" : "false", static_cast<long long>(taken.marks),
              static_cast<long long>(taken.last_mark), static_cast<long long>(taken.ends));
  std::printf("\"faults\": %lld, \"identifier\": %u, \"lengths\": [",
              static_cast<long long>(receiver.counts.gaps + receiver.counts.bad_frames),
              first_identifier);
  for (std::size_t place = 0; place < lengths.size(); ++place) {
    std::printf("%s%d", place == 0 ? "" : ", ", lengths[place]);
  }
  std::printf("]}\n");
  // Whatever else is on the bus does no harm.
  for (int number = 0; number < 5000; ++number) {
    headway::CanFrame strange{};
    strange.identifier = static_cast<std::uint32_t>(drawn() % (32 * 7));
    strange.length = static_cast<std::uint8_t>(drawn() % 80);
    for (std::uint8_t& byte : strange.data) byte = static_cast<std::uint8_t>(drawn());
    const std::size_t sizes[] = {16, 72, 72, 16, static_cast<std::size_t>(drawn() % 72 + 1)};
    if (::send(theirs[0], &strange, sizes[drawn() % 5], MSG_DONTWAIT) < 0) break;
    receiver.turn(0);
  }
  sender.say_goodbye();
  receiver.say_goodbye();
  ::close(ours[1]);
  ::close(theirs[0]);
}

}  // namespace

int main() {
  story(false, 0, 500);
  story(true, 0, 500);
  story(false, 15, 2000);
  story(true, 5, 2000);
  return 0;
}
