// Cells that the panel makes in the notebook: turns of its own, and code of replies.

import { NO_CELLS, copyWords, newCodeCell } from "./code.js";
import { cellIds, cellIndex, insertCell, notebookModel } from "./notebook.js";

const ASK_IN_A_CELL = `${NO_CELLS}ask in a %%chat cell instead.`;

export class CellExport {
  /**
   * @param {import("./notebook.js").Model} model
   * @param {HTMLElement} element the widget's
   * @param {import("./connection.js").KernelConnection} connection
   * @param {import("./composer.js").Composer} composer
   */
  constructor(model, element, connection, composer) {
    this.model = model;
    this.element = element;
    this.connection = connection;
    this.composer = composer;
  }

  /** Ask the kernel for turns as cells. @param {?number[]} turns null is all of the panel's */
  put(turns) {
    if (!notebookModel(this.model)) return this.composer.announce(ASK_IN_A_CELL, { wrong: true });
    this.connection.send({ kind: "put", turns, cells: cellIds(this.model) });
    this.composer.focus();
  }

  /** Insert the cells that the kernel made. @param {import("./messages.js").Insert} message */
  insert({ cells }) {
    let count = 0;
    for (const { turn, after = "", before = "", cell } of cells) {
      const ids = cellIds(this.model);
      let index = cellIndex(this.model, this.element) + 1;
      if (ids.includes(after)) index = ids.indexOf(after) + 1;
      else if (ids.includes(before)) index = ids.indexOf(before);
      const id = insertCell(this.model, index, cell);
      if (id === null) break;
      count += 1;
      this.connection.send({ kind: "placed", turn, cell: id });
    }
    const done = `Put into the notebook as ${count} cell${count === 1 ? "" : "s"}.`;
    const nothing = "No turn of the panel is left to put into the notebook.";
    const failed = cells.length > 0 && count === 0;
    const words = failed ? ASK_IN_A_CELL : count ? done : nothing;
    this.composer.announce(words, { wrong: failed });
  }

  /** Put code into a new cell below. @param {string} code */
  async newCell(code) {
    const { words, done } = await newCodeCell(this.model, this.element, code);
    this.composer.announce(words, { wrong: !done });
  }

  /** @param {string} text @param {string} what */
  async copy(text, what) {
    const { words, done } = await copyWords(text, what);
    this.composer.announce(words, { wrong: !done });
  }
}
