// The gauge: the credits left, with the time until their reset, in the user's own time zone. The kernel
// sends figures only after each request.

import { make } from "./dom.js";

/** @typedef {import("./messages.js").Credits} Credits */

/** Return a number of credits in words. @param {number} count */
export function creditWords(count) {
  return `${count.toLocaleString()} ${count === 1 ? "credit" : "credits"}`;
}

/** Return a span of time in words. @param {number} ms 0 or more */
export function spanWords(ms) {
  const seconds = Math.floor(ms / 1000);
  const days = Math.floor(seconds / 86400);
  const hours = Math.floor(seconds / 3600) % 24;
  const minutes = Math.floor(seconds / 60) % 60;
  const rest = seconds % 60;
  if (days) return `${days} d ${hours} h`;
  if (hours) return `${hours} h ${minutes} min`;
  return minutes ? `${minutes} min ${String(rest).padStart(2, "0")} s` : `${rest} s`;
}

/**
 * Return a time in words, with the date if that is not today.
 * @param {number} when
 * @param {number} now
 */
export function clockWords(when, now) {
  const date = new Date(when);
  const today = new Date(now);
  const time = date.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
  if (date.toDateString() === today.toDateString()) return time;
  /** @type {Intl.DateTimeFormatOptions} */
  const year = date.getFullYear() === today.getFullYear() ? {} : { year: "numeric" };
  return `${date.toLocaleDateString([], { day: "numeric", month: "short", ...year })}, ${time}`;
}

/**
 * Return the words of the gauge beside the bar.
 * @param {Credits} credits
 * @param {number} now by the service's clock
 */
export function gaugeWords(credits, now) {
  const resets = Date.parse(credits.resets ?? "");
  // An answer that tells no credits tells no reset of theirs.
  let reset = credits.limit === null && credits.left === null ? "" : "reset unknown";
  if (resets > now) reset = `resets in ${spanWords(resets - now)} (${clockWords(resets, now)})`;
  else if (resets <= now) reset = "reset since; the next reply shows it";
  const details = [];
  if (credits.seen !== null) {
    const seen = Date.parse(credits.seen);
    const minutes = spanWords(now - seen).replace(/ \d\d s$/, "");
    const age = now - seen >= 60000 ? `, ${minutes} ago` : "";
    details.push(`As of ${clockWords(seen, now)}${age}.`);
  }
  if (credits.took !== null) {
    details.unshift(`The last turn cost about ${creditWords(credits.took)}.`);
  }
  // A window of requests that has ended says nothing about the next one.
  const over = credits.until !== null && Date.parse(credits.until) <= now;
  return { reset, details, requests: over ? "" : credits.requests };
}

/** Gauge that shows the latest figures; it counts by itself until it is stopped. */
export class Gauge {
  constructor() {
    this.fill = make("div", "cm-fill");
    this.bar = make("div", "cm-bar", [this.fill], { "aria-hidden": "true" });
    this.words = make("span", "cm-words");
    this.reset = make("span", "cm-reset");
    this.requests = make("span", "cm-requests");
    const parts = [this.bar, this.words, this.reset, this.requests];
    this.node = make("div", "cm-gauge", parts, { role: "group", "aria-label": "Credits" });
    this.node.hidden = true;
    /** @type {?Credits} */
    this.credits = null;
    this.since = 0;
    this.timer = setInterval(() => this.count(), 1000);
  }

  stop() {
    clearInterval(this.timer);
  }

  /** @param {Credits} credits */
  show(credits) {
    const { limit, left } = credits;
    this.credits = credits;
    this.since = performance.now();
    this.node.dataset.level = credits.level;
    this.bar.hidden = limit === null || left === null;
    const share = limit && left ? Math.min(left / limit, 1) : 0;
    // Never empty while anything is left.
    this.fill.style.width = share ? `max(2px, ${share * 100}%)` : "0";
    this.words.textContent = credits.words;
    this.count();
  }

  count() {
    if (!this.credits) return;
    // The service's clock, as the kernel reports it, advanced by the page's.
    const now = Date.parse(this.credits.now) + (performance.now() - this.since);
    const { reset, requests, details } = gaugeWords(this.credits, now);
    this.reset.textContent = reset;
    this.requests.textContent = requests;
    this.node.hidden = !this.credits.words && !requests;
    this.node.title = [this.credits.words, reset, ...details].filter(Boolean).join(" · ");
  }
}
