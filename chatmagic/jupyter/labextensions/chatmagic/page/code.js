// Code of replies, in the panel and in cells: its buttons, and the cells made of code and of the panel's
// turns.

import { button, make } from "./dom.js";
import {
  cellIds, cellIndex, cellList, copyText, insertCell, notebookModel, scrollToCell,
} from "./notebook.js";

/**
 * @typedef {import("./notebook.js").Cell} Cell
 * @typedef {import("./notebook.js").Host} Host
 * @typedef {object} CodeActions actions of the buttons of a code block
 * @property {(text: string, what: string) => void} copy
 * @property {(code: string, element: Element) => void} newCell puts code that an element shows
 *   into a new cell
 */

export const NO_CELLS = "This front end does not let cells be made: ";
const OURS = "chatmagic";
/** Class of the frames of code in the outputs of cells, which no file keeps. */
const IN_CELL = "cm-in-cell";
/** Milliseconds in each frame for adding buttons to code. */
const TOOLS_MS = 20;
/** Blocks of code, and trees of JSON. */
export const WITH_TOOLS = ".highlight, .chatmagic-json";

/**
 * Return the JSON that a tree, or a part of it, shows.
 * @param {Element} node
 * @param {string} [indent]
 * @returns {string}
 */
function treeText(node, indent = "") {
  if (node.localName !== "details") return node.lastElementChild?.textContent ?? "";
  const inner = `${indent}  `;
  const children = Array.from(node.querySelectorAll(":scope > ul > li > *"));
  const items = children.map((child) => ({
    name: child.querySelector("strong")?.textContent ?? "", text: treeText(child, inner),
  }));
  // The names of fields are in quotes, and the places in a list are not.
  const isList = !items[0].name.startsWith('"');
  const lines = items.map(({ name, text }) => `${inner}${isList ? "" : `${name}: `}${text}`);
  return [isList ? "[" : "{", lines.join(",\n"), indent + (isList ? "]" : "}")].join("\n");
}

/**
 * Give a block of code or a tree its buttons, beside the box that scrolls.
 * @param {Element} code
 * @param {CodeActions} actions
 * @param {string} [classes] of the frame around both
 */
export function addCodeTools(code, actions, classes = "") {
  const box = code.closest(".chatmagic-scroll") ?? code;
  const [root] = code.matches(".chatmagic-json") ? code.children : [];
  // The text as it is visible at the time of copying.
  const text = () => /** @type {HTMLElement} */ (code).innerText ?? "";
  const buttons = root ? [
    button("copy", "Copy this JSON", () => actions.copy(treeText(root), "The JSON")),
  ] : [
    button("copy", "Copy this code", () => actions.copy(text(), "The code")),
    button("cell", "Put this code into a new cell", () => actions.newCell(text(), frame)),
  ];
  // In a cell, Enter belongs to the button, not to the notebook.
  const suppressed = { "data-lm-suppress-shortcuts": "true" };
  const tools = make("div", "cm-tools cm-code-tools", buttons, suppressed);
  const frame = make("div", `cm-code ${classes}`.trim());
  box.replaceWith(frame);
  frame.append(box, tools);
}

/**
 * Add buttons to the code of replies in outputs; code under way may not be whole yet.
 * @param {Element} node
 * @param {CodeActions} actions
 * @param {() => boolean} isOver whether buttons are no longer wanted
 */
export function addToolsIn(node, actions, isOver) {
  const until = performance.now() + TOOLS_MS;
  for (const code of node.querySelectorAll(WITH_TOOLS)) {
    if (code.closest(".cm-code, .chatmagic-panel, .chatmagic-live")) continue;
    if (performance.now() > until) {
      requestAnimationFrame(() => isOver() || addToolsIn(node, actions, isOver));
      return;
    }
    addCodeTools(code, actions, IN_CELL);
  }
}

/** Remove the buttons of code in outputs. @param {Element} node */
export function removeToolsIn(node) {
  for (const frame of node.querySelectorAll(`.${IN_CELL}`)) {
    frame.replaceWith(...Array.from(frame.children).slice(0, 1));
  }
}

/** @param {string} text @param {string} what its name, in words */
export async function copyWords(text, what) {
  const done = await copyText(text);
  const words = done ? `${what} is on the clipboard.` : "This page may not use the clipboard.";
  return { done, words };
}

