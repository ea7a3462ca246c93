// The replies under way in a notebook: painted while they arrive, written into the notebook for a save,
// and set to their last state, which the page asks for if it missed it.

import { Painter } from "./live_reply.js";
import { cellList, cellNamed, cellsRunHere } from "./notebook.js";
import {
  addLiveOutput, addSettledOutput, endOutputs, liveOutputs, saveOutputs, settleOutputs,
} from "./outputs.js";
import { ScrollAnchor } from "./scroll_anchor.js";

/** Milliseconds until a reply has its last state, unless the page was reloaded meanwhile. */
const SETTLED_MS = 5000;

export class RepliesUnderWay {
  /**
   * @param {import("./notebook.js").Context} context of the notebook
   * @param {(content: object) => void} send sends the kernel a message
   * @param {Record<string, string>} [asks] cells by the name of each ask under way, as in KernelState
   */
  constructor(context, send, asks = {}) {
    this.context = context;
    this.send = send;
    this.asks = asks;
    this.painter = new Painter(document);
    this.anchor = new ScrollAnchor();
    /** Hides the note in outputs under way that they are not complete, which is for files. */
    this.style = document.createElement("style");
    document.head.append(this.style);
    this.stopped = false;
    this.askSettled();
  }

  /** Return the notebook's cells. */
  cells() {
    return cellList(this.context.model.cells);
  }

  /** Return the cells whose outputs may lack a reply, because this page was loaded after they ran. */
  cellsRunBefore() {
    const here = cellsRunHere(this.context.model);
    return this.cells().filter(({ id }) => !here.has(id));
  }

  /** Return the names of the replies under way. */
  names() {
    // A hidden page has no frames, so the last part is not painted there.
    const painted = Array.from(this.painter.replies).filter(([, { last }]) => !last);
    return new Set([...Object.keys(this.asks), ...painted.map(([live]) => live)]);
  }

  /** Return the name of the ask in the background of a cell. @param {string} id */
  askOf(id) {
    const asks = Object.entries(this.asks);
    return asks.find(([, name]) => name && cellNamed(this.context, name) === id)?.[0];
  }

  /** Take the asks under way. @param {Record<string, string>} asks */
  take(asks) {
    if (Object.keys(this.asks).some((live) => !(live in asks))) this.askSettled();
    this.asks = asks;
  }

  /** Ask for missing last states, when they had time to come. */
  askSettled() {
    setTimeout(() => {
      if (this.stopped) return;
      const names = this.names();
      if (!names.size) this.anchor.release();
      for (const { live } of liveOutputs(this.cells())) {
        if (!names.has(live)) this.send({ kind: "lacks", live });
      }
    }, SETTLED_MS);
  }

  /** Paint a part of a reply. @param {import("./messages.js").Paint} paint */
  paint(paint) {
    if (paint.last) this.askSettled();
    const isNew = !this.painter.replies.has(paint.live);
    this.anchor.hold(this.painter.shown(paint.live));
    this.painter.take(paint);
    if (isNew) this.draw();
    const cell = cellNamed(this.context, paint.cell);
    const blocks = cell ? this.painter.painted(paint.live) : "";
    addLiveOutput(this.cellsRunBefore(), { ...paint, cell }, blocks);
  }

  /** Set a reply to its last state. @param {import("./messages.js").Settled} settled */
  settle(settled) {
    const cell = cellNamed(this.context, settled.cell);
    if (!settleOutputs(this.cells(), settled)) addSettledOutput(this.cellsRunBefore(), { ...settled, cell });
  }

  /** Hide the note in each output under way, and paint missing parts. */
  draw() {
    this.style.textContent = Array.from(this.names(), (live) => {
      return `.chatmagic-live-${live} ~ .chatmagic-partial { display: none }`;
    }).join("\n");
    this.look();
  }

  /** Paint the parts that outputs drawn anew lack. */
  look() {
    this.painter.look();
  }

  /** Write painted parts, which only the page has, into the notebook for a save. */
  save() {
    saveOutputs(this.cells(), this.painter);
  }

  /** Mark the replies as partial, because the kernel has ended. */
  end() {
    endOutputs(this.cells(), this.painter, this.names());
  }

  /** Paint no more; painted parts stay. */
  stop() {
    this.stopped = true;
    this.anchor.release();
    this.painter.forget();
    this.style.remove();
  }
}
