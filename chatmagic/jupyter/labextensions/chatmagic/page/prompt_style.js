// Prompts in the cells of a notebook, shown as prose and not as Python. Nothing of it is saved.

/** @typedef {import("./notebook.js").Cell} Cell */

const PROSE = "text/x-ipythongfm";
const CHAT = /^(?:[ \t]*\n)*%%chat(?:_instructions)?(?!\w)/;

/** The prompts of a notebook's cells, shown as prose and not as Python. */
export class PromptStyle {
  constructor() {
    /** @type {Map<Cell, {mimeType: ?string, look: () => void}>} */
    this.watched = new Map();
  }

  /** Watch these cells, and no others. @param {Cell[]} cells */
  watch(cells) {
    const now = new Set(cells);
    for (const cell of this.watched.keys()) if (!now.has(cell)) this.unwatch(cell);
    for (const cell of now) {
      if (cell.type !== "code" || this.watched.has(cell)) continue;
      const look = () => this.look(cell);
      this.watched.set(cell, { mimeType: null, look });
      cell.contentChanged.connect(look);
      cell.mimeTypeChanged.connect(look);
      look();
    }
  }

  /** Leave a cell as it was. @param {Cell} cell */
  unwatch(cell) {
    const watched = this.watched.get(cell);
    if (!watched) return;
    cell.contentChanged.disconnect(watched.look);
    cell.mimeTypeChanged.disconnect(watched.look);
    this.restore(cell);
    this.watched.delete(cell);
  }

  /** @param {Cell} cell that was edited */
  look(cell) {
    const watched = this.watched.get(cell);
    if (!watched) return;
    const asks = CHAT.test(cell.sharedModel.getSource());
    if (asks && cell.mimeType !== PROSE) {
      watched.mimeType = cell.mimeType;
      cell.mimeType = PROSE;
    } else if (!asks) {
      this.restore(cell);
    }
  }

  /** @param {Cell} cell */
  restore(cell) {
    const watched = this.watched.get(cell);
    const before = watched?.mimeType;
    if (!watched || !before) return;
    watched.mimeType = null;
    if (cell.mimeType === PROSE) cell.mimeType = before;
  }

  /** Leave the cells as they were. */
  stop() {
    for (const cell of this.watched.keys()) this.unwatch(cell);
  }
}
