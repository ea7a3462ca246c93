// @ts-check
// The page's end of the bridge (its other end is chatmagic/bridge.py): it tells the kernel
// the cells of this notebook from top to bottom, shows prompts as prose, marks cells as the
// kernel says, and speaks through one status region. It reads what JupyterLab and Notebook 7 do not
// promise: where something is missing, it does without, in silence.

/**
 * @typedef {{connect(slot: Function): void, disconnect(slot: Function): void}} Signal
 * @typedef {{length: number, get(index: number): {metadata?: Record<string, any>}}} Outputs
 * @typedef {object} Cell
 * @property {string} id
 * @property {string} type
 * @property {string} mimeType
 * @property {Outputs} [outputs]
 * @property {{getSource(): string}} sharedModel
 * @property {Signal} contentChanged
 * @property {Signal} mimeTypeChanged
 * @typedef {{length: number, get(index: number): Cell, changed: Signal}} Cells
 * @typedef {object} Context
 * @property {{cells: Cells}} model
 * @property {string} path
 * @property {string} [localPath]
 * @property {{session?: {id: string}, kernelChanged?: Signal}} [sessionContext]
 * @property {Signal} disposed
 * @typedef {object} Model
 * @property {{context?: Context}} [widget_manager]
 * @property {(name: string, listener: Function) => void} on
 * @property {(name: string, listener: Function) => void} off
 * @property {(content: object) => void} send
 * @property {(name: string) => string} get
 */

const PROSE = "text/x-ipythongfm";
const CHAT = /^(?:[ \t]*\n)*%%chat(?:_instructions)?(?!\w)/;
const STATUS = "chatmagic-status";
const MARK = "chatmagic-mark";
const TITLED_MS = 300;
const READ_MS = 200;
const BRIDGE = Symbol.for("chatmagic.bridge");
const PANELS = Symbol.for("chatmagic.panels");

const MARK_STYLE =
  "grid-column: 1 / -1; margin: 2px 0 2px calc(var(--jp-cell-prompt-width, 64px) + 11px); " +
  "padding-inline-start: 8px; border-inline-start: 3px double currentColor; " +
  "font-family: var(--jp-ui-font-family); font-size: var(--jp-ui-font-size1, 13px); " +
  "color: var(--jp-ui-font-color1, inherit);";
const UNSEEN =
  "position: absolute; width: 1px; height: 1px; margin: -1px; overflow: hidden; " +
  "clip-path: inset(50%); white-space: nowrap;";

/**
 * Give the page's one status region, which is there before it speaks.
 * @returns {HTMLElement}
 */
function statusRegion() {
  const found = document.getElementById(STATUS);
  if (found) return found;
  const region = document.createElement("div");
  region.id = STATUS;
  region.setAttribute("role", "status");
  region.setAttribute("aria-live", "polite");
  region.style.cssText = UNSEEN;
  document.body.append(region);
  return region;
}

/**
 * Give the panels that show a notebook. A tab of JupyterLab says in its title which file
 * it shows and in its data which panel; Notebook 7 has one panel and no tabs.
 * @param {Context} context
 * @returns {Element[]}
 */
function panels(context) {
  const path = context.localPath ?? context.path;
  const all = Array.from(document.querySelectorAll(".jp-NotebookPanel"));
  const shown = new Set();
  for (const tab of document.querySelectorAll(".lm-TabBar-tab[data-id]")) {
    const lines = /** @type {HTMLElement} */ (tab).title.split("\n");
    if (lines.some((line) => line === path || line.endsWith(` ${path}`))) {
      shown.add(/** @type {HTMLElement} */ (tab).dataset.id);
    }
  }
  const own = all.filter((panel) => shown.has(panel.id));
  return own.length || all.length > 1 ? own : all;
}

/**
 * Put the mark into a cell, or take it away.
 * @param {Element} node
 * @param {string} [words]
 */
function mark(node, words) {
  const found = node.querySelector(`:scope > .${MARK}`);
  if (found?.textContent === words) return;
  found?.remove();
  if (words) {
    const note = document.createElement("div");
    note.className = MARK;
    note.setAttribute("role", "note");
    note.style.cssText = MARK_STYLE;
    note.textContent = words;
    node.insertBefore(note, node.querySelector(":scope > .jp-Cell-outputWrapper"));
  }
}

/** One notebook of the page, with one kernel. */
class Notebook {
  /**
   * @param {Model} model
   * @param {Context} context
   */
  constructor(model, context) {
    this.model = model;
    this.context = context;
    this.cells = context.model.cells;
    this.page = Math.random().toString(36).slice(2);
    /** @type {Map<string, string>} */
    this.marks = new Map();
    /** @type {Map<Cell, {mimeType: string | null, look: () => void}>} */
    this.watched = new Map();
    this.pending = false;
    this.stopped = false;
    this.observer = new MutationObserver(() => this.draw());
    // A new view of the notebook; its tab gets its title a moment later.
    this.views = new MutationObserver(() => setTimeout(() => this.draw(), TITLED_MS));
    this.changed = () => this.soon();
    this.stop = this.stop.bind(this);
    this.heard = this.heard.bind(this);
    this.cells.changed.connect(this.changed);
    context.disposed?.connect(this.stop);
    model.on("msg:custom", this.heard);
    // The kernel is not the one any more that said what is shown here.
    model.on("comm_live_update", this.stop);
    context.sessionContext?.kernelChanged?.connect(this.stop);
    this.saySoon(statusRegion());
    this.dress();
    this.tell(true);
  }

