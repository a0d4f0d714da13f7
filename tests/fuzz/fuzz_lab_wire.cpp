// Frames of a lab from anywhere: nothing is read behind the bytes, memory stays in proportion to them, and what was understood
// is written back as it came.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "lab/wire.hpp"

namespace {

using namespace iez::lab;  // NOLINT(google-build-using-namespace): every message of it

template <typename Message>
void check(std::span<const std::byte> bytes) {
  FrameReader reader(bytes);
  Message message;
  reader(message);
  if (!reader.good()) return;
  const std::size_t taken = bytes.size() - reader.rest().size();
  FrameWriter writer(Op::lookup, 0);
  writer(message);
  const std::vector<std::byte> frame = writer.take();
  const auto again = std::span(frame).subspan(sizeof(Frame));
  IEZ_ASSERT(std::ranges::equal(again, bytes.first(taken)));
}

template <typename... Messages>
void check_one_of(std::size_t which, std::span<const std::byte> bytes) {
  constexpr void (*kChecks[])(std::span<const std::byte>) = {check<Messages>...};
  kChecks[which % sizeof...(Messages)](bytes);
}

}  // namespace

// The first byte says which message is read.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  check_one_of<ConnectRequest, ConnectAnswer, QueryRequest, QueryAnswer, DescribeAnswer, FaultRequest, Entry, NameRequest,
               InodeRequest, SetAttributesRequest, MakeRequest, RenameRequest, LinkRequest, ListRequest, ListAnswer, XattrRequest,
               BytesAnswer, WriteRequest, WriteAnswer, ReadRequest, ReadAnswer, ObjectsRequest, GlimpseAnswer, PunchRequest,
               SpaceAnswer, LockRequest, LimitsRequest>(data[0], std::as_bytes(std::span(data, size)).subspan(1));
  return 0;
}
