#include "lab/wire.hpp"

#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/rng.hpp"

namespace iez::lab {
namespace {

std::span<const std::byte> body_of(const std::vector<std::byte>& frame) {
  return std::span<const std::byte>(frame).subspan(sizeof(Frame));
}

// Draws a value for every field of a message, through the same visit() that reads and writes it.
class Filler {
 public:
  explicit Filler(std::uint64_t seed) : rng_(seed) {}

  template <typename T>
    requires std::is_arithmetic_v<T>
  void operator()(T& value) {
    value = static_cast<T>(rng_.bits());
  }
  template <typename T>
    requires std::is_enum_v<T>
  void operator()(T& value) {
    value = static_cast<T>(rng_.below(4));
  }
  void operator()(std::string& text) {
    text.resize(rng_.below(20));
    for (char& c : text) c = static_cast<char>(rng_.bits());
  }
  void operator()(std::vector<std::byte>& bytes) {
    bytes.resize(rng_.below(200));
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(rng_.bits());
  }
  template <typename T>
    requires requires(T& value, Filler& filler) { value.visit(filler); }
  void operator()(T& value) {
    value.visit(*this);
  }
  template <typename T>
    requires requires(T& value, Filler& filler) { value.visit(filler); }
  void operator()(std::vector<T>& values) {
    values.resize(rng_.below(5));
    for (T& value : values) (*this)(value);
  }

 private:
  Rng rng_;
};

template <typename Message>
class WireTest : public testing::Test {};

using Messages = testing::Types<ConnectRequest, ConnectAnswer, QueryRequest, QueryAnswer, DescribeAnswer, FaultRequest, Entry,
                                NameRequest, InodeRequest, SetAttributesRequest, MakeRequest, RenameRequest, LinkRequest,
                                ListRequest, ListAnswer, XattrRequest, BytesAnswer, WriteRequest, WriteAnswer, ReadRequest,
                                ReadAnswer, ObjectsRequest, GlimpseAnswer, PunchRequest, SpaceAnswer, LockRequest, LimitsRequest>;
TYPED_TEST_SUITE(WireTest, Messages);

TYPED_TEST(WireTest, comes_back_as_it_went) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    TypeParam message{};
    Filler{seed}(message);
    const std::vector<std::byte> frame = request_frame(Op::lookup, seed, message);
    Frame header;
    std::memcpy(&header, frame.data(), sizeof header);
    EXPECT_EQ(header.size, frame.size());
    EXPECT_EQ(header.op, static_cast<std::uint16_t>(Op::lookup));
    EXPECT_EQ(header.flags, 0U);
    EXPECT_EQ(header.number, seed);
    FrameReader reader(body_of(frame));
    TypeParam again{};
    reader(again);
    EXPECT_TRUE(reader.good());
    EXPECT_TRUE(reader.rest().empty());
    EXPECT_EQ(request_frame(Op::lookup, seed, again), frame);
  }
}

TYPED_TEST(WireTest, a_cut_message_is_noticed) {
  TypeParam message{};
  Filler{3}(message);
  const std::vector<std::byte> frame = request_frame(Op::lookup, 1, message);
  const auto body = body_of(frame);
  for (std::size_t size = 0; size < body.size(); ++size) {
    // A copy of exactly that size, so that a sanitizer sees what is read behind it.
    const std::vector<std::byte> cut(body.begin(), body.begin() + static_cast<std::ptrdiff_t>(size));
    FrameReader reader(cut);
    TypeParam again{};
    reader(again);
    EXPECT_FALSE(reader.good()) << size << " of " << body.size();
  }
}

TEST(WireFrameTest, data_follows_the_fields) {
  const std::vector<std::byte> data(1000, std::byte{7});
  const auto frame = request_frame(Op::write, 9, WriteRequest{.name = {.ost = 1, .object = 2}, .offset = 3, .job = "j"}, data);
  FrameReader reader(body_of(frame));
  WriteRequest again;
  reader(again);
  EXPECT_EQ(again.offset, 3U);
  EXPECT_EQ(std::vector(reader.rest().begin(), reader.rest().end()), data);
}

TEST(WireFrameTest, an_answer_begins_with_its_errno) {
  const auto good = answer_frame(Op::read, 9, 0, ReadAnswer{.credits = 4});
  const auto bad = answer_frame(Op::read, 9, 5, ReadAnswer{.credits = 4});
  EXPECT_EQ(good.size(), sizeof(Frame) + 8);
  EXPECT_EQ(bad.size(), sizeof(Frame) + 4) << "and a failure has no more";
  Frame header;
  std::memcpy(&header, bad.data(), sizeof header);
  EXPECT_EQ(header.flags, kAnswer);
  FrameReader reader(body_of(bad));
  std::int32_t error = 0;
  reader(error);
  EXPECT_EQ(error, 5);
}

TEST(WireFrameTest, bytes_of_a_lookup) {
  const auto frame =
      request_frame(Op::lookup, 0x0102, NameRequest{.caller = {.uid = 5, .gid = 6, .job = "dd"}, .parent = 1, .name = "ab"});
  const std::vector<unsigned> expected = {44, 0, 0, 0, 32, 0, 0, 0, 2, 1, 0, 0, 0,   0,   0, 0,  // frame
                                          5,  0, 0, 0, 6,  0, 0, 0, 2, 0, 0, 0, 'd', 'd',        // caller
                                          1,  0, 0, 0, 0,  0, 0, 0, 2, 0, 0, 0, 'a', 'b'};       // parent, name
  std::vector<unsigned> found;
  found.reserve(frame.size());
  for (const std::byte byte : frame) found.push_back(std::to_integer<unsigned>(byte));
  EXPECT_EQ(found, expected);
}

TEST(WireFrameTest, hostile_counts_take_no_memory) {
  FrameWriter writer(Op::list, 1);
  writer(std::uint64_t{1});
  writer(std::uint32_t{0xFFFFFFFF});  // entries
  writer(std::uint32_t{0xFFFFFFFF});  // length of the first name
  const auto frame = writer.take();
  FrameReader reader(body_of(frame));
  ListAnswer answer;
  reader(answer);
  EXPECT_FALSE(reader.good());
  EXPECT_LE(answer.entries.capacity(), 4U);
}

}  // namespace
}  // namespace iez::lab
