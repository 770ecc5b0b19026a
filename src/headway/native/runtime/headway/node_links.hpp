// The links of a node to others: who they are, the sockets, and what carries the frames.
//
// A node gets only the carriers it needs: datagrams to native peers, connections to Python ones and
// to programs outside the car (drivers, subscribers). One that needs neither has `NoLinks` instead
// of all this (node_main.hpp), no key and no address.
#pragma once

#include <sys/mman.h>
#include <sys/socket.h>

#include "headway/node_deployment.hpp"
#include "headway/wall_clock.hpp"

namespace headway {

/// In place of a carrier that a node has no use for.
struct NoTransport {
  TransportCounts counts;
  static constexpr std::size_t bytes(const NodeProgram&, std::size_t) { return 0; }
  static constexpr std::uint32_t most_watched(const NodeProgram&, std::size_t) { return 0; }
};

/// In place of `NodeBuses` (node_buses.hpp), for a node without streams on a CAN bus.
struct NoBuses {
  static constexpr std::size_t bytes(const NodeProgram&) { return 0; }
  bool open(Arena&, const NodeProgram&, PeerHandler&, const NodeOptions& options) {
    return options.can_buses == 0 || failed("--can", "no stream of this node is on a CAN bus");
  }
  bool carries(Index, Index, bool) const { return false; }
  template <class Others>
  void add_to(Others&) {}
  std::int64_t sum(std::int64_t TransportCounts::*) const { return 0; }
};

/// `Connections`: TcpTransport or NoTransport; `Datagrams`: UdpTransport or NoTransport; `Buses`:
/// NodeBuses or NoBuses.
template <class Connections, class Datagrams, class Buses = NoBuses>
class NodeLinks {
  static constexpr bool HAS_DATAGRAMS = !std::is_same_v<Datagrams, NoTransport>;

 public:
  /// Whether programs outside the car can feed sources and take outputs.
  static constexpr bool TAKES_CONNECTIONS = !std::is_same_v<Connections, NoTransport>;

  static constexpr std::size_t bytes(const NodeProgram& node) {
    return Connections::bytes(node, receivers(node)) + Datagrams::bytes(node, node.peers.count) +
           Buses::bytes(node) + Objects<bool>::bytes(receivers(node) * node.wires.count) +
           Objects<PeerPlace>::bytes(node.peers.count);
  }

  /// Sockets that are looked at while the node waits: one of them for datagrams, one for each bus.
  static constexpr std::uint32_t most_watched(const NodeProgram& node) {
    return Connections::most_watched(node, receivers(node)) + 1 +
           static_cast<std::uint32_t>(MOST_CAN_BUSES);
  }

  /// Reads the files of the build and opens the sockets; false, with a message, where that fails.
  bool prepare(Arena& arena, const NodeProgram& node, NodeOptions& options) {
    fill_paths(options);
    identity_.name = node.node;
    identity_.fingerprint = node.fingerprint;
    std::snprintf(identity_.incarnation.text, MOST_INCARNATION, "%" PRIx64,
                  static_cast<std::uint64_t>(world_now()));
    return read_key(options.key, identity_.key) && find_peers(arena, node, options.deployment) &&
           open_sockets(node);
  }

  /// False, with a message, when a bus that is asked for is not there.
  template <class Others>
  bool open(Arena& arena, const NodeProgram& node, const NodeOptions& options, Others& others,
            Nanoseconds now) {
    if (!buses_.open(arena, node, others, options)) return false;
    buses_.add_to(others);
    if constexpr (TAKES_CONNECTIONS) {
      connections_.open(arena, node, identity_, options.timing, others, receivers(node), listener_,
                        now);
      others.add(connections_);
    }
    if constexpr (HAS_DATAGRAMS) {
      datagrams_.open(arena, node, identity_, options.timing, others, node.peers.count, socket_,
                      now);
      others.add(datagrams_);
    }
    wanted_.open(arena, receivers(node) * node.wires.count);
    add_peers(node, now);
    if (options.has_subscriber) add_subscriber(node, options.subscriber, now);
    return true;
  }

  /// Of all carriers together.
  std::int64_t count(std::int64_t TransportCounts::* which) const {
    return connections_.counts.*which + datagrams_.counts.*which + buses_.sum(which);
  }
  std::int64_t refused(std::size_t fault) const {
    return connections_.counts.refused[fault] + datagrams_.counts.refused[fault];
  }

