#include "page.hpp"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "markup.hpp"

namespace iez::cli {

namespace {

// Series s0 to s7 can be told apart with every kind of colour blindness, and keep their hue from light to dark. h0 to h5 go from
// nothing to much. What is too wide for a telephone scrolls inside itself, and has a shade at the edge where there is more of it.
constexpr std::string_view kStyle = R"(:root{color-scheme:light dark;
--ink:#1d2329;--quiet:#59636d;--line:#d9dee3;--card:#f6f8fa;--page:#ffffff;--mark:#0067a3;--good:#1a7f37;--warn:#a84d05;--bad:#c62828;--shade:#00000038;
--s0:#0072b2;--s1:#d55e00;--s2:#009e73;--s3:#cc79a7;--s4:#e69f00;--s5:#56b4e9;--s6:#7f7f7f;--s7:#8c564b;
--h0:#e6eaee;--h1:#c6dcee;--h2:#8fbfe0;--h3:#4f97cb;--h4:#1c6bad;--h5:#08376b}
@media (prefers-color-scheme:dark){:root{
--ink:#e4e8ec;--quiet:#a3adb7;--line:#353c44;--card:#1d2228;--page:#14181c;--mark:#6cb6ff;--good:#5bc27b;--warn:#f2bb3f;--bad:#ff8a80;--shade:#ffffff48;
--s0:#58aef0;--s1:#f28a4b;--s2:#38c79e;--s3:#eb9fcb;--s4:#f5c04a;--s5:#b0dcf8;--s6:#a8a8a8;--s7:#cda192;
--h0:#2a3138;--h1:#1d3a55;--h2:#1f5684;--h3:#2f7fbf;--h4:#66aee6;--h5:#c4e2fb}}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%;text-size-adjust:100%}
body{margin:0 auto;max-width:76rem;padding:1.5rem 1.5rem 3rem;font:15px/1.5 system-ui,Helvetica,Arial,sans-serif;color:var(--ink);background:var(--page);overflow-wrap:break-word}
header{margin-bottom:1.2rem}
.made{margin:0;color:var(--quiet);font-size:.85rem}
.made strong{color:var(--mark)}
h1{font-size:1.7rem;line-height:1.2;margin:.2rem 0 .5rem}
h2{font-size:1.25rem;line-height:1.3;margin:2.4rem 0 .5rem;padding-top:1rem;border-top:1px solid var(--line)}
h2 .number{color:var(--quiet);font-weight:400;margin-right:.5rem}
h3{font-size:1rem;margin:1.4rem 0 .3rem}
p{max-width:60rem;margin:.6rem 0}
a{color:var(--mark)}
code{font-size:.92em}
.quiet{color:var(--quiet)}
.good{color:var(--good)}
.warn{color:var(--warn)}
.bad{color:var(--bad)}
.note{border-left:4px solid var(--warn);padding:.2rem 0 .2rem .8rem}
.banner{max-width:none;border:1px solid var(--warn);border-left-width:6px;border-radius:6px;padding:.6rem .9rem;margin:1rem 0;color:var(--warn);font-weight:600}
.cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(150px,1fr));gap:.8rem;margin:1.2rem 0}
.card{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:.7rem .9rem}
.card strong{display:block;font-size:1.35rem;line-height:1.3;font-variant-numeric:tabular-nums}
.card span{color:var(--quiet);font-size:.9rem}
ol.findings{padding-left:1.6rem}
ol.findings li{margin:.45rem 0}
.finding{border-left:4px solid var(--mark);padding:.3rem 0 .3rem .8rem;margin:.6rem 0 1rem;max-width:95ch}
.charts{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,27rem),1fr));gap:1rem;margin:.8rem 0}
.charts.alone{grid-template-columns:1fr}
.charts>svg,figure{width:100%;height:auto;border:1px solid var(--line);border-radius:8px;background:var(--card)}
figure{margin:0;padding:.8rem 1rem}
figcaption{font-weight:600;margin-bottom:.5rem}
figcaption span{display:block;color:var(--quiet);font-weight:400;font-size:.9rem}
.pair{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,13rem),1fr));gap:.8rem 1.2rem}
.pair svg{width:100%;height:auto;display:block}
.wide{overflow-x:auto;max-width:100%}
.wide,.charts.alone{background:linear-gradient(to right,var(--page) 50%,transparent) -1px 0/2.4rem 100% no-repeat local,
linear-gradient(to left,var(--page) 50%,transparent) calc(100% + 1px) 0/2.4rem 100% no-repeat local,
linear-gradient(to right,var(--shade),transparent) -2px 0/.8rem 100% no-repeat scroll,
linear-gradient(to left,var(--shade),transparent) calc(100% + 2px) 0/.8rem 100% no-repeat scroll}
table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:13.5px}
th,td{padding:.25rem .9rem .25rem 0;text-align:left;border-bottom:1px solid var(--line);white-space:nowrap;vertical-align:top}
th:last-child,td:last-child{padding-right:.2rem}
th{font-weight:600;color:var(--quiet);vertical-align:bottom}
.right{text-align:right}
.middle{text-align:center}
.strong{font-weight:600}
td small{display:block;color:var(--quiet)}
td.text,.facts td{white-space:normal;min-width:13rem}
td.text:first-child{min-width:17rem}
.facts th{vertical-align:top}
summary{cursor:pointer;color:var(--mark);margin:.5rem 0}
pre{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:.8rem 1rem;overflow-x:auto;font-size:.88rem}
.advice{list-style:none;padding:0}
.advice li{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:.6rem .9rem;margin:.5rem 0}
.tag{display:inline-block;border:1px solid var(--line);border-radius:99px;padding:0 .6rem;margin-right:.4rem;font-size:12.5px;color:var(--quiet)}
footer{margin-top:2.4rem;padding-top:.8rem;border-top:1px solid var(--line);color:var(--quiet);font-size:.9rem}
.chart text{fill:var(--ink);font:12px system-ui,Helvetica,Arial,sans-serif}
.chart .title{font-size:14px;font-weight:600}
.chart .soft{fill:var(--quiet)}
.chart .small{font-size:10px}
.chart .paper{fill:none}
.chart .grid{stroke:var(--line)}
.chart .axis{stroke:var(--quiet)}
.chart .whisker{stroke:var(--ink);fill:none}
.chart .mean{stroke:var(--ink);stroke-dasharray:4 3;stroke-width:1.2}
.chart .band{fill-opacity:.22}
.chart .line{fill:none;stroke-width:1.8;stroke-linejoin:round}
.chart .dot{fill:var(--card);stroke-width:2}
.chart .c0{stroke:var(--s0)}.chart .c1{stroke:var(--s1)}.chart .c2{stroke:var(--s2)}.chart .c3{stroke:var(--s3)}
.chart .c4{stroke:var(--s4)}.chart .c5{stroke:var(--s5)}.chart .c6{stroke:var(--s6)}.chart .c7{stroke:var(--s7)}
.chart .f0{fill:var(--s0)}.chart .f1{fill:var(--s1)}.chart .f2{fill:var(--s2)}.chart .f3{fill:var(--s3)}
.chart .f4{fill:var(--s4)}.chart .f5{fill:var(--s5)}.chart .f6{fill:var(--s6)}.chart .f7{fill:var(--s7)}
.chart .c-all{stroke:var(--ink)}.chart .f-all{fill:var(--ink)}
.chart .h0{fill:var(--h0)}.chart .h1{fill:var(--h1)}.chart .h2{fill:var(--h2)}.chart .h3{fill:var(--h3)}.chart .h4{fill:var(--h4)}.chart .h5{fill:var(--h5)}
.chart.large .title{font-size:18px}
@media (max-width:600px){
body{padding:1rem .9rem 2rem}
h1{font-size:1.4rem}
h2{font-size:1.15rem;margin-top:1.8rem}
.cards{grid-template-columns:1fr 1fr;gap:.6rem}
.card{padding:.5rem .7rem}
.card strong{font-size:1.15rem}
.charts.alone{overflow-x:auto;border:1px solid var(--line);border-radius:8px}
.charts>svg.large{min-width:56rem;background:none;border:0}
.charts>svg:not(.large) text{font-size:14px}
.charts>svg:not(.large) .title{font-size:15px}
.charts>svg:not(.large) .dense{display:none}
.pair .title{font-size:11px}
.pair text{font-size:9px}
td.text{min-width:21rem}
td.text:first-child,.facts td{min-width:11rem}
figure{padding:.7rem}
}
@media print{body{max-width:none;padding:0}details{display:none}.charts>svg,figure{break-inside:avoid}}
)";

}  // namespace

