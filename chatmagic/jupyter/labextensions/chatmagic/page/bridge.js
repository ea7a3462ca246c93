// The page's part of the bridge (the kernel's part is chatmagic/jupyter/page/bridge.py). It reports the
// cells of this notebook from top to bottom to the kernel, shows prompts as prose, marks cells for the
// kernel, and announces events in one status region. It uses private interfaces of JupyterLab 4 and
// Notebook 7. If one is missing, its feature is left out without a message.

import { CellReport } from "./cell_report.js";
import { placeCode } from "./code.js";
import { announce } from "./dom.js";
import { CellMarks, removeMarks } from "./marks.js";
import { BRIDGE, cellList } from "./notebook.js";
import { OutputTools, removeAdditions } from "./output_tools.js";
import { tagKept } from "./outputs.js";
import { PromptStyle } from "./prompt_style.js";
import { RepliesUnderWay } from "./replies_under_way.js";
import { runWords } from "./views.js";

/** @typedef {import("./comm.js").KernelLink} KernelLink */
/** @typedef {import("./notebook.js").Context} Context */
/** @typedef {import("./notebook.js").Signal} Signal */

/**
 * The states of a kernel whose process has ended. If another client restarts it, such as a console, a page
 * only sees that its next process is starting.
 */
const ENDED = new Set(["restarting", "autorestarting", "dead", "terminating", "starting"]);

/** @type {Set<Bridge>} the open bridges of this page, the oldest first */
const BRIDGES = new Set();

/**
 * The handler of each kind of message from the kernel.
 * @type {Record<string, (bridge: Bridge, message: any) => void>}
 */
const HANDLERS = {
  paint: (bridge, message) => bridge.replies.paint(message),
  state: (bridge, message) => bridge.takeState(message),
  known: (bridge, { digests }) => bridge.takeKnown(digests),
  marks: (bridge, message) => bridge.takeMarks(message),
  say: (bridge, { text }) => bridge.say(text),
  settled: (bridge, message) => bridge.settle(message),
  tell: (bridge) => bridge.report.send(),
  code: (bridge, message) => bridge.placeCode(message),
  run: (bridge, message) => bridge.runCells(message),
};

/** The bridge of one notebook of the page, with one kernel. */
export class Bridge {
  /**
   * @param {KernelLink} link to the kernel
   * @param {import("./views.js").NotebookViews} views of the notebook
   * @param {import("./messages.js").KernelState} [state] of the kernel, if it is known
   */
  constructor(link, views, state) {
    const { context } = views;
    const send = (/** @type {object} */ content) => this.send(content);
    this.link = link;
    this.views = views;
    this.context = context;
    this.kernel = context.sessionContext?.session?.kernel;
    /** The notebook's facts, in the form that widgets have. */
    this.host = { widget_manager: { context, kernel: this.kernel } };
    this.page = Math.random().toString(36).slice(2);
    this.stopped = false;
    /** Whether the kernel has ended. */
    this.ended = false;
    this.keepsOutput = state?.keep_output ?? false;
    this.report = new CellReport(context, this.page, send);
    this.prompts = new PromptStyle();
    this.marks = new CellMarks(context, {
      run: (cells) => announce(runWords(views.run(cells))),
      stop: (live) => void link.urge({ kind: "stop", live }),
    });
    this.replies = new RepliesUnderWay(context, send, state?.asks);
    this.tools = new OutputTools(this.host, () => this.replies.look());
    this.scrolled = new MutationObserver(() => this.draw());
    this.isChanged = false;
    this.signals = this.connect();
    context.model[BRIDGE]?.stop();
    context.model[BRIDGE] = this;
    BRIDGES.add(this);
    this.watch();
    this.report.send(true);
    this.draw();
  }

  /** Connect the front end's signals; return each with its listener. */
  connect() {
    const { model, disposed, saveState, sessionContext } = this.context;
    /** @type {[Signal | undefined, Function][]} */
    const signals = [
      [model.cells.changed, () => this.changed()],
      [this.views.opened, () => this.draw()],
      [disposed, () => this.stop()],
      [saveState, (/** @type {unknown} */ _, /** @type {string} */ state) => this.saving(state)],
      [sessionContext?.kernelChanged, () => this.isLost() && this.end()],
      [sessionContext?.statusChanged, () => this.isLost() && this.end()],
    ];
    for (const [signal, listener] of signals) signal?.connect(listener);
    return signals;
  }

