// The gauge: what is left of the credits, counting down to their reset in the reader's own
// zone. The kernel sends figures after each request and nothing in between.

/**
 * @typedef {{words: string, level: "unknown"|"ok"|"low"|"empty", limit: ?number, left: ?number,
 *   took: ?number, resets: ?string, seen: ?string, now: string, requests: string,
 *   until: ?string}} Credits
 */

/**
 * Make an element; whatever it says is put in as text.
 * @param {string} tag
 * @param {string} [name] its class
 * @param {string} [text]
 * @param {Object<string, string>} [attributes]
 */
function make(tag, name, text, attributes) {
  const element = document.createElement(tag);
  if (name) element.className = name;
  if (text) element.textContent = text;
  for (const key in attributes || {}) element.setAttribute(key, attributes[key]);
  return element;
}

/** @param {number} ms a span of time, 0 or more */
function spanWords(ms) {
  const seconds = Math.floor(ms / 1000);
  const [days, hours] = [Math.floor(seconds / 86400), Math.floor(seconds / 3600) % 24];
  const [minutes, rest] = [Math.floor(seconds / 60) % 60, seconds % 60];
  if (days) return `${days} d ${hours} h`;
  if (hours) return `${hours} h ${minutes} min`;
  return minutes ? `${minutes} min ${String(rest).padStart(2, "0")} s` : `${rest} s`;
}

/** @param {number} when @param {number} now */
function clockWords(when, now) {
  const [date, today] = [new Date(when), new Date(now)];
  const time = date.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
  if (date.toDateString() === today.toDateString()) return time;
  const year = date.getFullYear() === today.getFullYear() ? {} : { year: "numeric" };
  return `${date.toLocaleDateString([], { day: "numeric", month: "short", ...year })}, ${time}`;
}

/** A gauge that can be given figures; it counts by itself until it is stopped. */
class Gauge {
  /** @param {boolean} large with everything, or as one line */
  constructor(large) {
    this.node = make("div", `cm-gauge ${large ? "cm-large" : ""}`, "", {
      role: "group",
      "aria-label": "Credits",
    });
    this.figure = make("div", "cm-figure");
    this.bar = make("div", "cm-bar", "", { "aria-hidden": "true" });
    this.fill = this.bar.appendChild(make("div", "cm-fill"));
    this.words = make("span", "cm-words", "credits unknown");
    this.reset = make("span", "cm-reset");
    this.requests = make("span", "cm-requests");
    this.details = make("div", "cm-details");
    if (large) this.node.append(this.figure);
    this.node.append(this.bar, this.words, this.reset, this.requests);
    if (large) this.node.append(this.details);
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
    this.credits = credits;
    this.since = performance.now();
    this.node.dataset.level = credits.level;
    const share =
      credits.limit === null || credits.left === null
        ? null
        : credits.limit && Math.min(credits.left / credits.limit, 1);
    this.bar.hidden = share === null;
    // Never empty while anything is left.
    this.fill.style.width = share ? `max(2px, ${share * 100}%)` : "0";
    const unit = credits.left === 1 ? "credit" : "credits";
    this.figure.textContent =
      credits.left === null ? "Credits left: unknown" : `${credits.left.toLocaleString()} ${unit} left`;
    this.words.textContent = credits.words;
    this.count();
  }

  count() {
    const credits = this.credits;
    if (!credits) return;
    // The service's clock, as the kernel tells it, moved on by the page's.
    const now = Date.parse(credits.now) + (performance.now() - this.since);
    const resets = credits.resets === null ? NaN : Date.parse(credits.resets);
    const left = resets - now;
    let reset = "reset unknown";
    if (left > 0) reset = `resets in ${spanWords(left)} (${clockWords(resets, now)})`;
    else if (left <= 0) reset = "reset since; the next reply tells";
    this.reset.textContent = reset;
    // A window that has ended says nothing of the next one.
    const over = credits.until !== null && Date.parse(credits.until) <= now;
    this.requests.textContent = over ? "" : credits.requests;
    const details = [];
    if (credits.took !== null) details.push(`The last turn took about ${credits.took.toLocaleString()}.`);
    if (credits.seen !== null) {
      const seen = Date.parse(credits.seen);
      const age = now - seen;
      const old = age >= 60000 ? `, ${spanWords(age).replace(/ \d\d s$/, "")} ago` : "";
      details.push(`As of ${clockWords(seen, now)}${old}.`);
    } else details.push("No answer has told them yet.");
    this.details.textContent = details.join(" ");
    this.node.title = [credits.words, reset, ...details].join(" · ");
  }
}

/** The live gauge alone, as a widget. */
function renderGauge({ model, el }) {
  el.classList.add("chatmagic-live", "chatmagic-live-gauge");
  const gauge = new Gauge(true);
  el.append(gauge.node);
  const hear = (message) => {
    if (message.kind === "credits") gauge.show(message.credits);
  };
  model.on("msg:custom", hear);
  model.send({ kind: "hello" });
  const ping = setTimeout(() => model.send({ kind: "ping" }), 1000);
  return () => {
    clearTimeout(ping);
    gauge.stop();
    model.off("msg:custom", hear);
  };
}
