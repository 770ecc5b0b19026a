// A node with one stream of every type, as the generator would write it, for tests of what carries
// its rows.
#pragma once

#include "headway/node_tables.hpp"
#include "headway/value.hpp"

namespace sample {

struct Sample {
  std::int64_t timestamp;
  headway::Maybe<bool> flag;
  headway::Maybe<std::int32_t> whole;
  headway::Maybe<std::int64_t> large;
  headway::Maybe<float> single;
  headway::Maybe<double> real;
  headway::Maybe<headway::Text<8>> text;
  headway::Maybe<std::int64_t> moment;
};

constexpr headway::WireColumn COLUMNS[] = {
    {"timestamp", headway::WireType::BIGINT, offsetof(Sample, timestamp), headway::NEVER_UNKNOWN,
     0},
    {"flag", headway::WireType::BOOLEAN, offsetof(Sample, flag.value), offsetof(Sample, flag.known),
     0},
    {"whole", headway::WireType::INT, offsetof(Sample, whole.value), offsetof(Sample, whole.known),
     0},
    {"large", headway::WireType::BIGINT, offsetof(Sample, large.value),
     offsetof(Sample, large.known), 0},
    {"single", headway::WireType::FLOAT, offsetof(Sample, single.value),
     offsetof(Sample, single.known), 0},
    {"real", headway::WireType::DOUBLE, offsetof(Sample, real.value), offsetof(Sample, real.known),
     0},
    {"text", headway::WireType::TEXT, offsetof(Sample, text.value), offsetof(Sample, text.known),
     8},
    {"moment", headway::WireType::BIGINT, offsetof(Sample, moment.value),
     offsetof(Sample, moment.known), 0},
};

constexpr headway::WireStream WIRES[] = {
    {"incoming", 1, 0x1234, sizeof(Sample), headway::span(COLUMNS)},
    {"outgoing", 2, 0x5678, sizeof(Sample), headway::span(COLUMNS)},
};
constexpr headway::ReceivedStream RECEIVED[] = {{0, 0, 0}};
constexpr headway::Index RECEIVERS[] = {0};
constexpr headway::SentStream SENT[] = {{1, 1, 0, headway::span(RECEIVERS)}};
constexpr const char* PEERS[] = {"other"};
constexpr headway::Program PROGRAM = {};

constexpr headway::NodeProgram NODE = {
    "me",
    "sample",
    "0123456789abcdef",
    &PROGRAM,
    headway::span(PEERS),
    headway::span(WIRES),
    headway::span(SENT),
    headway::span(RECEIVED),
    {},
    {},
};

}  // namespace sample
