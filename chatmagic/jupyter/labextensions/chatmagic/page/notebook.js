// What the panel reads of the front end around it: cells, a typesetter, an interrupt. None of it
// is a public interface of JupyterLab or Notebook 7: where it is missing, each function says so.

import { make } from "./dom.js";

/**
 * @typedef {{connect(slot: Function): void, disconnect(slot: Function): void}} Signal
 * @typedef {{metadata?: Record<string, any>, toJSON(): any}} Output
 * @typedef {{length: number, get(index: number): Output, add(output: object): void,
 *   set(index: number, output: object): void, fromJSON(outputs: object[]): void}} Outputs
 * @typedef {{id: string, type: string, mimeType: string, outputs?: Outputs,
 *   executionState?: string, executionCount?: ?number, getMetadata?: (key: string) => any,
 *   setMetadata?: (key: string, value: any) => void, deleteMetadata?: (key: string) => void, sharedModel: {getSource(): string},
 *   contentChanged: Signal, mimeTypeChanged: Signal}} Cell
 * @typedef {{length: number, get(index: number): Cell, changed: Signal}} Cells
 * @typedef {{insertCell(index: number, cell: object): void, deleteCell(index: number): void,
 *   transact?: (change: () => void) => void, undoManager?: {stopCapturing(): void}}} SharedModel
 * @typedef {{cells: Cells, sharedModel: SharedModel} & Record<symbol, any>} NotebookModel
 * @typedef {object} Context
 * @property {NotebookModel} model
 * @property {string} path
 * @property {string} [localPath]
 * @property {{session?: {id: string, kernel?: Kernel}, kernelChanged?: Signal,
 *   statusChanged?: Signal}} [sessionContext]
 * @property {Signal} [disposed]
 * @property {Signal} [saveState]
 * @typedef {object} Comm
 * @property {string} commId
 * @property {(data?: object) => void} open
 * @property {(data: object) => void} send
 * @property {Promise<void>} [subshellStarted]
 * @typedef {object} Kernel
 * @property {string} [status]
 * @property {boolean} [handleComms]
 * @property {Signal} [iopubMessage]
 * @property {() => void} [interrupt]
 * @property {(id: string) => boolean} [hasComm]
 * @property {(target: string, id?: string) => Comm} [createComm]
 * @property {(target: string, open: (comm: Comm, message: {content: any}) => void) => void}
 *   [registerCommTarget]
 * @property {(content: object) => Promise<{content: any}>} [requestCommInfo]
 * @typedef {object} WidgetManager
 * @property {Context} [context]
 * @property {Kernel} [kernel]
 * @property {{latexTypesetter?: {typeset(node: Element): void}}} [rendermime]
 * @typedef {object} Host a widget of a notebook, or its bridge
 * @property {WidgetManager} [widget_manager]
 */

/**
 * @typedef {object} Model a widget's
 * @property {WidgetManager} [widget_manager]
 * @property {(name: string, listener: (content: any) => void) => void} on
 * @property {(name: string, listener: (content: any) => void) => void} off
 * @property {(content: object) => void} send
 * @property {(name: string) => any} get
 * @property {(name: string, value: any) => void} set
 * @property {() => void} save_changes
 */

export const BRIDGE = Symbol.for("chatmagic.bridge");
const WAITING = /<p class="chatmagic-waiting"[^>]*>[^<]*<\/p>/;
const PARTIAL = "<p><em>Not complete: the kernel ended while this reply came. Run the cell again to ask anew.</em></p>";
const SAVED = '<p class="chatmagic-partial"><em>Not complete: the notebook was saved while this reply came.</em></p>';
/** The tag by which nbstripout leaves a cell's outputs. */
const KEPT = "keep_output";
/** The characters of an output behind which no box of a reply under way begins. */
const HEAD = 20_000;
const PANELS = Symbol.for("chatmagic.panels");
const DRAFT = Symbol.for("chatmagic.draft");

/** @param {Host} model @returns {NotebookModel | null} null where cells cannot be made */
export function notebookModel(model) {
  const notebook = model.widget_manager?.context?.model;
  const known = notebook?.cells && typeof notebook.sharedModel?.insertCell === "function";
  return known ? notebook : null;
}

/** Whether the bridge announces the replies to cells. @param {Host} model */
export function bridgeSpeaks(model) {
  const bridge = notebookModel(model)?.[BRIDGE];
  return Boolean(bridge && !bridge.stopped);
}

/** Return the views of panels in this notebook, the oldest first. @param {Host} model */
export function panelViews(model) {
  /** @type {Record<symbol, any>} */
  const notebook = notebookModel(model) ?? {};
  return /** @type {Set<object>} */ (notebook[PANELS] ??= new Set());
}

/**
 * Keep what was typed in a panel without a kernel for the next panel of this notebook.
 * @param {Host} model
 * @param {string} text
 */
export function keepLostDraft(model, text) {
  const notebook = notebookModel(model);
  if (notebook) notebook[DRAFT] = text;
}

