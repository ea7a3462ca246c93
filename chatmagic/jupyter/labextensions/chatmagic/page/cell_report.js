// The page's report of a notebook's cells from top to bottom, with the Markdown cells that were edited,
// which a question may have carried.

import { cellList, notebookId } from "./notebook.js";

/** @typedef {import("./notebook.js").Cell} Cell */

/** Milliseconds without a keystroke before an edited Markdown cell is reported. */
const EDITED_MS = 500;

export class CellReport {
  /**
   * @param {import("./notebook.js").Context} context of the notebook
   * @param {string} page the page's name
   * @param {(content: object) => void} send sends the kernel a message
   */
  constructor(context, page, send) {
    this.context = context;
    this.page = page;
    this.sendMessage = send;
    /** @type {Map<Cell, () => void>} the Markdown cells, each with its listener */
    this.watched = new Map();
    /** @type {Set<Cell>} the Markdown cells that were edited since the last report */
    this.edited = new Set();
    this.timer = 0;
  }

  /** Watch the Markdown cells of the notebook, and no others. */
  watch() {
    const now = new Set(cellList(this.context.model.cells));
    for (const cell of this.watched.keys()) if (!now.has(cell)) this.unwatch(cell);
    for (const cell of now) {
      if (cell.type !== "markdown" || this.watched.has(cell)) continue;
      const edited = () => this.note(cell);
      this.watched.set(cell, edited);
      cell.contentChanged.connect(edited);
    }
  }

  /** @param {Cell} cell that has left the notebook, or whose edits are no longer reported */
  unwatch(cell) {
    const edited = this.watched.get(cell);
    if (edited) cell.contentChanged.disconnect(edited);
    this.watched.delete(cell);
    this.edited.delete(cell);
  }

  /** Report an edited cell when nobody types any more. @param {Cell} cell */
  note(cell) {
    this.edited.add(cell);
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.send(), EDITED_MS);
  }

  /** Send the report. @param {boolean} [opened] whether the page is new */
  send(opened = false) {
    const all = cellList(this.context.model.cells);
    const cells = all.map((cell) => [cell.id, cell.type === "code", ownerIn(cell)]);
    const edited = all.filter((cell) => this.edited.has(cell));
    const markdown = edited.map((cell) => [cell.id, cell.sharedModel.getSource()]);
    this.edited.clear();
    const notebook = notebookId(this.context);
    const name = this.context.path.split("/").pop();
    this.sendMessage({ kind: "cells", page: this.page, notebook, name, opened, cells, markdown });
  }

  /** Watch and report no more. */
  stop() {
    clearTimeout(this.timer);
    for (const cell of this.watched.keys()) this.unwatch(cell);
  }
}

/** Return the owner in the record of a cell's outputs; null if there is none. @param {Cell} cell */
function ownerIn({ outputs }) {
  // Other output may follow the reply, such as the error of an interrupt.
  const all = Array.from({ length: outputs?.length ?? 0 }, (_, at) => outputs?.get(at));
  return all.map((output) => output?.metadata?.chatmagic?.owner).findLast(Boolean) ?? null;
}