 private:
  /// Peers, and a subscriber of the outputs.
  static constexpr std::size_t receivers(const NodeProgram& node) { return node.peers.count + 1; }

  bool find_peers(Arena& arena, const NodeProgram& node, const char* path) {
    places_.open(arena, node.peers.count);
    const int descriptor = ::open(path, O_RDONLY | O_CLOEXEC);
    struct stat about{};
    void* text = MAP_FAILED;
    if (descriptor >= 0 && ::fstat(descriptor, &about) == 0 && about.st_size > 0) {
      text = ::mmap(nullptr, static_cast<std::size_t>(about.st_size), PROT_READ, MAP_PRIVATE,
                    descriptor, 0);
    }
    if (descriptor >= 0) ::close(descriptor);
    if (text == MAP_FAILED) return failed(path, "cannot read the addresses; build it again");
    const std::size_t size = static_cast<std::size_t>(about.st_size);
    DeploymentReader reader(static_cast<const char*>(text), size);
    own_ = reader.find(node.node);
    const char* problem = own_.found ? nullptr : "no address of this node";
    for (std::uint32_t peer = 0; peer < node.peers.count && problem == nullptr; ++peer) {
      places_[peer] = reader.find(node.peers[peer]);
      if (!places_[peer].found) problem = "no address of a peer";
      if (!(places_[peer].native ? HAS_DATAGRAMS : TAKES_CONNECTIONS)) {
        problem = "a peer is of another kind than when this node was built; build all with --tcp";
      }
    }
    ::munmap(text, size);
    return problem == nullptr || failed(path, problem);
  }

  /// For connections and for datagrams, at the same address.
  bool open_sockets(const NodeProgram& node) {
    const sockaddr_in address = own_.address.socket_address();
    const sockaddr* const bound = reinterpret_cast<const sockaddr*>(&address);
    if constexpr (TAKES_CONNECTIONS) {
      const int yes = 1;
      listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
      ::setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
      if (listener_ < 0 || ::bind(listener_, bound, sizeof address) != 0 ||
          ::listen(listener_, 64) != 0) {
        return failed(node.node, "its address is taken: another node may run there");
      }
    }
    if constexpr (HAS_DATAGRAMS) {
      const int room = 4 << 20;
      socket_ = ::socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
      ::setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
      if (socket_ < 0 || ::bind(socket_, bound, sizeof address) != 0) {
        return failed(node.node, "its address is taken for datagrams");
      }
    }
    return true;
  }

  void add_peers(const NodeProgram& node, Nanoseconds now) {
    for (std::uint32_t place = 0; place < node.peers.count; ++place) {
      const Index peer = static_cast<Index>(place);
      bool* const wanted = wanted_.begin() + place * node.wires.count;
      bool any = false;
      for (const SentStream& stream : node.sent) {
        for (const Index receiver : stream.receivers) {
          if (receiver != peer || buses_.carries(stream.wire, peer, true)) continue;
          wanted[stream.wire] = any = true;
        }
      }
      bool sends = false;
      for (const ReceivedStream& stream : node.received) {
        sends = sends || (stream.sender == peer && !buses_.carries(stream.wire, peer, false));
      }
      const Receiver receiver{peer, node.peers[peer], places_[peer].address, wanted};
      const auto add_to = [&](auto& transport) {
        if (any) transport.add_receiver(receiver, now);
        if (sends) transport.add_sender(peer, node.peers[peer], now);
      };
      if constexpr (HAS_DATAGRAMS) {
        if (places_[peer].native) add_to(datagrams_);
      }
      if constexpr (TAKES_CONNECTIONS) {
        if (!places_[peer].native) add_to(connections_);
      }
    }
  }

  void add_subscriber(const NodeProgram& node, const Address& address, Nanoseconds now) {
    bool* const wanted = wanted_.begin() + node.peers.count * node.wires.count;
    for (const Index wire : node.output_wires) wanted[wire] = true;
    if constexpr (TAKES_CONNECTIONS) {
      const Index place = static_cast<Index>(node.peers.count);
      connections_.add_receiver({place, "subscriber", address, wanted}, now);
    }
  }

  Identity identity_;
  Connections connections_;
  Datagrams datagrams_;
  Buses buses_;
  Objects<bool> wanted_;
  Objects<PeerPlace> places_;
  PeerPlace own_;
  int listener_ = -1;
  int socket_ = -1;
};

}  // namespace headway