/** Return what was kept so, once. @param {Host} model @returns {string} */
export function takeLostDraft(model) {
  const notebook = notebookModel(model);
  const text = notebook?.[DRAFT] ?? "";
  if (notebook) delete notebook[DRAFT];
  return text;
}

/** Return cells from top to bottom. @param {Cells | undefined} cells @returns {Cell[]} */
export function cellList(cells) {
  return cells ? Array.from({ length: cells.length }, (_, index) => cells.get(index)) : [];
}

/**
 * Return the outputs that show a reply as under way, by the name that their box has for it.
 * @param {Cell[]} cells
 */
export function liveOutputs(cells) {
  return cells.flatMap(({ outputs }) => Array.from({ length: outputs?.length ?? 0 }, (_, at) => {
    const html = String(outputs?.get(at).toJSON().data?.["text/html"] ?? "");
    const [, live = "", serial = "-1"] = html.slice(0, HEAD).match(/<div class="chatmagic-reply [^"]* chatmagic-live-([0-9a-f]{12})(?: chatmagic-at-(\d+))?[ "]/) ?? [];
    return { outputs, at, live, serial: Number(serial) };
  })).filter(({ live }) => live);
}

/**
 * Give a cell an output that it lacks, as its page was loaded again since it ran.
 * @param {Cell[]} cells
 * @param {{cell?: string, replaces?: boolean}} place the cell, and whether the replies that it
 *   showed before go
 * @param {object} output
 */
function addOutput(cells, { cell: id, replaces }, output) {
  const outputs = cells.find((cell) => cell.id === id)?.outputs;
  if (!outputs) return;
  const all = Array.from({ length: outputs.length }, (_, at) => outputs.get(at).toJSON());
  const kept = replaces ? all.filter(({ metadata }) => !metadata?.chatmagic?.owner) : all;
  if (kept.length < all.length) outputs.fromJSON(kept);
  outputs.add({ output_type: "display_data", metadata: {}, ...output });
}

/**
 * Give the cell of a reply under way a box for it, where it has none.
 * @param {Cell[]} cells
 * @param {import("./messages.js").Paint} paint of all that is shown
 * @param {string} blocks
 */
export function addLiveOutput(cells, paint, blocks) {
  const { box, live } = paint;
  const own = cells.filter(({ id }) => id === paint.cell);
  if (!box || liveOutputs(own).some((each) => each.live === live)) return;
  const html = box.replace("\n</div>", () => `\n${blocks}</div>`);
  addOutput(own, paint, { data: { "text/html": html } });
}

/**
 * Bring the outputs that show a reply as under way to its last state, or give its cell one.
 * @param {Cell[]} cells
 * @param {import("./messages.js").Settled} settled
 */
export function settleOutputs(cells, settled) {
  const { live, cell: id, data, metadata } = settled;
  const shown = liveOutputs(cells).filter((each) => each.live === live);
  for (const { outputs, at } of shown) outputs?.set(at, { ...outputs.get(at).toJSON(), data, metadata });
  if (shown.length || !metadata.chatmagic) return;
  const { outputs } = cells.find((cell) => cell.id === id) ?? {};
  const record = JSON.stringify(metadata.chatmagic);
  const has = Array.from({ length: outputs?.length ?? 0 }, (_, at) => outputs?.get(at).toJSON().metadata);
  if (has.some((other) => JSON.stringify(other?.chatmagic) === record)) return;
  addOutput(cells, settled, { data, metadata });
}

/**
 * Write what was painted of a reply under way into the notebook, for a save.
 * @param {Cell[]} cells
 * @param {import("./paint.js").Painter} painter
 */
export function saveOutputs(cells, painter) {
  for (const each of liveOutputs(cells).filter(({ live }) => live === painter.live)) {
    writeOutput(each, painter.painted(each.live, each.serial), SAVED, (classes) => classes);
  }
}

/**
 * Leave what came of the replies under way as partial: their kernel has ended. They keep their
 * names, by which a page that is loaded again has the last state where a kernel was only lost.
 * @param {Cell[]} cells
 * @param {import("./paint.js").Painter} painter
 */
export function endOutputs(cells, painter) {
  for (const each of liveOutputs(cells)) {
    if (String(each.outputs?.get(each.at).toJSON().data["text/html"]).endsWith(PARTIAL)) continue;
    const ended = (/** @type {string} */ head) => head.replace(/ chatmagic-(live|at-\d+)(?=[" ])/g, "");
    writeOutput(each, painter.painted(each.live, each.serial), PARTIAL, ended);
  }
}

/**
 * Write a reply under way into its output, with a note behind it.
 * @param {{outputs?: Outputs, at: number}} place
 * @param {string} blocks all that came of it; empty leaves what the output holds
 * @param {string} note
 * @param {(box: string) => string} mark changes the tag of the reply's box
 */
function writeOutput({ outputs, at }, blocks, note, mark) {
  const output = outputs?.get(at).toJSON();
  const html = String(output.data["text/html"]).replace(SAVED, "");
  const begin = html.indexOf('<div class="chatmagic-reply ');
  const end = html.indexOf(">", begin) + 1;
  const head = html.slice(0, begin) + mark(html.slice(begin, end));
  const open = head.split("<div").length - head.split("</div").length;
  const rest = blocks ? `\n${blocks}${"</div>".repeat(open)}` : html.slice(end).replace(WAITING, "");
  outputs?.set(at, { ...output, data: { "text/html": head + rest + note } });
}

/** Tag the cells whose outputs have a record, so that nbstripout leaves them. @param {Cell[]} cells */
export function tagKept(cells) {
  for (const cell of cells) {
    const outputs = Array.from({ length: cell.outputs?.length ?? 0 }, (_, at) => cell.outputs?.get(at));
    if (!outputs.some((output) => output?.metadata?.chatmagic)) continue;
    const tags = cell.getMetadata?.("tags") ?? [];
    // Whoever has said no there is heard: with the tag, too, nbstripout would fail.
    if (!Array.isArray(tags) || tags.includes(KEPT) || cell.getMetadata?.(KEPT) === false) continue;
    cell.setMetadata?.("tags", [...tags, KEPT]);
  }
}

/** Return the cells' ids from top to bottom. @param {Host} model */
export function cellIds(model) {
  return cellList(notebookModel(model)?.cells).map((cell) => cell.id);
}

/**
 * Return the index of the cell that shows an element; the last cell's where none of them does.
 * @param {Host} model
 * @param {Element} element
 */
export function cellIndex(model, element) {
  const last = cellIds(model).length - 1;
  const cell = element.closest(".jp-Notebook .jp-Cell");
  const all = Array.from(cell?.closest(".jp-Notebook")?.querySelectorAll(".jp-Cell") ?? []);
  const place = cell && all.length - 1 === last ? all.indexOf(cell) : last;
  return cell ? shownIndex(cell, place) : last;
}

/**
 * Return the index of a cell's node; only some cells have a node where a notebook is windowed.
 * @param {Element} node
 * @param {number} place the node's, among those that are there
 */
export function shownIndex(node, place) {
  return Number(/** @type {HTMLElement} */ (node).dataset.windowedListIndex ?? place);
}

/**
 * Insert a cell.
 * @param {Host} model
 * @param {number} index
 * @param {object} cell as a notebook file has it
 * @returns {?string} its id, or null where the front end does not allow it
 */
export function insertCell(model, index, cell) {
  const notebook = notebookModel(model);
  try {
    notebook?.sharedModel.insertCell(index, cell);
    return notebook?.cells.get(index).id ?? null;
  } catch {
    return null;
  }
}

/**
 * Scroll a cell into view, once it is drawn.
 * @param {Element} element in the cell that shows the panel; a view beside the notebook has none
 * @param {number} index the cell's
 */
export function scrollToCell(element, index) {
  const shown = document.querySelectorAll(".jp-NotebookPanel:not(.lm-mod-hidden) .jp-Notebook");
  const notebook = element.closest(".jp-Notebook") ?? (shown.length === 1 ? shown[0] : null);
  const scroll = () => {
    const cells = Array.from(notebook?.querySelectorAll(".jp-Notebook-cell") ?? []);
    const cell = cells.find((node, place) => shownIndex(node, place) === index);
    cell?.scrollIntoView({ block: "nearest" });
  };
  // One frame for the notebook to put it in, and one to lay it out.
  requestAnimationFrame(() => requestAnimationFrame(scroll));
}

/**
 * Typeset the formulas of the replies in a node, and nothing else of it.
 * @param {Host} model
 * @param {Element} node
 */
export function typeset(model, node) {
  const typesetter = model.widget_manager?.rendermime?.latexTypesetter;
  for (const reply of node.querySelectorAll(".cm-reply:has(.mathjax_process)")) {
    typesetter?.typeset(reply);
  }
}

/** @param {string} text @returns {Promise<boolean>} whether it is on the clipboard */
export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Pages that are not served securely have the old way only.
    const area = make("textarea", "", "", { "aria-hidden": "true", style: "position: fixed" });
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}

/** @param {Host} model @returns {boolean} whether the kernel was told to interrupt what runs */
export function interruptKernel(model) {
  const kernel = model.widget_manager?.kernel;
  kernel?.interrupt?.();
  return Boolean(kernel?.interrupt);
}

/**
 * Bring the output that is saved beside the widget up to date, in the notebook's model.
 * @param {Host} model
 * @param {Element} element the widget's
 * @param {Record<string, string>} data
 */
export function saveOutput(model, element, data) {
  const notebook = element.closest(".jp-Cell") && notebookModel(model);
  const outputs = notebook?.cells.get(cellIndex(model, element)).outputs;
  for (let index = 0; outputs && index < outputs.length; index++) {
    const output = outputs.get(index).toJSON();
    const html = String(output.data?.["text/html"] ?? "");
    if (html.includes("chatmagic-saved")) outputs.set(index, { ...output, data });
  }
}
