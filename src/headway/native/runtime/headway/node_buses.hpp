// The CAN buses of a node: which of its streams they carry, and the sockets of SocketCAN.
//
// `--can BUS=INTERFACE` gives a bus of the plan an interface of the machine (can0); the node's
// streams that cross that bus then go there and not over IP. `fd:N` in place of an interface is a
// socket that whoever started the process has opened: a stand-in, where the kernel has no CAN.
#pragma once

#include <linux/can.h>
#include <linux/can/raw.h>
#include <net/if.h>
#include <sys/ioctl.h>

#include "headway/can_transport.hpp"
#include "headway/node_links.hpp"

namespace headway {

/// A raw CAN socket that is bound to an interface and does not block; -1 when there is none.
inline int open_can_socket(const char* interface, bool fd) {
  if (std::strncmp(interface, "fd:", 3) == 0) return std::atoi(interface + 3);
  const int descriptor = ::socket(PF_CAN, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, CAN_RAW);
  if (descriptor < 0) return -1;
  ifreq asked{};
  std::snprintf(asked.ifr_name, sizeof asked.ifr_name, "%s", interface);
  const int yes = 1;
  sockaddr_can address{};
  address.can_family = AF_CAN;
  bool right = ::ioctl(descriptor, SIOCGIFINDEX, &asked) == 0;
  address.can_ifindex = asked.ifr_ifindex;
  if (fd) {
    right =
        right && ::setsockopt(descriptor, SOL_CAN_RAW, CAN_RAW_FD_FRAMES, &yes, sizeof yes) == 0;
  }
  right =
      right && ::bind(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  if (right) return descriptor;
  ::close(descriptor);
  return -1;
}

class NodeBuses {
 public:
  static constexpr std::size_t bytes(const NodeProgram& node) {
    return MOST_CAN_BUSES * (CanTransport::bytes(node, node.bus_streams.count) +
                             List<CanStream>::bytes(node.bus_streams.count));
  }

  /// False, with a message, when a bus that is named is none of the plan's or has no socket.
  bool open(Arena& arena, const NodeProgram& node, PeerHandler& handler,
            const NodeOptions& options) {
    node_ = &node;
    for (std::size_t place = 0; place < options.can_buses; ++place) {
      const CanBusOption& given = options.can[place];
      List<CanStream>& streams = streams_[place];
      streams.open(arena, node.bus_streams.count);
      bool fd = false;
      for (const BusStream& one : node.bus_streams) {
        if (!same_text(one.bus, given.bus)) continue;
        fd = one.fd;
        if (one.rank > MOST_CAN_RANK) {
          std::fprintf(stderr, "--can: bus %s has more streams than identifiers\n", given.bus);
          return false;
        }
        bool known = false;
        for (const CanStream& other : streams) {
          known = known || (other.wire == one.wire && other.sent == one.sent);
        }
        if (!known) streams.push({one.wire, one.rank, one.sent});
      }
      const int socket = streams.empty() ? -1 : open_can_socket(given.interface, fd);
      if (socket < 0) {
        std::fprintf(stderr, "--can %s=%s: %s\n", given.bus, given.interface,
                     streams.empty() ? "no stream of this node is on a CAN bus of that name"
                                     : "this machine has no such CAN interface");
        return false;
      }
      const Span<CanStream> laid{streams.begin(), static_cast<std::uint32_t>(streams.size())};
      buses_[place].open(arena, node, handler, laid, socket, fd);
      names_[count_++] = given.bus;
    }
    return true;
  }

  /// Whether a stream goes to a peer, or comes from it, by one of these buses.
  bool carries(Index wire, Index peer, bool sent) const {
    for (const BusStream& one : node_->bus_streams) {
      if (one.wire != wire || one.peer != peer || one.sent != sent) continue;
      for (std::size_t place = 0; place < count_; ++place) {
        if (same_text(names_[place], one.bus)) return true;
      }
    }
    return false;
  }

  template <class Others>
  void add_to(Others& others) {
    for (std::size_t place = 0; place < count_; ++place) others.add(buses_[place]);
  }

  std::int64_t sum(std::int64_t TransportCounts::* count) const {
    std::int64_t found = 0;
    for (std::size_t place = 0; place < count_; ++place) found += buses_[place].counts.*count;
    return found;
  }

 private:
  const NodeProgram* node_ = nullptr;
  CanTransport buses_[MOST_CAN_BUSES];
  List<CanStream> streams_[MOST_CAN_BUSES];
  const char* names_[MOST_CAN_BUSES] = {};
  std::size_t count_ = 0;
};

}  // namespace headway