/**
 * Put code into a new cell below, or on the clipboard if no cell can be made.
 * @param {Host} model
 * @param {Element} element in the cell above the new one
 * @param {string} code
 */
export async function newCodeCell(model, element, code) {
  const index = cellIndex(model, element) + 1;
  const cell = { cell_type: "code", source: code.replace(/\n$/, ""), metadata: {} };
  if (insertCell(model, index, cell) !== null) {
    scrollToCell(element, index);
    return { done: true, words: "Put into a new cell below." };
  }
  const copied = await copyText(code);
  const instead = copied ? "the code is on the clipboard." : "copy it by hand.";
  return { done: false, words: NO_CELLS + instead };
}

/** Return a short hash (FNV-1a) that shows an edit. @param {string} text */
function hash(text) {
  let value = 0x811c9dc5;
  for (const char of text) value = Math.imul(value ^ Number(char.codePointAt(0)), 0x01000193);
  return `${text.length}-${value >>> 0}`;
}

/** Return the mark of an unedited cell; a copy of the cell has another id. @param {Cell} cell */
const markOf = ({ id, sharedModel }) => hash(`${id} ${sharedModel.getSource()}`);

/** Return where a cell's code is from, if this page has put it there. @param {Cell} cell */
const codeOf = (cell) => cell.getMetadata?.(OURS)?.code;

/** Return whether a cell of code is as this page has made it: neither edited nor run. @param {Cell} cell */
function isUntouched(cell) {
  const ran = cell.executionCount || cell.outputs?.length;
  return !ran && codeOf(cell).mark === markOf(cell);
}

/**
 * Put cells below a cell, in place of earlier ones, in one step of the page's own undo.
 * @param {import("./notebook.js").NotebookModel} notebook
 * @param {import("./messages.js").Code} message
 * @param {Cell[]} removed
 * @param {Cell[]} left the earlier ones that belong to the user from now on
 */
function replaceCode({ cells: shown, sharedModel }, { cell: by, digest, cells }, removed, left) {
  sharedModel.undoManager?.stopCapturing();
  sharedModel.transact?.(() => {
    for (const cell of removed) sharedModel.deleteCell(cellList(shown).indexOf(cell));
    for (const cell of left) cell.deleteMetadata?.(OURS);
    const above = cellList(shown).findIndex(({ id }) => id === by);
    cells.forEach((cell, place) => {
      const code = { by, digest, mark: hash(`${cell.id} ${cell.source}`) };
      sharedModel.insertCell(above + 1 + place, { ...cell, metadata: { [OURS]: { code } } });
    });
  });
  sharedModel.undoManager?.stopCapturing();
}

/**
 * Put the cells of a reply's code below the cell that asks for them. Earlier cells that were edited or
 * run since stay, and belong to the user from then on.
 * @param {Host} model
 * @param {import("./messages.js").Code} message
 * @returns {Omit<import("./messages.js").Coded, "kind" | "key">}
 */
export function placeCode(model, message) {
  const { cell: by, digest, cells } = message;
  const notebook = notebookModel(model);
  const all = cellList(notebook?.cells);
  const nothing = { made: 0, removed: 0, left: 0 };
  const at = all.findIndex(({ id }) => id === by);
  // Before JupyterLab 4.3 a page does not report the waiting cells.
  if (!notebook || !all[at]?.executionState) return { outcome: "refused", ...nothing };
  const own = all.filter((cell) => codeOf(cell)?.by === by);
  if (own.some((cell) => codeOf(cell).digest === digest)) return { outcome: "same", ...nothing };
  const queued = all.some((cell) => {
    return cell.type === "code" && cell.id !== by && cell.executionState !== "idle";
  });
  if (queued) return { outcome: "queued", ...nothing };
  const removed = own.filter(isUntouched);
  const left = own.filter((cell) => !removed.includes(cell));
  try {
    replaceCode(notebook, message, removed, left);
  } catch {
    return { outcome: "refused", ...nothing };
  }
  return { outcome: "made", made: cells.length, removed: removed.length, left: left.length };
}

const ASK_IN_A_CELL = `${NO_CELLS}ask in a %%chat cell instead.`;

export class CellExport {
  /**
   * @param {import("./notebook.js").Model} model
   * @param {HTMLElement} element the widget's
   * @param {import("./panel_asks.js").KernelConnection} connection
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
