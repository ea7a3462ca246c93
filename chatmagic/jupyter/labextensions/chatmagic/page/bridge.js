// The page's part of the bridge (the kernel's part is chatmagic/jupyter/page/bridge.py). It reports the
// cells of this notebook from top to bottom to the kernel, shows prompts as prose, marks cells for the
// kernel, and announces events in one status region. It uses private interfaces of JupyterLab 4 and
// Notebook 7. If one is missing, its feature is left out without a message.

import { WITH_TOOLS, addToolsIn, copyWords, newCodeCell, placeCode, removeToolsIn } from "./code.js";
import { statusRegion } from "./dom.js";
import { BRIDGE, cellList, cellNodes, notebookId } from "./notebook.js";
import {
  KnownOutputs, addLiveOutput, endOutputs, isInWords, liveOutputs, saveOutputs, settleOutputs, tagKept,
} from "./outputs.js";
import { Painter } from "./live_reply.js";
import { PromptStyle, mark, noteAsking, noteBelow, runCells, runWords } from "./marks.js";

/** @typedef {import("./notebook.js").Cell} Cell */
/** @typedef {import("./notebook.js").Context} Context */
/** @typedef {import("./comm.js").KernelLink} KernelLink */

/** Milliseconds until the tab of a new view has its title: on a fast and on a slow machine. */
const TITLED_MS = [300, 3000];
/** The states of a kernel that has ended. */
const ENDED = new Set(["restarting", "autorestarting", "dead", "terminating"]);
/** Milliseconds until a reply has its last state, unless the page was reloaded meanwhile. */
const SETTLED_MS = 5000;
/** Milliseconds without a keystroke before an edited Markdown cell is reported. */
const EDITED_MS = 500;

const ERROR = "cm-error";
const STDERR = '[data-mime-type="application/vnd.jupyter.stderr"]';

/** @type {Set<Bridge>} the open bridges of this page, the oldest first */
const BRIDGES = new Set();

/** Announce the outcome of a button. @param {{words: string}} outcome */
function announce({ words }) {
  statusRegion().textContent = words;
}

/**
 * Return the panels of the page that show a notebook. A tab of JupyterLab has the file in its
 * title and the panel in its data; Notebook 7 has one panel and no tabs.
 * @param {Context} context
 */
function notebookPanels(context) {
  const path = context.localPath ?? context.path;
  const all = Array.from(document.querySelectorAll(".jp-NotebookPanel"));
  /** @type {NodeListOf<HTMLElement>} */
  const tabs = document.querySelectorAll(".lm-TabBar-tab[data-id]");
  const shows = (/** @type {string} */ line) => line === path || line.endsWith(` ${path}`);
  const own = Array.from(tabs).filter((tab) => tab.title.split("\n").some(shows));
  const ids = new Set(own.map((tab) => tab.dataset.id));
  const shown = all.filter((panel) => ids.has(panel.id));
  return shown.length || all.length > 1 ? shown : all;
}

/** The bridge of one notebook of the page, with one kernel. */
export class Bridge {
  /**
   * @param {KernelLink} link to the kernel
   * @param {Context} context of the notebook
   * @param {import("./messages.js").KernelState} [state] of the kernel, if it is known
   */
  constructor(link, context, state) {
    this.link = link;
    this.context = context;
    this.state = state;
    this.cells = context.model.cells;
    this.kernel = context.sessionContext?.session?.kernel;
    /** The notebook's facts, in the form that widgets have. */
    this.widget_manager = { context, kernel: this.kernel };
    this.page = Math.random().toString(36).slice(2);
    /** @type {Map<string, string>} words by the cell's id */
    this.marks = new Map();
    /** @type {Map<string, import("./messages.js").StaleBelow>} by the cell's id */
    this.below = new Map();
    this.prompts = new PromptStyle();
    /** @type {Map<Cell, () => void>} the Markdown cells, each with its listener */
    this.texts = new Map();
    /** @type {Set<Cell>} the Markdown cells that were edited since the last report */
    this.edited = new Set();
    this.rest = 0;
    this.pending = false;
    this.stopped = false;
    this.observer = new MutationObserver(() => this.draw());
    this.known = new KnownOutputs();
    /** @type {WeakMap<Element, Cell>} the cell of each output area */
    this.areas = new WeakMap();
    this.outputs = new MutationObserver((records) => {
      const area = (/** @type {Node} */ node) => {
        return node instanceof Element && node.closest(".jp-Cell-outputArea");
      };
      const changed = new Set(records.map(({ target }) => area(target)));
      for (const node of changed) if (node) this.addTools(node);
      this.painter.look();
    });
    this.painter = new Painter(document);
    /** Hides the note in outputs under way that they are not complete, which is for files. */
    this.style = document.createElement("style");
    document.head.append(this.style);
    this.views = new MutationObserver(() => TITLED_MS.map((ms) => setTimeout(this.draw, ms)));
    this.changed = this.changed.bind(this);
    this.draw = this.draw.bind(this);
    this.runAgain = this.runAgain.bind(this);
    this.stop = this.stop.bind(this);
    this.lose = this.lose.bind(this);
    this.look = this.look.bind(this);
    this.saving = this.saving.bind(this);
    this.cells.changed.connect(this.changed);
    context.disposed?.connect(this.stop);
    context.saveState?.connect(this.saving);
    context.sessionContext?.kernelChanged?.connect(this.lose);
    context.sessionContext?.statusChanged?.connect(this.look);
    context.model[BRIDGE]?.stop();
    context.model[BRIDGE] = this;
    BRIDGES.add(this);
    this.watch();
    this.tell(true);
    this.draw();
    this.settle();
  }

