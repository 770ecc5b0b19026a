// SHA-256 (FIPS 180-4) and HMAC-SHA256 (RFC 2104), by which nodes prove the key of their build.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace headway {

inline constexpr std::size_t DIGEST_BYTES = 32;

struct Digest {
  std::uint8_t bytes[DIGEST_BYTES];
};

class Sha256 {
 public:
  static constexpr std::size_t BLOCK_BYTES = 64;

  void add(const void* data, std::size_t count) {
    const std::uint8_t* bytes = static_cast<const std::uint8_t*>(data);
    total_ += count;
    while (count > 0) {
      if (filled_ == 0 && count >= BLOCK_BYTES) {
        compress(bytes);
        bytes += BLOCK_BYTES;
        count -= BLOCK_BYTES;
        continue;
      }
      std::size_t taken = BLOCK_BYTES - filled_;
      if (taken > count) taken = count;
      std::memcpy(block_ + filled_, bytes, taken);
      filled_ += taken;
      bytes += taken;
      count -= taken;
      if (filled_ == BLOCK_BYTES) {
        compress(block_);
        filled_ = 0;
      }
    }
  }

  Digest finish() {
    const std::uint64_t bits = total_ * 8;
    const std::uint8_t one = 0x80;
    const std::uint8_t zero = 0;
    add(&one, 1);
    while (filled_ != BLOCK_BYTES - 8) add(&zero, 1);
    std::uint8_t length[8];
    for (int place = 0; place < 8; ++place) {
      length[place] = static_cast<std::uint8_t>(bits >> (56 - 8 * place));
    }
    add(length, sizeof length);
    Digest digest;
    for (int word = 0; word < 8; ++word) {
      for (int place = 0; place < 4; ++place) {
        digest.bytes[4 * word + place] =
            static_cast<std::uint8_t>(state_[word] >> (24 - 8 * place));
      }
    }
    return digest;
  }

 private:
  static constexpr std::uint32_t ROUNDS[64] = {
      0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4,
      0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe,
      0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f,
      0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
      0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc,
      0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
      0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116,
      0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
      0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
      0xc67178f2};

  static std::uint32_t turned(std::uint32_t word, int by) {
    return (word >> by) | (word << (32 - by));
  }

  void compress(const std::uint8_t* block) {
    std::uint32_t w[64];
    for (int place = 0; place < 16; ++place) {
      w[place] = (std::uint32_t{block[4 * place]} << 24) |
                 (std::uint32_t{block[4 * place + 1]} << 16) |
                 (std::uint32_t{block[4 * place + 2]} << 8) | std::uint32_t{block[4 * place + 3]};
    }
    for (int place = 16; place < 64; ++place) {
      const std::uint32_t early = w[place - 15];
      const std::uint32_t recent = w[place - 2];
      w[place] = w[place - 16] + w[place - 7] +
                 (turned(early, 7) ^ turned(early, 18) ^ (early >> 3)) +
                 (turned(recent, 17) ^ turned(recent, 19) ^ (recent >> 10));
    }
    std::uint32_t a = state_[0], b = state_[1], c = state_[2], d = state_[3];
    std::uint32_t e = state_[4], f = state_[5], g = state_[6], h = state_[7];
    for (int place = 0; place < 64; ++place) {
      const std::uint32_t first = h + (turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)) +
                                  ((e & f) ^ (~e & g)) + ROUNDS[place] + w[place];
      const std::uint32_t second =
          (turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
      h = g;
      g = f;
      f = e;
      e = d + first;
      d = c;
      c = b;
      b = a;
      a = first + second;
    }
    state_[0] += a;
    state_[1] += b;
    state_[2] += c;
    state_[3] += d;
    state_[4] += e;
    state_[5] += f;
    state_[6] += g;
    state_[7] += h;
  }

  std::uint32_t state_[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                             0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::uint8_t block_[BLOCK_BYTES] = {};
  std::size_t filled_ = 0;
  std::uint64_t total_ = 0;
};

/// A keyed digest. Both halves of the key are taken in once; a copy of the object begins a message.
class HmacSha256 {
 public:
  HmacSha256() : HmacSha256("", 0) {}

  HmacSha256(const void* key, std::size_t count) {
    std::uint8_t block[Sha256::BLOCK_BYTES] = {};
    if (count > sizeof block) {
      Sha256 shortened;
      shortened.add(key, count);
      const Digest digest = shortened.finish();
      std::memcpy(block, digest.bytes, sizeof digest.bytes);
    } else {
      std::memcpy(block, key, count);
    }
    for (std::uint8_t& byte : block) byte = static_cast<std::uint8_t>(byte ^ 0x36);
    inner_.add(block, sizeof block);
    for (std::uint8_t& byte : block) byte = static_cast<std::uint8_t>(byte ^ 0x36 ^ 0x5c);
    outer_.add(block, sizeof block);
  }

  void add(const void* data, std::size_t count) { inner_.add(data, count); }

  Digest finish() {
    const Digest inside = inner_.finish();
    outer_.add(inside.bytes, sizeof inside.bytes);
    return outer_.finish();
  }

 private:
  Sha256 inner_;
  Sha256 outer_;
};

/// Whether the bytes are the same, in a time that does not say where they differ.
inline bool same_secret(const void* left, const void* right, std::size_t count) {
  const std::uint8_t* const one = static_cast<const std::uint8_t*>(left);
  const std::uint8_t* const other = static_cast<const std::uint8_t*>(right);
  std::uint8_t differing = 0;
  for (std::size_t place = 0; place < count; ++place) {
    differing = static_cast<std::uint8_t>(differing | (one[place] ^ other[place]));
  }
  return differing == 0;
}

}  // namespace headway
