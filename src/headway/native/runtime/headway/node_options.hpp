// The command line of a native node, the same as a Python node's where both have an option.
#pragma once

#include <arpa/inet.h>

#include <cstdio>
#include <cstdlib>

#include "headway/flat_json.hpp"
#include "headway/node_records.hpp"

namespace headway {

inline constexpr std::size_t MOST_CAN_BUSES = 4;
inline constexpr std::size_t MOST_CAN_NAME = 64;

struct CanBusOption {
  char bus[MOST_CAN_NAME] = {};
  char interface[MOST_CAN_NAME] = {};
};

struct NodeOptions {
  char deployment[MOST_PATH] = {};
  char key[MOST_PATH] = {};
  const char* input = nullptr;
  const char* output = nullptr;
  double speed = 1.0;
  PeerTiming timing;
  Nanoseconds tolerance = 50 * MILLISECOND;
  bool has_subscriber = false;
  Address subscriber;
  std::int64_t epoch = NEVER;
  std::int64_t start = NEVER;
  /// Priority under SCHED_FIFO; 0: none.
  int realtime = 0;
  bool resume = false;
  bool wait = false;
  bool json = false;
  CanBusOption can[MOST_CAN_BUSES];
  std::size_t can_buses = 0;
};

enum class Parsed : std::uint8_t { RUN, SHOWN, WRONG };

// ---------------------------------------------------------------- values

inline bool parse_address(const char* text, std::size_t size, Address& address) {
  std::size_t colon = size;
  while (colon > 0 && text[colon - 1] != ':') --colon;
  if (colon == 0 || colon == size || colon > 64) return false;
  char host[64];
  std::memcpy(host, text, colon - 1);
  host[colon - 1] = '\0';
  if (same_text(host, "localhost")) std::memcpy(host, "127.0.0.1", 10);
  std::uint32_t port = 0;
  for (std::size_t place = colon; place < size; ++place) {
    const int digit = text[place] - '0';
    if (digit < 0 || digit > 9) return false;
    port = port * 10 + static_cast<std::uint32_t>(digit);
    if (port > 65535) return false;
  }
  in_addr parsed{};
  if (port == 0 || ::inet_pton(AF_INET, host, &parsed) != 1) return false;
  address = {parsed.s_addr, static_cast<std::uint16_t>(port)};
  return true;
}

/// `100 ms`, `2.5 s`, `30 us`.
inline bool parse_duration(const char* text, Nanoseconds& duration) {
  char* unit = nullptr;
  const double number = std::strtod(text, &unit);
  while (*unit == ' ') ++unit;
  double scale = 0;
  if (same_text(unit, "ns")) scale = 1;
  if (same_text(unit, "us")) scale = 1e3;
  if (same_text(unit, "ms")) scale = 1e6;
  if (same_text(unit, "s")) scale = 1e9;
  if (unit == text || scale == 0 || !(number >= 0) || number * scale > 1e18) return false;
  duration = static_cast<Nanoseconds>(number * scale + 0.5);
  return true;
}

/// `bus1=can0`
inline bool parse_can(const char* text, NodeOptions& options) {
  const char* const equals = std::strchr(text, '=');
  if (equals == nullptr || options.can_buses == MOST_CAN_BUSES) return false;
  const std::size_t bus = static_cast<std::size_t>(equals - text);
  const std::size_t interface = std::strlen(equals + 1);
  if (bus == 0 || bus >= MOST_CAN_NAME || interface == 0 || interface >= MOST_CAN_NAME)
    return false;
  CanBusOption& option = options.can[options.can_buses++];
  std::memcpy(option.bus, text, bus);
  std::memcpy(option.interface, equals + 1, interface);
  return true;
}

inline bool parse_whole(const char* text, std::int64_t& number) {
  char* end = nullptr;
  errno = 0;
  number = std::strtoll(text, &end, 10);
  return errno == 0 && end != text && *end == '\0';
}

// ---------------------------------------------------------------- the command line

inline void print_help(const NodeProgram& node) {
  std::printf(
      "Runs node '%s' of query '%s' in wall-clock time.\n\n"
      "  --deployment FILE   addresses of the nodes (deployment.json of the build)\n"
      "  --key FILE          the nodes' key (nodes.key beside it)\n"
      "  --input FILE        recorded tuples to replay (NODE.rows, as headway launch writes "
      "them);\n"
      "                      without it a driver or the application sends the sources\n"
      "  --output DIR        folder for outputs, events and the exit report\n"
      "  --speed X           of the replay (1: as recorded)\n"
      "  --heartbeat TIME    time between signs of life (50 ms)\n"
      "  --missed N          missed heartbeats until a peer is lost (3)\n"
      "  --give-up TIME      wait for a lost peer at the end (5 s)\n"
      "  --tolerance TIME    lateness of input that is counted (50 ms)\n"
      "  --subscriber H:P    where the outputs are sent to as well\n"
      "  --epoch NS          engine time at the start (the first arrival)\n"
      "  --start NS          monotonic time of the start (now)\n"
      "  --can BUS=IFACE     streams on this CAN bus of the plan go by this interface (can0)\n"
      "  --realtime N        run at this priority of SCHED_FIFO, with its memory locked\n"
      "  --resume            join a run under way: earlier input is gone\n"
      "  --wait              when ready say so, then read epoch and start as JSON\n"
      "  --json              print the exit report\n\n",
      node.node, node.query);
  const auto listed = [](const char* title, auto&& names) {
    std::printf("%s", title);
    bool any = false;
    names([&any](const char* name) {
      std::printf("%s%s", any ? ", " : "", name);
      any = true;
    });
    std::printf(any ? "\n" : "none\n");
  };
  listed("sources:  ", [&node](auto&& say) {
    for (const OwnSource& one : node.own) say(node.wires[one.wire].name);
  });
  listed("sends:    ", [&node](auto&& say) {
    for (const SentStream& one : node.sent) say(node.wires[one.wire].name);
  });
  listed("receives: ", [&node](auto&& say) {
    for (const ReceivedStream& one : node.received) say(node.wires[one.wire].name);
  });
  listed("outputs:  ", [&node](auto&& say) {
    for (const Output& one : node.program->outputs) say(one.name);
  });
  std::printf(
      "\nExit codes: 0 finished, 1 the node failed, 2 bad input, "
      "3 finished, but a hard output missed a deadline or lost a tuple.\n");
}

/// False, for whoever says so and gives up.
inline bool failed(const char* what, const char* why) {
  std::fprintf(stderr, "%s: %s\n", what, why);
  return false;
}

inline Parsed wrong_option(const char* name, const char* value, const char* want) {
  std::fprintf(stderr, "%s: got %s; %s\n", name, value, want);
  return Parsed::WRONG;
}

inline Parsed parse_options(int count, char** arguments, const NodeProgram& node,
                            NodeOptions& options) {
  for (int place = 1; place < count; ++place) {
    char name[32] = {};
    const char* const given = arguments[place];
    const char* const equals = std::strchr(given, '=');
    const std::size_t size =
        equals == nullptr ? std::strlen(given) : static_cast<std::size_t>(equals - given);
    if (size >= sizeof name) return wrong_option(given, "it", "see --help");
    std::memcpy(name, given, size);
    if (same_text(name, "--help") || same_text(name, "-h")) {
      print_help(node);
      return Parsed::SHOWN;
    }
    bool* const flag = same_text(name, "--resume") ? &options.resume
                       : same_text(name, "--wait") ? &options.wait
                       : same_text(name, "--json") ? &options.json
                                                   : nullptr;
    if (flag != nullptr) {
      *flag = true;
      continue;
    }
    const char* const value = equals != nullptr   ? equals + 1
                              : place + 1 < count ? arguments[++place]
                                                  : nullptr;
    if (value == nullptr) return wrong_option(given, "nothing behind it", "see --help");
    std::int64_t number = 0;
    bool right = true;
    if (same_text(name, "--deployment") || same_text(name, "--key")) {
      char* const to = same_text(name, "--key") ? options.key : options.deployment;
      right = std::strlen(value) < MOST_PATH;
      if (right) std::memcpy(to, value, std::strlen(value) + 1);
    } else if (same_text(name, "--input")) {
      options.input = value;
    } else if (same_text(name, "--output")) {
      options.output = value;
    } else if (same_text(name, "--speed")) {
      options.speed = std::strtod(value, nullptr);
      right = options.speed > 0;
    } else if (same_text(name, "--heartbeat")) {
      right = parse_duration(value, options.timing.heartbeat);
      if (options.timing.heartbeat < MILLISECOND) options.timing.heartbeat = MILLISECOND;
    } else if (same_text(name, "--missed")) {
      right = parse_whole(value, number);
      options.timing.missed = number < 1 ? 1 : number;
    } else if (same_text(name, "--give-up")) {
      right = parse_duration(value, options.timing.give_up);
    } else if (same_text(name, "--tolerance")) {
      right = parse_duration(value, options.tolerance);
    } else if (same_text(name, "--subscriber")) {
      right = parse_address(value, std::strlen(value), options.subscriber);
      options.has_subscriber = right;
    } else if (same_text(name, "--epoch")) {
      right = parse_whole(value, options.epoch);
    } else if (same_text(name, "--start")) {
      right = parse_whole(value, options.start);
    } else if (same_text(name, "--can")) {
      right = parse_can(value, options);
    } else if (same_text(name, "--realtime")) {
      right = parse_whole(value, number) && number >= 0 && number < 100;
      options.realtime = static_cast<int>(number);
    } else if (!same_text(name, "--format") && !same_text(name, "--most-waiting")) {
      // These two are for Python nodes: here outputs have one form, and queues their size.
      return wrong_option(given, "an option that does not exist", "see --help");
    }
    if (!right) return wrong_option(name, value, "see --help for what it takes");
  }
  return Parsed::RUN;
}

}  // namespace headway
