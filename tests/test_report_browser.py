"""report.html in headless Chromium; skipped where there is none (Debian: apt-get install chromium)."""

import json
import shutil
from itertools import pairwise
from pathlib import Path

import pytest
from browser import CHROMIUM, Browser
from study_factory import add_units, better, freeze_study, make_study, worse

from report.build import build_and_write

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium: apt-get install chromium")

ROOT = Path(__file__).resolve().parent.parent
PILOT = ROOT / "studies/smollm2-raft-pilot"
HOSTILE = "</script><script>window.hacked=1</script><img src=x onerror='window.hacked=1'> \u202egnp.exe"


@pytest.fixture(scope="module")
def browser():
    opened = Browser()
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def pilot(tmp_path_factory):
    """The bundled study, built anew in a folder whose name holds a space and no ASCII letter."""
    folder = tmp_path_factory.mktemp("größer als") / "pilot"
    shutil.copytree(PILOT, folder, ignore=shutil.ignore_patterns("report", ".*"))
    build_and_write(folder)
    return (folder / "report/report.html").as_uri()


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hostile") / "s"
    study = make_study(
        folder,
        study_toml=f"[roster.'sft.toy.main']\nstatus='skipped'\ndecision='D1'\nreason={json.dumps(HOSTILE)}\n",
    )
    (study / "DECISIONS.md").write_text(f"# D\n\n## 2026-01-01 · DEVIATION · D1\n\n{HOSTILE}\n")
    freeze_study(study)
    add_units(study, candidate=better, baseline=worse)
    for name in ("sft", "base"):
        assert (study / f"units/{name}.toy.main/rows.parquet").exists()
    build_and_write(study)
    return (study / "report/report.html").as_uri()


def test_it_opens_from_the_file_system_without_network_errors_or_refused_content(browser, pilot):
    browser.events.clear()
    browser.open(pilot)
    assert "Does one round" in browser.run("document.querySelector('h1').textContent")
    asked = {
        event["params"]["request"]["url"].partition(":")[0]
        for event in browser.events
        if event["method"] == "Network.requestWillBeSent"
    }
    said = [
        event["params"]
        for event in browser.events
        if event["method"] in {"Runtime.exceptionThrown", "Log.entryAdded"}
    ]
    assert (asked, said) == ({"file"}, [])


@pytest.mark.parametrize("width", [320, 390, 768, 1024, 1280, 1920])
def test_the_page_never_scrolls_sideways(browser, pilot, width):
    browser.open(pilot, width=width)
    assert browser.run("document.documentElement.scrollWidth") <= width


def test_the_first_screen_holds_title_conclusion_and_all_six_facts_on_a_phone(browser, pilot):
    browser.open(pilot, width=390, height=844)
    facts = browser.run(
        "[...document.querySelectorAll('.facts > div')].map(e => e.getBoundingClientRect().bottom)"
    )
    assert (len(facts), max(facts) <= 844) == (6, True)


def test_the_first_screen_holds_the_first_row_of_figure_1_on_a_desk(browser, pilot):
    browser.open(pilot)
    assert browser.run("document.querySelector('.forest tr.main').getBoundingClientRect().top") < 800


def test_a_number_says_where_it_comes_from_on_focus_and_escape_closes_it(browser, pilot):
    browser.open(pilot)
    browser.run("document.querySelector('.lead .n[data-ptr=\"P1.gain\"] a').focus()")
    assert browser.run("document.querySelector('#pop').hidden") is False
    assert browser.run("document.querySelector('#pop b').textContent") == "P1.gain = 0.232291666667"
    assert "raft.indist.k8 sha256" in browser.run("document.querySelector('#pop .p-inputs').textContent")
    browser.press("Escape")
    assert browser.run("document.querySelector('#pop').hidden") is True


def test_every_number_of_the_page_has_a_pointer_that_exists(browser, pilot):
    browser.open(pilot)
    script = """(() => { const prov = JSON.parse(document.querySelector('#prov-data').textContent);
      return [...document.querySelectorAll('[data-ptr]')].map(e => e.dataset.ptr)
        .filter(p => { const i = p.lastIndexOf('.'); return !(prov[p.slice(0, i)]?.values[p.slice(i + 1)]); }); })()"""
    assert browser.run(script) == []
    assert browser.run("document.querySelectorAll('[data-ptr]').length") > 200