  /**
   * Say what was to be said before there was a bridge: a region that comes with its words is
   * not read out.
   * @param {HTMLElement} region
   */
  saySoon(region) {
    const before = region.textContent;
    setTimeout(() => {
      const words = this.model.get("first");
      if (words && !this.stopped && region.textContent === before) region.textContent = words;
    }, READ_MS);
  }

  /** Several changes at once are one; they are told before anything else can be run. */
  soon() {
    if (this.pending) return;
    this.pending = true;
    queueMicrotask(() => {
      this.pending = false;
      if (this.stopped) return;
      this.dress();
      this.tell(false);
      this.draw();
    });
  }

  /** @param {boolean} opened */
  tell(opened) {
    const cells = this.list().map((cell) => {
      const { outputs } = cell;
      const record = outputs?.length ? outputs.get(outputs.length - 1).metadata?.chatmagic : null;
      return [cell.id, cell.type === "code", record?.owner ?? null];
    });
    const { path, sessionContext } = this.context;
    const notebook = sessionContext?.session?.id ?? path;
    const name = path.split("/").pop();
    try {
      this.model.send({ kind: "cells", page: this.page, notebook, name, opened, cells });
    } catch {
      this.stop(); // the kernel is gone
    }
  }

  /** @returns {Cell[]} */
  list() {
    return Array.from({ length: this.cells.length }, (_, index) => this.cells.get(index));
  }

  /** Show the prompts as prose, and look again whenever a cell is edited. */
  dress() {
    const now = new Set(this.list());
    for (const cell of this.watched.keys()) if (!now.has(cell)) this.watched.delete(cell);
    for (const cell of now) {
      if (cell.type !== "code" || this.watched.has(cell)) continue;
      const look = () => this.look(cell);
      this.watched.set(cell, { mimeType: null, look });
      cell.contentChanged.connect(look);
      cell.mimeTypeChanged.connect(look);
      look();
    }
  }

  /** @param {Cell} cell */
  look(cell) {
    const watched = this.watched.get(cell);
    if (!watched) return;
    const asks = CHAT.test(cell.sharedModel.getSource());
    if (asks && cell.mimeType !== PROSE) {
      watched.mimeType = cell.mimeType;
      cell.mimeType = PROSE;
    } else if (!asks && watched.mimeType !== null) {
      const before = watched.mimeType;
      watched.mimeType = null;
      if (cell.mimeType === PROSE) cell.mimeType = before;
    }
  }

  /** Put the marks where they belong; cells come and go as somebody scrolls. */
  draw() {
    if (this.stopped) return;
    for (const panel of panels(this.context)) {
      const area = panel.querySelector(".jp-WindowedPanel-viewport") ?? panel;
      this.observer.observe(area, { childList: true });
      if (panel.parentElement) this.views.observe(panel.parentElement, { childList: true });
      panel.querySelectorAll(".jp-Notebook-cell").forEach((node, place) => {
        const index = Number(/** @type {HTMLElement} */ (node).dataset.windowedListIndex ?? place);
        const cell = index < this.cells.length ? this.cells.get(index) : null;
        mark(node, cell ? this.marks.get(cell.id) : undefined);
      });
    }
  }

  /** @param {{kind?: string, marks?: Record<string, string>, text?: string, first?: boolean}} content */
  heard(content) {
    if (content.kind === "marks") {
      this.marks = new Map(Object.entries(content.marks ?? {}));
    } else if (content.kind === "say" && !(content.first && this.hasPanel())) {
      statusRegion().textContent = String(content.text);
    } else if (content.kind === "tell") {
      this.tell(false);
    }
    this.draw();
  }

  /** @returns {boolean} whether the notebook has a panel, which speaks where no bridge does */
  hasPanel() {
    return Boolean(/** @type {any} */ (this.context.model)[PANELS]?.size);
  }

  /** Leave the page as it was. */
  stop() {
    if (this.stopped) return;
    this.stopped = true;
    this.model.off("msg:custom", this.heard);
    this.model.off("comm_live_update", this.stop);
    this.cells.changed.disconnect(this.changed);
    this.context.disposed?.disconnect(this.stop);
    this.context.sessionContext?.kernelChanged?.disconnect(this.stop);
    this.observer.disconnect();
    this.views.disconnect();
    this.marks = new Map();
    for (const panel of panels(this.context)) {
      panel.querySelectorAll(".jp-Notebook-cell").forEach((node) => mark(node));
    }
    for (const [cell, { mimeType, look }] of this.watched) {
      cell.contentChanged.disconnect(look);
      cell.mimeTypeChanged.disconnect(look);
      if (mimeType !== null && cell.mimeType === PROSE) cell.mimeType = mimeType;
    }
    this.watched.clear();
  }
}

export default {
  /** @param {{model: Model}} given */
  initialize({ model }) {
    const context = model.widget_manager?.context;
    const held = /** @type {any} */ (context?.model);
    if (!context || !held?.cells?.changed) return undefined;
    // One bridge a notebook: a kernel that ended without a word has left its own behind.
    held[BRIDGE]?.stop();
    const notebook = new Notebook(model, context);
    held[BRIDGE] = notebook;
    return notebook.stop;
  },
};
