"""A real browser shows the pages: without console errors, requests or sideways scrolling; hostile names stay text."""

import html
import json
import re
import shutil
import struct
import subprocess

import numpy as np
import pytest

import densdiff as dd
from paper.reproduction import reproduce

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = [
    pytest.mark.service,
    pytest.mark.skipif(BROWSER is None, reason="no Chromium or Chrome on the PATH: apt-get install chromium"),
]

HOSTILE = "<img src=http://example.invalid/x onerror=alert(1)><script>document.title='49'</script>{{ 7*7 }}"
OVERRIDE = "\u202eevil\n\x1b[31m" + "long" * 2500


def browse(page, folder, *options):
    """What the browser prints on its two outputs, and the addresses the page asked for, but for files and data."""
    log = folder / "net.json"
    command = [
        BROWSER,
        "--headless",
        "--no-sandbox",  # which needs rights that a container does not give; the pages are our own
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--disable-background-networking",
        "--disable-component-update",
        "--no-first-run",
        "--hide-scrollbars",
        "--host-resolver-rules=MAP * ~NOTFOUND",
        f"--user-data-dir={folder / 'profile'}",
        f"--log-net-log={log}",
        "--enable-logging=stderr",
        *options,
        page.as_uri(),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    known = [event.get("params", {}) for event in json.loads(log.read_bytes())["events"]]
    # the browser's own requests, for updates and such, have no page as their origin
    asked = {each["url"] for each in known if each.get("initiator", "not an origin") != "not an origin"}
    return done.stdout, done.stderr, {url for url in asked if not url.startswith(("file:", "data:"))}


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder, random = tmp_path_factory.mktemp("pages"), np.random.default_rng(0)
    tables = []
    for shift in (0.0, 1.0):
        shared = shift * random.normal(size=80)
        table = {name: shared + random.normal(shift, 1.0, 80) for name in (HOSTILE, OVERRIDE, "plain")}
        table["levels"] = np.array([HOSTILE, OVERRIDE, "温度"], dtype=object)[random.integers(0, 2 + bool(shift), 80)]
        tables.append(table)
    series = np.column_stack([random.normal(size=200), random.normal(np.repeat([0.0, 3.0], 100))])
    clock = np.datetime64("2024-03-01T00:00:00.000000") + 37 * np.arange(200).astype("m8[m]")
    rows, labels = random.normal([[0.0], [2.0]] * 40), [HOSTILE, OVERRIDE] * 40
    found = dd.compare(*tables, n_permutations=99, random_state=0)
    assert found.pairs
    return {
        "comparison": found.to_html(folder / "comparison.html"),
        "changes": dd.detect_changes(series, time=clock, random_state=0).to_html(folder / "changes.html"),
        "balance": dd.ClassBalance(random_state=0).fit(rows, labels).estimate(rows).to_html(folder / "balance.html"),
        "paper": reproduce(folder / "paper", "5", processes=1),
    }


@pytest.mark.parametrize("kind", ["comparison", "changes", "balance", "paper"])
@pytest.mark.hostile(33)
def test_page_renders_without_error_or_request(pages, kind, tmp_path):
    dom, errors, asked = browse(pages[kind], tmp_path, "--dump-dom")
    assert "CONSOLE" not in errors
    assert not asked
    assert "How it was computed" in dom
    assert not re.search(r'<(script\b|img\b(?! src="data:image/png;base64,))', dom)
    assert "<title>49" not in dom
    if kind in ("comparison", "balance"):
        assert html.escape(HOSTILE[:14], quote=False) in dom


def test_watch_notices_errors_and_requests(tmp_path):
    page = tmp_path / "bad.html"
    page.write_text('<img src="http://example.invalid/x"><script>console.error("seen")</script>')
    _, errors, asked = browse(page, tmp_path, "--dump-dom")
    assert "CONSOLE" in errors
    assert asked == {"http://example.invalid/x"}


@pytest.mark.parametrize("kind", ["comparison", "changes", "balance", "paper"])
def test_no_width_needs_scrolling_sideways(pages, kind, tmp_path):
    """Another page holds the report in frames of some widths and measures, which the report itself could not."""
    widths = (320, 390, 768, 1280)
    frames = "".join(f'<iframe width="{width}" height="800" src="{pages[kind].as_uri()}"></iframe>' for width in widths)
    script = """onload = () => { document.title = [...document.querySelectorAll("iframe")].map(frame => {
        const page = frame.contentDocument; page.querySelectorAll("details").forEach(each => each.open = true);
        return page.documentElement.scrollWidth; }).join(" "); }"""
    outer = tmp_path / "outer.html"
    outer.write_text(f"<style>iframe {{ border: 0 }}</style>{frames}<script>{script}</script>")
    dom, _, _ = browse(outer, tmp_path, "--dump-dom", "--allow-file-access-from-files")
    assert re.search("<title>(.*?)</title>", dom)[1] == " ".join(map(str, widths))


@pytest.mark.parametrize("size", [(390, 844), (1280, 900)])
@pytest.mark.parametrize("scheme", [0, 1])
def test_page_can_be_seen_light_and_dark(pages, size, scheme, tmp_path):
    image = tmp_path / "page.png"
    look = f"--blink-settings=preferredColorScheme={scheme}"
    browse(pages["comparison"], tmp_path, f"--screenshot={image}", f"--window-size={size[0]},{size[1]}", look)
    written = image.read_bytes()
    assert struct.unpack(">II", written[16:24]) == size
    assert len(written) > 10_000  # an empty page takes less than half of that
