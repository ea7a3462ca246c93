// The words of the gauge, by the service's clock.

import assert from "node:assert/strict";
import { test } from "node:test";

import { samples } from "./browser.js";
import { Gauge, gaugeWords, spanWords } from "../../chatmagic/jupyter/labextensions/chatmagic/page/gauge.js";

const KNOWN = samples("to the panel")[0].credits;
const EMPTY = { ...KNOWN, words: "0 of 100 credits left", left: 0, level: "empty" };
const UNKNOWN = samples("to the panel").at(-1).credits;
const NOON = Date.parse("2026-01-01T12:00:00Z");

test("spans have at most two units", () => {
  const spans = { 0: "0 s", 59_999: "59 s", 61_000: "1 min 01 s", 3_600_000: "1 h 0 min", 90_000_000: "1 d 1 h" };
  for (const [ms, words] of Object.entries(spans)) assert.equal(spanWords(Number(ms)), words);
});

test("it counts down to the reset, and then says that it is over", () => {
  assert.match(gaugeWords(KNOWN, NOON).reset, /^resets in 12 h 0 min \(/);
  assert.equal(gaugeWords(KNOWN, NOON + 12 * 3_600_000).reset, "reset since; the next reply shows it");
  assert.equal(gaugeWords({ ...KNOWN, resets: null }, NOON).reset, "reset unknown");
  assert.equal(gaugeWords(UNKNOWN, NOON).reset, "");
});

test("a date of another year shows it, by the service's clock and not by this one", () => {
  const gauge = new Gauge();
  gauge.show({ ...KNOWN, now: "2024-12-30T12:00:00Z", resets: "2025-01-02T12:00:00Z" });
  assert.match(gauge.reset.textContent, /2025/);
  gauge.show({ ...KNOWN, now: "2024-12-10T12:00:00Z", resets: "2024-12-15T12:00:00Z" });
  assert.match(gauge.reset.textContent, /15/);
  assert.doesNotMatch(gauge.reset.textContent, /2024/);
});

test("it says how old the figures are, and what the last turn took", () => {
  const details = gaugeWords(KNOWN, NOON + 3 * 60_000).details;
  assert.equal(details[0], "The last turn cost about 1 credit.");
  assert.match(details[1], /^As of .*, 3 min ago\.$/);
  assert.doesNotMatch(gaugeWords(KNOWN, NOON + 59_000).details[1], /ago/);
  assert.deepEqual(gaugeWords(UNKNOWN, NOON).details, []);
});

test("requests are shown until their window ends", () => {
  assert.match(gaugeWords(UNKNOWN, NOON).requests, /^93 of 100/);
  assert.equal(gaugeWords(UNKNOWN, NOON + 30_000).requests, "");
});

test("the bar is never empty while anything is left, and absent where nothing is known", () => {
  const gauge = new Gauge();
  gauge.show({ ...KNOWN, left: 1, limit: 1_000_000 });
  assert.match(gauge.fill.style.width, /^max\(2px, /);
  gauge.show(EMPTY);
  assert.equal(gauge.fill.style.width, "0");
  assert.equal(gauge.node.dataset.level, "empty");
  assert.equal(gauge.bar.hidden, false);
  gauge.show(UNKNOWN);
  assert.equal(gauge.bar.hidden, true);
  assert.equal(gauge.words.textContent, "");
  assert.equal(gauge.node.hidden, false, "it has the requests that are left");
  gauge.show({ ...UNKNOWN, requests: "" });
  assert.equal(gauge.node.hidden, true);
});
