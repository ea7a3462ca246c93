// The bridge's marks and notes in cells, which are not saved: marks of stale turns, a note on the stale
// turns below with a button to run them, and a note on a reply under way with a button to stop it.

import { button, make } from "./dom.js";
import { notebookId } from "./notebook.js";

/** @typedef {import("./messages.js").StaleBelow} StaleBelow */

const MARK = "chatmagic-mark";
const STALE_BELOW = "chatmagic-below";
const ASKING = "chatmagic-asking";
const STOP_REPLY = "Stop";
const RUN_AGAIN = "Run them again";
const NOTE_STYLE =
  // After the cell's number; narrow pages show the number above.
  "grid-column: 1 / -1; margin: 2px 0 2px " +
  "clamp(11px, (100vw - 760px) * 99, var(--jp-cell-prompt-width, 64px) + 11px); " +
  "padding-inline-start: 8px; font-family: var(--jp-ui-font-family); " +
  "font-size: var(--jp-ui-font-size1, 13px); color: var(--jp-ui-font-color1, inherit);";
const MARK_STYLE = `${NOTE_STYLE} border-inline-start: 3px double currentColor;`;
const WITH_BUTTON_STYLE = `${NOTE_STYLE} display: flex; flex-wrap: wrap; align-items: center; gap: 0 8px;`;

/**
 * @typedef {{run: (cells: string[]) => void, stop: (live: string) => void}} NoteActions actions of the
 *   buttons: run cells by their ids, stop the reply to an ask by its name
 */

/** The marks of one notebook's cells, as its kernel sent them last. */
export class CellMarks {
  /**
   * @param {import("./notebook.js").Context} context of the notebook
   * @param {NoteActions} actions
   */
  constructor(context, actions) {
    this.context = context;
    this.actions = actions;
    /** @type {Map<string, string>} words by the cell's id */
    this.marks = new Map();
    /** @type {Map<string, StaleBelow>} by the cell's id */
    this.below = new Map();
  }

  /** Take the marks, unless they are another notebook's. @param {import("./messages.js").Marks} message */
  take({ notebook, marks, below }) {
    if (notebook !== notebookId(this.context)) return;
    this.marks = new Map(Object.entries(marks));
    this.below = new Map(Object.entries(below));
  }

  /**
   * Put the marks and notes of a cell into its node, and remove others.
   * @param {HTMLElement} node
   * @param {string} id the cell's
   * @param {string} [live] the name of its ask in the background
   */
  draw(node, id, live) {
    putMark(node, this.marks.get(id));
    putBelow(node, this.below.get(id), this.actions.run);
    putAsking(node, live, this.actions.stop);
  }
}

/** Remove the marks and notes of a cell. @param {HTMLElement} node the cell's */
export function removeMarks(node) {
  for (const kind of [MARK, STALE_BELOW, ASKING]) removeNote(node, kind);
}

/**
 * Put a mark into a cell, or remove it.
 * @param {HTMLElement} node the cell's
 * @param {string} [words]
 */
function putMark(node, words) {
  if (words) putNote(node, MARK, words, [words], MARK_STYLE);
  else removeNote(node, MARK);
}

/**
 * Put a cell's note on the stale turns below it into the cell, or remove the note.
 * @param {HTMLElement} node the cell's
 * @param {StaleBelow | undefined} below
 * @param {(cells: string[]) => void} run
 */
function putBelow(node, below, run) {
  if (!below) return removeNote(node, STALE_BELOW);
  const again = button("retry", RUN_AGAIN, () => run(below.cells), RUN_AGAIN);
  putNote(node, STALE_BELOW, JSON.stringify(below), [make("span", "", below.words), again], WITH_BUTTON_STYLE);
}

/**
 * Put the note that its reply still arrives into a cell, with a button to stop it; or remove it.
 * @param {HTMLElement} node the cell's
 * @param {string | undefined} live the name of the ask
 * @param {(live: string) => void} stop
 */
function putAsking(node, live, stop) {
  if (!live) return removeNote(node, ASKING);
  const words = make("span", "", "The reply arrives in the background.");
  const stopping = button("stop", STOP_REPLY, () => stop(live), STOP_REPLY);
  putNote(node, ASKING, live, [words, stopping], WITH_BUTTON_STYLE);
}

/**
 * Return a cell's note of a kind.
 * @param {HTMLElement} node the cell's
 * @param {string} kind
 * @returns {HTMLElement | null}
 */
function noteIn(node, kind) {
  return node.querySelector(`:scope > .${kind}`);
}

/** Remove a cell's note; its focus goes to the cell. @param {HTMLElement} node @param {string} kind */
function removeNote(node, kind) {
  const old = noteIn(node, kind);
  if (old?.contains(document.activeElement)) node.focus();
  old?.remove();
}

/**
 * Put a note into a cell, unless it is there in this state.
 * @param {HTMLElement} node the cell's
 * @param {string} kind
 * @param {string} state that the content depends on
 * @param {Array<string | Node>} content
 * @param {string} style
 */
function putNote(node, kind, state, content, style) {
  if (noteIn(node, kind)?.dataset.state === state) return;
  removeNote(node, kind);
  // Enter belongs to a button of the note, not to the notebook.
  const attributes = { role: "note", style, "data-lm-suppress-shortcuts": "true" };
  const note = make("div", kind, content, attributes);
  note.dataset.state = state;
  node.insertBefore(note, node.querySelector(":scope > .jp-Cell-outputWrapper"));
}
