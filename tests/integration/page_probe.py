"""What a browser makes of pages on a telephone: how wide each is laid out, and what sticks out of it."""

import html
import json
import pathlib
import re
import shutil
import subprocess
import tempfile

WIDTH = 400
LEAST_TEXT = 9  # px
# A window cannot be so narrow, a frame in it can. What scrolls inside itself may be wider.
FRAMES = """<!DOCTYPE html><body>%s<script>
window.addEventListener('load', () => {
  const seen = [...document.querySelectorAll('iframe')].map(frame => {
    const page = frame.contentDocument;
    const out = [...page.querySelectorAll('body *')].filter(
      part => part.getBoundingClientRect().right > frame.clientWidth + 1 && !part.closest('.wide, .alone, pre'));
    const small = [], cut = [], over = [];
    for (const chart of page.querySelectorAll('svg.chart')) {
      const frame = chart.getBoundingClientRect(), scale = frame.width / chart.viewBox.baseVal.width;
      const texts = [...chart.querySelectorAll('text')].map(text => [text, text.getBoundingClientRect()]).filter(one => one[1].width > 0);
      texts.forEach(([text, box], i) => {
        if (parseFloat(getComputedStyle(text).fontSize) * scale < %d) small.push(text.textContent);
        if (box.left < frame.left - 1 || box.right > frame.right + 1) cut.push(text.textContent);
        for (const [other, its] of texts.slice(i + 1)) {
          const wide = Math.min(box.right, its.right) - Math.max(box.left, its.left);
          const high = Math.min(box.bottom, its.bottom) - Math.max(box.top, its.top);
          if (wide > 1 && high > 3) over.push([text.textContent, other.textContent]);
        }
      });
    }
    return {width: page.documentElement.scrollWidth, out: out.map(part => part.tagName), text: page.body.innerText.length, small, cut, over,
            loads: frame.contentWindow.performance.getEntriesByType('resource').length};
  });
  const result = document.createElement('pre');
  result.id = 'probe';
  result.textContent = JSON.stringify(seen);
  document.body.appendChild(result);
});
</script>"""


def on_a_telephone(test, *pages):
    """Each page is no wider than the screen and loads nothing; what its charts say is large enough, whole, and apart from the rest."""
    browser = shutil.which("chromium")
    test.assertTrue(browser, "chromium is not installed: tools/setup test")
    with tempfile.TemporaryDirectory() as folder:
        frames = pathlib.Path(folder) / "frames.html"
        one = f'<iframe src="%s" style="width:{WIDTH}px;height:800px;border:0"></iframe>'
        frames.write_text(FRAMES % ("".join(one % pathlib.Path(page).resolve().as_uri() for page in pages), LEAST_TEXT), encoding="utf-8")
        result = subprocess.run([browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
                                 "--disable-component-update", "--disable-sync", "--no-first-run", "--allow-file-access-from-files",
                                 f"--user-data-dir={folder}/profile", "--virtual-time-budget=3000", "--window-size=1280,900", "--dump-dom",
                                 frames.as_uri()], capture_output=True, text=True, check=False, timeout=120)
    found = re.search(r'<pre id="probe">(.*?)</pre>', result.stdout, flags=re.DOTALL)
    test.assertTrue(found, result.stderr[-2000:])
    seen = json.loads(html.unescape(found[1]))
    test.assertEqual(len(seen), len(pages))
    for page, one in zip(pages, seen):
        with test.subTest(page=str(page)):
            test.assertGreater(one["text"], 100)
            test.assertLessEqual(one["width"], WIDTH)
            test.assertEqual((one["out"], one["loads"]), ([], 0))
            for what in ("small", "cut", "over"):
                test.assertEqual(one[what], [], f"text of charts: {what}")
