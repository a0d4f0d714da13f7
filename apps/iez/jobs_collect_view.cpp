#include "jobs_collect_view.hpp"

#include <chrono>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "base/text.hpp"
#include "table.hpp"

namespace iez::cli {

namespace {

void add_io(ordered_json& json, const jobs::DataCalls& data, const jobs::MetadataCalls& metadata) {
  json["read_bytes"] = data.read_bytes;
  json["write_bytes"] = data.write_bytes;
  json["read_calls"] = data.read_calls;
  json["write_calls"] = data.write_calls;
  json["open"] = metadata.open;
  json["close"] = metadata.close;
  json["create"] = metadata.create;
  json["mkdir"] = metadata.mkdir;
  json["mknod"] = metadata.mknod;
  json["rename"] = metadata.rename;
  json["rmdir"] = metadata.rmdir;
  json["unlink"] = metadata.unlink;
}

void add_network(ordered_json& json, const std::optional<jobs::NetworkCounts>& network) {
  if (!network) {
    json["network"] = nullptr;
    return;
  }
  json["network"] = {{"received_bytes", network->received_bytes},
                     {"sent_bytes", network->sent_bytes},
                     {"received", network->received},
                     {"sent", network->sent}};
}

std::string time_text(std::int64_t seconds) {
  // Times of hostile rows may be of any year.
  constexpr std::int64_t kYear10000 = 253'402'300'800;
  if (seconds < 0 || seconds >= kYear10000) return fmt::to_string(seconds);
  return fmt::format("{:%Y-%m-%d %H:%M:%S}", fmt::gmtime(static_cast<std::time_t>(seconds)));
}

}  // namespace

ordered_json job_row_json(const jobs::JobRow& row) {
  ordered_json json{{"cluster", row.cluster},
                    {"job", row.id},
                    {"user", row.user},
                    {"started", row.started},
                    {"ended", row.ended},
                    {"nodes", row.nodes},
                    {"silent_nodes", row.silent_nodes},
                    {"memory", or_null(row.memory)}};
  add_io(json, row.data, row.metadata);
  add_network(json, row.network);
  return json;
}

ordered_json series_row_json(const jobs::SeriesRow& row) {
  ordered_json json{{"cluster", row.cluster}, {"target", row.target}, {"job", row.id},
                    {"user", row.user},       {"time", row.time},     {"seconds", row.seconds}};
  add_io(json, row.data, row.metadata);
  return json;
}

ordered_json node_report_json(const jobs::NodeReport& report) {
  ordered_json json{{"cluster", report.job.cluster},
                    {"job", report.job.id},
                    {"user", report.job.user},
                    {"node", report.job.node},
                    {"nodes", report.job.nodes},
                    {"started", report.started},
                    {"ended", report.ended},
                    {"memory", or_null(report.memory)},
                    {"others", report.others},
                    {"restarted_mounts", report.restarted},
                    {"lost_mounts", report.lost_mounts}};
  add_io(json, report.io.data, report.io.metadata);
  add_network(json, report.network);
  return json;
}

std::string job_table(std::span<const jobs::JobRow> rows, const Terminal& terminal, bool header) {
  Table table({{.title = "JOB"},
               {.title = "USER"},
               {.title = "STARTED"},
               {.title = "LASTED", .align = Align::right},
               {.title = "NODES", .align = Align::right},
               {.title = "SILENT", .align = Align::right},
               {.title = "READ", .align = Align::right},
               {.title = "WRITTEN", .align = Align::right},
               {.title = "WRITES", .align = Align::right},
               {.title = "OPENS", .align = Align::right}});
  for (const jobs::JobRow& row : rows) {
    table.add({{text::printable(row.id)},
               {text::printable(row.user)},
               {time_text(row.started)},
               {to_string(Duration{std::chrono::seconds{std::clamp<std::int64_t>(row.ended - row.started, 0, 4'000'000'000)}})},
               {fmt::to_string(row.nodes)},
               {fmt::to_string(row.silent_nodes), row.silent_nodes > 0 ? Colour::yellow : Colour::none},
               {to_string(Bytes{row.data.read_bytes})},
               {to_string(Bytes{row.data.write_bytes})},
               {fmt::to_string(row.data.write_calls)},
               {fmt::to_string(row.metadata.open)}});
  }
  return table.render(terminal, header);
}

}  // namespace iez::cli