  /** Report changes of the cells; several at once are one report, sent before any cell can run. */
  changed() {
    if (this.isChanged) return;
    this.isChanged = true;
    queueMicrotask(() => {
      this.isChanged = false;
      if (this.stopped) return;
      this.watch();
      this.report.send();
      this.draw();
    });
  }

  /** Watch the prompts and the Markdown cells of the notebook. */
  watch() {
    this.prompts.watch(cellList(this.context.model.cells));
    this.report.watch();
  }

  /** Send a message to the kernel. @param {object} content */
  send(content) {
    try {
      this.link.send(content);
    } catch {
      this.end(); // the kernel is gone
    }
  }

  /**
   * Take a message of the kernel. Those of a kernel that has ended may arrive later; of these only the
   * last states of replies are taken.
   * @param {import("./messages.js").ToBridge} message
   */
  receive(message) {
    if (!this.stopped) HANDLERS[message.kind]?.(this, message);
    else if (this.ended && message.kind === "settled") this.replies.settle(message);
  }

  /** @param {import("./messages.js").KernelState} state */
  takeState({ asks, keep_output: keepsOutput }) {
    this.replies.take(asks);
    this.keepsOutput = keepsOutput;
    this.draw();
  }

  /** @param {string[]} digests */
  takeKnown(digests) {
    this.tools.known.add(digests);
    this.draw();
  }

  /** @param {import("./messages.js").Marks} message */
  takeMarks(message) {
    this.marks.take(message);
    this.draw();
  }

  /**
   * Announce words, unless another bridge of the page announces for the same kernel. One over another comm
   * does not: it has not noticed yet that the kernel was restarted.
   * @param {string} text
   */
  say(text) {
    const id = this.link.comm?.commId;
    const ofKernel = Array.from(BRIDGES).filter(({ kernel, link }) => {
      return kernel?.id === this.kernel?.id && link.comm?.commId === id;
    });
    if (ofKernel[0] === this) announce(String(text));
  }

  /** @param {import("./messages.js").Settled} settled */
  settle(settled) {
    this.replies.settle(settled);
    this.report.send();
    this.draw();
  }

  /** Put the cells of a reply's code below its cell. @param {import("./messages.js").Code} message */
  placeCode(message) {
    if (message.page !== this.page) return;
    this.send({ kind: "coded", key: message.key, ...placeCode(this.host, message) });
  }

  /** Run cells for a cell. @param {import("./messages.js").Run} message */
  runCells({ page, key, cell, cells }) {
    if (page !== this.page) return;
    this.send({ kind: "started", key, ...this.views.run(cells, cell) });
  }

  /** Draw the marks and the additions to outputs; nodes of cells come and go as the user scrolls. */
  draw() {
    if (this.stopped) return;
    const cells = cellList(this.context.model.cells);
    if (this.keepsOutput) tagKept(cells);
    for (const viewport of this.views.viewports()) this.scrolled.observe(viewport, { childList: true });
    for (const { node, index } of this.views.cellNodes()) {
      const cell = cells[index];
      if (!cell) continue;
      this.marks.draw(node, cell.id, this.replies.askOf(cell.id));
      this.tools.watch(node, cell);
    }
    this.replies.draw();
  }

  /** @param {string} state of a save */
  saving(state) {
    if (state === "started") this.replies.save();
  }

  /** Return whether the kernel has ended, or the notebook has another one. */
  isLost() {
    const kernel = this.context.sessionContext?.session?.kernel;
    return kernel !== this.kernel || ENDED.has(kernel?.status ?? "");
  }

  /** Mark the replies under way as partial, and stop, because the kernel has ended. */
  end() {
    if (this.stopped) return;
    this.ended = true;
    this.replies.end();
    this.stop();
  }

  /** Leave the page as it was. */
  stop() {
    if (this.stopped) return;
    this.stopped = true;
    BRIDGES.delete(this);
    for (const [signal, listener] of this.signals) signal?.disconnect(listener);
    this.scrolled.disconnect();
    for (const part of [this.tools, this.replies, this.report, this.prompts]) part.stop();
    for (const { node } of this.views.cellNodes()) {
      removeMarks(node);
      removeAdditions(node);
    }
  }
}