  /** Ask for missing last states. */
  settle() {
    setTimeout(() => {
      if (this.stopped) return;
      const comes = this.lives();
      for (const { live } of liveOutputs(cellList(this.cells))) {
        if (!comes.has(live)) this.send({ kind: "lacks", live });
      }
    }, SETTLED_MS);
  }

  /** Return the names of the replies under way. */
  lives() {
    // A hidden page has no frames, so the last part is not painted there.
    const painted = Array.from(this.painter.replies).filter(([, { last }]) => !last);
    return new Set([...Object.keys(this.state?.asks ?? {}), ...painted.map(([live]) => live)]);
  }

  /** Report changes of the cells; several at once are one report, sent before any cell can run. */
  changed() {
    if (this.pending) return;
    this.pending = true;
    queueMicrotask(() => {
      this.pending = false;
      if (this.stopped) return;
      this.watch();
      this.tell(false);
      this.draw();
    });
  }

  /**
   * Return the id of a cell that the kernel names, if it is one of this notebook.
   * @param {string} [name]
   */
  cellNamed(name = "") {
    const [cell, notebook] = name.split(" ").reverse();
    return !notebook || notebook === notebookId(this.context) ? cell : "";
  }

  /** Return the name of the ask in the background of a cell. @param {string} id */
  askOf(id) {
    const asks = Object.entries(this.state?.asks ?? {});
    return asks.find(([, name]) => name && this.cellNamed(name) === id)?.[0];
  }

  /** Return whether this bridge announces for all notebooks of its kernel in this page. */
  speaks() {
    const same = Array.from(BRIDGES).filter(({ kernel }) => kernel?.id === this.kernel?.id);
    return same[0] === this;
  }

  /** Watch the prompts, and the Markdown cells, which a question may have carried. */
  watch() {
    const cells = cellList(this.cells);
    this.prompts.watch(cells);
    for (const cell of cells) {
      if (cell.type !== "markdown" || this.texts.has(cell)) continue;
      const edited = () => {
        this.edited.add(cell);
        clearTimeout(this.rest);
        this.rest = setTimeout(() => !this.stopped && this.tell(false), EDITED_MS);
      };
      this.texts.set(cell, edited);
      cell.contentChanged.connect(edited);
    }
  }

  /** Report the cells to the kernel. @param {boolean} opened */
  tell(opened) {
    const cells = cellList(this.cells).map(({ id, type, outputs }) => {
      // Other output may follow the reply, such as the error of an interrupt.
      const all = Array.from({ length: outputs?.length ?? 0 }, (_, at) => outputs?.get(at));
      const owner = all.map((output) => output?.metadata?.chatmagic?.owner).findLast(Boolean);
      return [id, type === "code", owner ?? null];
    });
    const edited = cellList(this.cells).filter((cell) => this.edited.has(cell));
    const markdown = edited.map((cell) => [cell.id, cell.sharedModel.getSource()]);
    this.edited.clear();
    const notebook = notebookId(this.context);
    const name = this.context.path.split("/").pop();
    this.send({ kind: "cells", page: this.page, notebook, name, opened, cells, markdown });
  }

  /** Send a message to the kernel. @param {object} content */
  send(content) {
    try {
      this.link.send(content);
    } catch {
      this.stop(); // the kernel is gone
    }
  }

  /** Put the marks into the cells; nodes of cells come and go as the user scrolls. */
  draw() {
    if (this.stopped) return;
    const cells = cellList(this.cells);
    if (this.state?.keep_output) tagKept(cells);
    for (const panel of notebookPanels(this.context)) {
      const area = panel.querySelector(".jp-WindowedPanel-viewport") ?? panel;
      this.observer.observe(area, { childList: true });
      if (panel.parentElement) this.views.observe(panel.parentElement, { childList: true });
      for (const { node, index } of cellNodes(panel)) {
        const { id } = cells[index] ?? {};
        mark(node, this.marks.get(id));
        noteBelow(node, this.below.get(id), this.runAgain);
        const live = this.askOf(id);
        noteAsking(node, Boolean(live), () => void this.link.urge({ kind: "stop", live }));
        const outputs = node.querySelector(".jp-Cell-outputArea");
        if (!outputs || !id) continue;
        this.outputs.observe(outputs, { childList: true, subtree: true });
        this.areas.set(outputs, cells[index]);
        this.addTools(outputs);
      }
    }
    this.style.textContent = Array.from(this.lives(), (live) => {
      return `.chatmagic-live-${live} ~ .chatmagic-partial { display: none }`;
    }).join("\n");
    this.painter.look();
  }