std::string page_head(const PageHead& head) {
  std::string_view program = head.command;
  std::string_view verbs;
  if (const std::size_t space = program.find(' '); space != std::string_view::npos) {
    verbs = program.substr(space);
    program = program.substr(0, space);
  }
  std::string out = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{0} - {1}</title>\n<style>\n{2}</style>\n"
      "</head>\n<body>\n<header>\n<p class=\"made\"><strong>{3}</strong>{4}</p>\n<h1>{0}</h1>\n",
      markup_escaped(head.title), markup_escaped(head.command), kStyle, markup_escaped(program), markup_escaped(verbs));
  if (!head.about.empty()) out += fmt::format("<p class=\"quiet\">{}</p>\n", markup_escaped(head.about));
  return out + "</header>\n";
}

std::string typeset(std::string_view text) {
  constexpr std::string_view kPlusMinus = " +- ";
  constexpr std::string_view kMicroseconds = " us";
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view rest = text.substr(at);
    const std::string_view behind = rest.substr(std::min(rest.size(), kMicroseconds.size()));
    if (rest.starts_with(kPlusMinus)) {
      out += " ± ";
      at += kPlusMinus.size();
    } else if (rest.starts_with(kMicroseconds) && at > 0 && is_digit(text[at - 1]) &&
               (behind.empty() || !std::isalnum(static_cast<unsigned char>(behind.front())))) {
      out += " µs";
      at += kMicroseconds.size();
    } else {
      out += text[at++];
    }
  }
  return out;
}

std::string page_foot(std::string_view command, std::string_view remark) {
  return fmt::format("<footer>Made by <code>{}</code>.{}{}</footer>\n</body>\n</html>\n", markup_escaped(command),
                     remark.empty() ? "" : " ", markup_escaped(remark));
}

std::string page_card(std::string_view value, std::string_view what, CardMood mood) {
  return fmt::format("<div class=\"card\"><strong{}>{}</strong><span>{}</span></div>\n",
                     mood == CardMood::good ? " class=\"good\"" : "", markup_escaped(value), markup_escaped(what));
}

}  // namespace iez::cli