def test_a_table_sorts_by_its_values_and_says_so(browser, pilot):
    browser.open(pilot)
    browser.run(
        "window.th = [...document.querySelectorAll('.forest thead th')].find(t => t.textContent.includes('Gain'))"
    )
    browser.run("th.querySelector('button').click()")
    assert browser.run("th.getAttribute('aria-sort')") == "ascending"
    secondary = """[...th.closest('table').tBodies[1].querySelectorAll('td.e[data-v]')].map(t => t.dataset.v).filter(Boolean).map(Number)"""
    values = browser.run(secondary)
    assert values == sorted(values)
    browser.run("th.querySelector('button').click()")
    assert browser.run("th.getAttribute('aria-sort')") == "descending"


def test_links_lead_somewhere_and_ids_are_unique(browser, pilot):
    browser.open(pilot)
    dead = "[...document.querySelectorAll('a[href^=\"#\"]')].map(a => a.getAttribute('href').slice(1)).filter(h => !document.getElementById(h))"
    twice = "(() => { const ids = [...document.querySelectorAll('[id]')].map(e => e.id); return ids.filter((x, i) => ids.indexOf(x) !== i); })()"
    assert (browser.run(dead), browser.run(twice)) == ([], [])


def test_headings_come_in_order(browser, pilot):
    browser.open(pilot)
    levels = browser.run("[...document.querySelectorAll('h1,h2,h3')].map(h => Number(h.tagName[1]))")
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))


@pytest.mark.parametrize("dark", [False, True])
def test_text_stands_out_from_its_ground_in_both_schemes(browser, pilot, dark):
    browser.open(pilot, dark=dark)
    script = """(() => {
      const lum = c => { const [r, g, b] = c.match(/[\\d.]+/g).slice(0, 3).map(v => { v /= 255; return v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4; }); return .2126 * r + .7152 * g + .0722 * b; };
      const ground = e => { for (let n = e; n; n = n.parentElement) { const b = getComputedStyle(n).backgroundColor; if (!/, 0\\)|transparent/.test(b)) return b; } return 'rgb(255,255,255)'; };
      const low = [];
      for (const e of document.querySelectorAll('main *, nav *')) {
        if (![...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim())) continue;
        const s = getComputedStyle(e); if (s.visibility === 'hidden' || !e.getClientRects().length) continue;
        const paint = e instanceof SVGElement ? s.fill : s.color;
        const a = lum(paint), b = lum(ground(e)), r = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
        if (r < 4.5) low.push(`${e.tagName} ${e.className.baseVal ?? e.className} ${e.textContent.slice(0, 20)} ${r.toFixed(2)}`);
      } return [...new Set(low)]; })()"""
    assert browser.run(script) == []


def test_it_is_readable_without_script(browser, pilot):
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.open(pilot)
        # with scripts off the page cannot be asked; its text comes from the document tree
        tree = browser.call("DOM.getDocument", depth=-1)
        html = browser.call("DOM.getOuterHTML", nodeId=tree["root"]["nodeId"])["outerHTML"]
    finally:
        browser.call("Emulation.setScriptExecutionDisabled", value=False)
    assert 'href="#ptr-P1"' in html
    assert 'id="ptr-P1"' in html


def test_hostile_text_runs_nothing_and_shows_its_control_characters(browser, hostile):
    browser.events.clear()
    browser.open(hostile)
    assert browser.run("typeof window.hacked") == "undefined"
    assert browser.run("document.querySelectorAll('img').length") == 0
    assert browser.run("document.body.textContent.includes('\\u202e')") is False
    assert browser.run("document.body.textContent.includes('⟨U+202E⟩')") is True


def test_it_prints_with_the_status_on_every_page(browser, pilot):
    browser.open(pilot)
    printed = browser.call("Page.printToPDF", preferCSSPageSize=True)["data"]
    assert len(printed) > 50_000
    browser.call("Emulation.setEmulatedMedia", media="print")
    assert browser.run("getComputedStyle(document.querySelector('nav.toc')).display") == "none"
    style = browser.run("document.querySelector('style').textContent")
    assert "smollm2-raft-pilot · retrospective, not confirmatory" in style
    browser.call("Emulation.setEmulatedMedia", media="screen")