  /**
   * Give the code of replies in a cell's outputs its buttons, and keep the words of errors whole.
   * @param {Element} area
   */
  addTools(area) {
    const outputs = this.areas.get(area)?.outputs;
    const shown = Array.from(area.children).filter((each) => each.matches(".jp-OutputArea-child"));
    shown.forEach((node, at) => {
      if (node.querySelector(STDERR)) node.classList.toggle(ERROR, isInWords(outputs?.get(at)));
      if (!node.querySelector(WITH_TOOLS) || !this.known.has(outputs?.get(at))) return;
      addToolsIn(node, {
        copy: (text, what) => void copyWords(text, what).then(announce),
        newCell: (text, code) => void newCodeCell(this, code, text).then(announce),
      }, () => this.stopped);
    });
  }

  /** Run stale cells, by their button. @param {string[]} cells */
  async runAgain(cells) {
    const result = await runCells(this, notebookPanels(this.context), cells);
    announce({ words: runWords(result) });
  }

  /** @param {import("./messages.js").ToBridge} content */
  receive(content) {
    if (this.stopped) return;
    if (content.kind === "paint") {
      if (content.last) this.settle();
      const isNew = !this.painter.replies.has(content.live);
      this.painter.take(content);
      if (isNew) this.draw();
      const cell = this.cellNamed(content.cell);
      const blocks = cell ? this.painter.painted(content.live) : "";
      return addLiveOutput(cellList(this.cells), { ...content, cell }, blocks);
    }
    if (content.kind === "state") {
      if (Object.keys(this.state?.asks ?? {}).some((live) => !(live in content.asks))) this.settle();
      this.state = content;
    } else if (content.kind === "known") {
      this.known.add(content.digests);
    } else if (content.kind === "marks" && content.notebook === notebookId(this.context)) {
      this.marks = new Map(Object.entries(content.marks));
      this.below = new Map(Object.entries(content.below));
    } else if (content.kind === "say" && this.speaks()) {
      statusRegion().textContent = String(content.text);
    } else if (content.kind === "settled") {
      settleOutputs(cellList(this.cells), { ...content, cell: this.cellNamed(content.cell) });
      this.tell(false);
    } else if (content.kind === "tell") {
      this.tell(false);
    } else if (content.kind === "code" && content.page === this.page) {
      this.send({ kind: "coded", key: content.key, ...placeCode(this, content) });
    } else if (content.kind === "run" && content.page === this.page) {
      const { key, cell, cells } = content;
      void runCells(this, notebookPanels(this.context), cells, cell).then((result) => {
        this.send({ kind: "started", key, ...result });
      });
    }
    this.draw();
  }

  /** Save painted parts, which only the page has. @param {unknown} _ @param {string} state */
  saving(_, state) {
    if (state === "started") saveOutputs(cellList(this.cells), this.painter);
  }

  /** Return whether the kernel has ended, or the notebook has another one. */
  isLost() {
    const kernel = this.context.sessionContext?.session?.kernel;
    return kernel !== this.kernel || ENDED.has(kernel?.status ?? "");
  }

  /** Stop, because the kernel has ended and sends no more. */
  lose() {
    if (this.stopped) return;
    if (this.isLost()) endOutputs(cellList(this.cells), this.painter, this.lives());
    this.stop();
  }

  look() {
    if (this.isLost()) this.lose();
  }

  /** Leave the page as it was. */
  stop() {
    if (this.stopped) return;
    this.stopped = true;
    BRIDGES.delete(this);
    this.cells.changed.disconnect(this.changed);
    this.context.disposed?.disconnect(this.stop);
    this.context.saveState?.disconnect(this.saving);
    this.context.sessionContext?.kernelChanged?.disconnect(this.lose);
    this.context.sessionContext?.statusChanged?.disconnect(this.look);
    this.observer.disconnect();
    this.views.disconnect();
    this.outputs.disconnect();
    this.painter.forget();
    this.style.remove();
    for (const panel of notebookPanels(this.context)) {
      for (const { node } of cellNodes(panel)) {
        mark(node);
        noteBelow(node);
        noteAsking(node, false, () => {});
      }
      for (const node of panel.querySelectorAll(`.${ERROR}`)) node.classList.remove(ERROR);
      removeToolsIn(panel);
    }
    for (const [cell, edited] of this.texts) cell.contentChanged.disconnect(edited);
    this.prompts.stop();
  }
}
