// Outputs of replies in a notebook's model. A CSS class does not identify chatmagic's outputs; only the
// kernel does: replies under way by their secret names, and ended replies by the digests of their HTML.
// No other outputs are changed.

import { sha256 } from "./sha256.js";

/** @typedef {import("./notebook.js").Cell} Cell */
/** @typedef {import("./notebook.js").Outputs} Outputs */

/** The note in the output of a reply under way, which this page hides while the reply arrives. */
const PARTIAL = '<p class="chatmagic-partial"><em>Not complete yet.</em></p>';
const NOTE = /<p class="chatmagic-partial">[^]*?<\/p>/;
const WAITING = /<p class="chatmagic-waiting( chatmagic-queued)?"[^>]*>[^<]*<\/p>/;
const ENDED =
  '<p class="chatmagic-partial"><em>Not complete: the kernel ended while this reply came. ' +
  "Run the cell again for a new reply.</em></p>";
const ENDED_BEFORE =
  '<p class="chatmagic-partial"><em>Not complete: the kernel ended while this question waited. ' +
  "Run the cell again to ask it.</em></p>";
const LIVE =
  /<div class="chatmagic-reply [^"]* chatmagic-live-([0-9a-f]{12})(?: chatmagic-at-(\d+))?[ "]/;
/** Number of characters of an output in which the box of a reply under way must begin. */
const HEAD = 20_000;
/** The tag with which nbstripout keeps a cell's outputs. */
const KEPT = "keep_output";

/** Return a cell's outputs in the form of a file. @param {Outputs | undefined} outputs */
function listed(outputs) {
  return Array.from({ length: outputs?.length ?? 0 }, (_, at) => outputs?.get(at).toJSON());
}

/**
 * Return the outputs that show a reply as under way, by the name in their box.
 * @param {Cell[]} cells
 */
export function liveOutputs(cells) {
  return cells.flatMap(({ outputs }) => Array.from({ length: outputs?.length ?? 0 }, (_, at) => {
    const html = String(outputs?.get(at).toJSON().data?.["text/html"] ?? "");
    const [, live = "", serial = "-1"] = html.slice(0, HEAD).match(LIVE) ?? [];
    return { outputs, at, live, serial: Number(serial) };
  })).filter(({ live }) => live);
}

/**
 * Add an output that a cell lacks because its page was reloaded. A cell that runs is left alone, as the
 * page has just removed its outputs.
 * @param {Cell[]} cells
 * @param {{cell?: string, replaces?: boolean}} place the cell, and whether its earlier replies are
 * removed
 * @param {object} output
 */
function addOutput(cells, { cell: id, replaces }, output) {
  const { outputs, executionState = "idle" } = cells.find((cell) => cell.id === id) ?? {};
  if (!outputs || executionState !== "idle") return;
  const all = listed(outputs);
  const kept = replaces ? all.filter(({ metadata }) => !metadata?.chatmagic?.owner) : all;
  if (kept.length < all.length) outputs.fromJSON(kept);
  outputs.add({ output_type: "display_data", metadata: {}, ...output });
}

/**
 * Add a box for a reply under way to its cell, if it has none.
 * @param {Cell[]} cells
 * @param {import("./messages.js").Paint} paint of the whole reply
 * @param {string} blocks
 */
export function addLiveOutput(cells, paint, blocks) {
  const { box, live } = paint;
  const own = cells.filter(({ id }) => id === paint.cell);
  if (!box || liveOutputs(own).some((output) => output.live === live)) return;
  const html = box.replace("\n</div>", () => `\n${blocks}</div>`);
  addOutput(own, paint, { data: { "text/html": html } });
}

/**
 * Set the outputs that show a reply as under way to its last state.
 * @param {Cell[]} cells
 * @param {import("./messages.js").Settled} settled
 * @returns {boolean} whether there was one
 */
export function settleOutputs(cells, { live, data, metadata }) {
  const shown = liveOutputs(cells).filter((output) => output.live === live);
  for (const { outputs, at } of shown) outputs?.set(at, { ...outputs.get(at).toJSON(), data, metadata });
  return shown.length > 0;
}

/**
 * Add the last state of a reply to its cell, unless the cell has it.
 * @param {Cell[]} cells
 * @param {import("./messages.js").Settled} settled
 */
export function addSettledOutput(cells, settled) {
  const { cell: id, data, metadata } = settled;
  if (!metadata.chatmagic) return;
  const { outputs } = cells.find((cell) => cell.id === id) ?? {};
  const record = JSON.stringify(metadata.chatmagic);
  const has = listed(outputs).some(({ metadata: other }) => JSON.stringify(other?.chatmagic) === record);
  if (has) return;
  addOutput(cells, settled, { data, metadata });
}

/**
 * Write the painted parts of replies under way into the notebook, for a save.
 * @param {Cell[]} cells
 * @param {import("./live_reply.js").Painter} painter
 */
export function saveOutputs(cells, painter) {
  for (const output of liveOutputs(cells)) {
    const blocks = painter.painted(output.live, output.serial);
    if (blocks) writeOutput(output, (head, rest) => head + withBlocks(head, rest, blocks));
  }
}

/**
 * Mark the replies under way as partial, because their kernel has ended. They keep their names: if the
 * kernel was only lost, a reloaded page gets their last states by these.
 * @param {Cell[]} cells
 * @param {import("./live_reply.js").Painter} painter
 * @param {Set<string>} lives the names of the replies
 */
export function endOutputs(cells, painter, lives) {
  for (const output of liveOutputs(cells).filter(({ live }) => lives.has(live))) {
    const blocks = painter.painted(output.live, output.serial);
    writeOutput(output, (head, rest) => {
      const named = head.replace(/ chatmagic-(live|at-\d+)(?=[" ])/g, "");
      const note = rest.match(WAITING)?.[1] ? ENDED_BEFORE : ENDED;
      const all = blocks ? withBlocks(head, rest, blocks) : rest.replace(WAITING, "");
      return named + (NOTE.test(all) ? all.replace(NOTE, note) : all + note);
    });
  }
}

/**
 * Return the HTML after the opening tag of a reply's box, with other blocks in the box.
 * @param {string} head the HTML up to there
 * @param {string} rest
 * @param {string} blocks
 */
function withBlocks(head, rest, blocks) {
  const open = head.split("<div").length - head.split("</div").length;
  const note = rest.match(NOTE)?.[0] ?? PARTIAL;
  return `\n${blocks}</div>${note}${"</div>".repeat(open - 1)}`;
}

/**
 * Change the HTML of an output that shows a reply under way.
 * @param {{outputs?: Outputs, at: number}} place
 * @param {(head: string, rest: string) => string} change returns the new HTML for the HTML up to the end
 * of the box's opening tag, and for the rest
 */
function writeOutput({ outputs, at }, change) {
  const output = outputs?.get(at).toJSON();
  const html = String(output.data["text/html"]);
  const end = html.indexOf(">", html.search(LIVE)) + 1;
  const data = { ...output.data, "text/html": change(html.slice(0, end), html.slice(end)) };
  outputs?.set(at, { ...output, data });
}

/** The outputs that the kernel knows as its own. */
export class KnownOutputs {
  constructor() {
    /** @type {Set<string>} of the HTML of replies that have ended */
    this.digests = new Set();
    /** @type {WeakMap<object, {html: string, digest: string}>} by the output */
    this.checked = new WeakMap();
  }

  /** @param {string[]} digests */
  add(digests) {
    for (const digest of digests) this.digests.add(digest);
  }

  /** Return whether an output is that of an ended reply. @param {any} output */
  has(output) {
    const { metadata, data } = output?.toJSON() ?? {};
    const html = data?.["text/html"];
    if (!metadata?.chatmagic || typeof html !== "string") return false;
    const known = this.checked.get(output);
    const digest = known?.html === html ? known.digest : sha256(html);
    this.checked.set(output, { html, digest });
    return this.digests.has(digest);
  }
}

/** Return whether an output is an error without a traceback, as in chatmagic. @param {any} output */
export function isInWords(output) {
  const { output_type: kind, ename, traceback } = output?.toJSON() ?? {};
  return kind === "error" && String(traceback?.[0]).startsWith(`${ename}: `);
}

/** Tag the cells whose outputs have a record, so that nbstripout keeps them. @param {Cell[]} cells */
export function tagKept(cells) {
  for (const cell of cells) {
    const outputs = Array.from({ length: cell.outputs?.length ?? 0 }, (_, at) => cell.outputs?.get(at));
    if (!outputs.some((output) => output?.metadata?.chatmagic)) continue;
    const tags = cell.getMetadata?.("tags") ?? [];
    // A user's own `false` stays: nbstripout would fail with both.
    if (!Array.isArray(tags) || tags.includes(KEPT) || cell.getMetadata?.(KEPT) === false) continue;
    cell.setMetadata?.("tags", [...tags, KEPT]);
  }
}
