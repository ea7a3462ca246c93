// The bridge's additions to cells, which are not saved: prompts look like prose, and notes show
// stale turns and replies under way, with a button to run cells again or to stop.

import { button, make } from "./dom.js";
import { cellList, cellNodes, notebookModel } from "./notebook.js";

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
    for (const [cell, { look }] of this.watched) {
      cell.contentChanged.disconnect(look);
      cell.mimeTypeChanged.disconnect(look);
      this.restore(cell);
    }
    this.watched.clear();
  }
}

/** @typedef {import("./messages.js").StaleBelow} StaleBelow */

const STALE_BELOW = "chatmagic-below";
const ASKING = "chatmagic-asking";
const STOP_REPLY = "Stop";
const RUN_AGAIN = "Run them again";
/** The key by which JupyterLab and Notebook 7 run a cell, as they have no public call for it. */
const RUN_KEY = {
  key: "Enter", code: "Enter", keyCode: 13, ctrlKey: true, bubbles: true, cancelable: true,
};
const CHECKED_MS = 20;
const CHECKED = 50;
const NOTE_STYLE =
  // After the cell's number; narrow pages show the number above.
  "grid-column: 1 / -1; margin: 2px 0 2px " +
  "clamp(11px, (100vw - 760px) * 99, var(--jp-cell-prompt-width, 64px) + 11px); " +
  "padding-inline-start: 8px; font-family: var(--jp-ui-font-family); " +
  "font-size: var(--jp-ui-font-size1, 13px); color: var(--jp-ui-font-color1, inherit);";
const MARK = "chatmagic-mark";
const MARK_STYLE = `${NOTE_STYLE} border-inline-start: 3px double currentColor;`;

/**
 * Put a mark into a cell, or remove it.
 * @param {Element} node
 * @param {string} [words]
 */
export function mark(node, words) {
  const old = node.querySelector(`:scope > .${MARK}`);
  if (old?.textContent === words) return;
  old?.remove();
  if (!words) return;
  const note = make("div", MARK, words, { role: "note", style: MARK_STYLE });
  node.insertBefore(note, node.querySelector(":scope > .jp-Cell-outputWrapper"));
}

/**
 * Put a cell's note on the stale turns below it into the cell, or remove the note.
 * @param {Element} node the cell's
 * @param {StaleBelow} [below]
 * @param {(cells: string[]) => void} [run]
 */
export function noteBelow(node, below, run) {
  const now = below && run ? JSON.stringify(below) : undefined;
  putNote(node, STALE_BELOW, now, () => [
    make("span", "", below?.words),
    button("retry", RUN_AGAIN, () => below && run?.(below.cells), RUN_AGAIN),
  ]);
}

/**
 * Put the note that its reply still arrives into a cell, with a button to stop it; or remove it.
 * @param {Element} node the cell's
 * @param {boolean} comes
 * @param {() => void} stop
 */
export function noteAsking(node, comes, stop) {
  putNote(node, ASKING, comes ? "" : undefined, () => [
    make("span", "", "The reply arrives in the background."),
    button("stop", STOP_REPLY, stop, STOP_REPLY),
  ]);
}

/**
 * Put a note into a cell, or remove it.
 * @param {Element} node the cell's
 * @param {string} kind
 * @param {string | undefined} now the state it depends on; none removes it
 * @param {() => Node[]} content
 */
function putNote(node, kind, now, content) {
  /** @type {HTMLElement | null} */
  const old = node.querySelector(`:scope > .${kind}`);
  if (old?.dataset.now === now) return;
  const had = old?.contains(document.activeElement);
  old?.remove();
  if (had) /** @type {HTMLElement} */ (node).focus();
  if (now === undefined) return;
  // Enter belongs to the button, not to the notebook.
  const shown = { role: "note", style: NOTE_STYLE, "data-lm-suppress-shortcuts": "true" };
  const made = make("div", kind, content(), shown);
  made.dataset.now = now;
  node.insertBefore(made, node.querySelector(":scope > .jp-Cell-outputWrapper"));
}

/**
 * Run cells in their order, as a user would: each is selected, and the key is pressed.
 * @param {import("./notebook.js").Host} model
 * @param {Element[]} panels the panels that show the notebook
 * @param {string[]} ids
 * @param {string} [by] the cell that asks for it, which is running
 * @returns {Promise<{outcome: "started"|"queued"|"refused", count: number}>}
 */
export async function runCells(model, panels, ids, by) {
  const all = cellList(notebookModel(model)?.cells);
  const waits = all.some(({ id, type, executionState }) => {
    return type === "code" && id !== by && executionState !== "idle";
  });
  let count = 0;
  const panel = panels.find(({ classList }) => !classList.contains("lm-mod-hidden"));
  if (waits && all.every(({ type, executionState }) => type !== "code" || executionState)) {
    return { outcome: "queued", count };
  }
  for (const id of ids) {
    const node = cellNodes(panel).find(({ index }) => all[index]?.id === id)?.node;
    const cell = all.find((each) => each.id === id);
    if (!node || !cell || !(await runCell(node, cell))) {
      return { outcome: "refused", count };
    }
    count += 1;
  }
  return { outcome: "started", count };
}

/**
 * Run one cell; return whether it runs. The key would run all selected cells.
 * @param {HTMLElement} node
 * @param {import("./notebook.js").Cell} cell
 */
async function runCell(node, cell) {
  const before = cell.executionCount;
  node.focus();
  // The page marks the selected cells in its next frame.
  if (!(await comes(() => node.matches(".jp-mod-active:not(.jp-mod-multiSelected)")))) return false;
  node.dispatchEvent(new KeyboardEvent("keydown", RUN_KEY));
  return comes(() => cell.executionState !== "idle" || cell.executionCount !== before);
}

/** Wait a moment for a check to be true, and return whether it is. @param {() => boolean} check */
async function comes(check) {
  for (let checked = 0; checked < CHECKED; checked++) {
    await new Promise((resolve) => setTimeout(resolve, CHECKED_MS));
    if (check()) return true;
  }
  return false;
}

/**
 * Return the outcome of running cells, in words.
 * @param {{outcome: string, count: number}} result
 */
export function runWords({ outcome, count }) {
  if (outcome === "queued") return "Nothing was run: other cells are running or waiting to run.";
  const cells = `${count} cell${count === 1 ? "" : "s"}`;
  if (outcome === "started") return `Running ${cells} again.`;
  return `This page started ${cells}: run those that are marked by hand.`;
}
