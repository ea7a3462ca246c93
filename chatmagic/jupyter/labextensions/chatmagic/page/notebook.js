// The panel's access to its front end: cells, a typesetter, an interrupt. None of these is a public
// interface of JupyterLab or Notebook 7. Each function reports a missing one.

import { make } from "./dom.js";

/**
 * @typedef {{connect(slot: Function): void, disconnect(slot: Function): void}} Signal
 * @typedef {{metadata?: Record<string, any>, toJSON(): any}} Output
 * @typedef {{length: number, get(index: number): Output, add(output: object): void,
 *   set(index: number, output: object): void, fromJSON(outputs: object[]): void}} Outputs
 * @typedef {{id: string, type: string, mimeType: string, outputs?: Outputs,
 *   executionState?: string, executionCount?: ?number, getMetadata?: (key: string) => any,
 *   setMetadata?: (key: string, value: any) => void, deleteMetadata?: (key: string) => void, sharedModel: {getSource(): string},
 *   contentChanged: Signal, mimeTypeChanged: Signal}} Cell
 * @typedef {{length: number, get(index: number): Cell, changed: Signal}} Cells
 * @typedef {{insertCell(index: number, cell: object): void, deleteCell(index: number): void,
 *   transact?: (change: () => void) => void, undoManager?: {stopCapturing(): void}}} SharedModel
 * @typedef {{cells: Cells, sharedModel: SharedModel} & Record<symbol, any>} NotebookModel
 * @typedef {object} Context
 * @property {NotebookModel} model
 * @property {string} path
 * @property {string} [localPath]
 * @property {{session?: {id: string, kernel?: Kernel}, kernelChanged?: Signal,
 *   statusChanged?: Signal}} [sessionContext]
 * @property {Signal} [disposed]
 * @property {Signal} [saveState]
 * @typedef {object} Comm
 * @property {string} commId
 * @property {(data?: object) => void} open
 * @property {boolean} [isDisposed] whether it is gone, as its kernel may be
 * @property {(data: object) => void} send
 * @property {Promise<void>} [subshellStarted]
 * @typedef {object} Kernel
 * @property {string} [id]
 * @property {string} [status]
 * @property {boolean} [handleComms]
 * @property {string} [clientId]
 * @property {string} [username]
 * @property {(message: object, expectReply: boolean, dispose: boolean) => void} [sendShellMessage]
 * @property {(content: {code: string}, dispose?: boolean, metadata?: Record<string, any>) => any}
 *   [requestExecute]
 * @property {Signal} [iopubMessage]
 * @property {() => void} [interrupt]
 * @property {(id: string) => boolean} [hasComm]
 * @property {(target: string, id?: string) => Comm} [createComm]
 * @property {(target: string, open: (comm: Comm, message: {content: any}) => void) => void}
 *   [registerCommTarget]
 * @property {(content: object) => Promise<{content: any}>} [requestCommInfo]
 * @typedef {object} WidgetManager
 * @property {Context} [context]
 * @property {Kernel} [kernel]
 * @property {{latexTypesetter?: {typeset(node: Element): void}}} [rendermime]
 * @typedef {object} Host a widget of a notebook, or its bridge
 * @property {WidgetManager} [widget_manager]
 */

/**
 * @typedef {object} Model a widget's
 * @property {string} [model_id]
 * @property {WidgetManager} [widget_manager]
 * @property {(name: string, listener: (content: any) => void) => void} on
 * @property {(name: string, listener: (content: any) => void) => void} off
 * @property {(content: object) => void} send
 * @property {(name: string) => any} get
 * @property {(name: string, value: any) => void} set
 * @property {() => void} save_changes
 */

/** The kind of data by which an output shows a widget. */
const VIEW = "application/vnd.jupyter.widget-view+json";
const CELL = ".jp-Notebook-cell";
export const BRIDGE = Symbol.for("chatmagic.bridge");
const PANELS = Symbol.for("chatmagic.panels");
const DRAFT = Symbol.for("chatmagic.draft");
const RUN_HERE = Symbol.for("chatmagic.run");

/** @param {Host} model @returns {NotebookModel | null} null if no cells can be made */
export function notebookModel(model) {
  const notebook = model.widget_manager?.context?.model;
  const known = notebook?.cells && typeof notebook.sharedModel?.insertCell === "function";
  return known ? notebook : null;
}

/** Whether the bridge announces the replies to cells. @param {Host} model */
export function bridgeSpeaks(model) {
  const bridge = notebookModel(model)?.[BRIDGE];
  return Boolean(bridge && !bridge.stopped);
}

/** Return the views of panels in this notebook, the oldest first. @param {Host} model */
export function panelViews(model) {
  /** @type {Record<symbol, any>} */
  const notebook = notebookModel(model) ?? {};
  return /** @type {Set<object>} */ (notebook[PANELS] ??= new Set());
}

/**
 * Keep the typed text of a panel without a kernel for the next panel of this notebook.
 * @param {Host} model
 * @param {string} text
 */
export function keepLostDraft(model, text) {
  const notebook = notebookModel(model);
  if (notebook) notebook[DRAFT] = text;
}

/** Return the text of `keepLostDraft`, once. @param {Host} model @returns {string} */
export function takeLostDraft(model) {
  const notebook = notebookModel(model);
  const text = notebook?.[DRAFT] ?? "";
  if (notebook) delete notebook[DRAFT];
  return text;
}

/** Return the identity of a notebook, which stays the same after a reload. @param {Context} context */
export function notebookId(context) {
  return context.sessionContext?.session?.id ?? context.path;
}

/**
 * Return the id of a cell that the kernel names, if it is one of this notebook.
 * @param {Context} context
 * @param {string} [name]
 */
export function cellNamed(context, name = "") {
  const [cell, notebook] = name.split(" ").reverse();
  return !notebook || notebook === notebookId(context) ? cell : "";
}

/** Return cells from top to bottom. @param {Cells | undefined} cells @returns {Cell[]} */
export function cellList(cells) {
  return cells ? Array.from({ length: cells.length }, (_, index) => cells.get(index)) : [];
}

/** The most characters of Markdown above a cell that a request to run it has. */
const MARKDOWN = 1_000_000;

/**
 * Return the cells above a cell, with the source of each Markdown cell.
 * @param {Context} context
 * @param {unknown} id the cell's
 * @returns {[string, ?string][] | undefined} undefined where it is not one of the notebook's, or
 *   there is too much Markdown
 */
export function cellsAbove(context, id) {
  const cells = cellList(context.model?.cells);
  const at = cells.findIndex((cell) => cell.id === id);
  const above = cells.slice(0, Math.max(0, at)).filter(({ type }) => type !== "raw");
  /** @type {[string, ?string][]} */
  const listed = above.map((cell) => {
    return [cell.id, cell.type === "markdown" ? cell.sharedModel.getSource() : null];
  });
  const size = listed.reduce((sum, [, source]) => sum + (source?.length ?? 0), 0);
  return at < 0 || size > MARKDOWN ? undefined : listed;
}

/**
 * Return the ids of the cells that this page has run: it has all their outputs.
 * @param {NotebookModel} notebook
 * @returns {Set<string>}
 */
export function cellsRunHere(notebook) {
  return (notebook[RUN_HERE] ??= new Set());
}

/** Return the cells' ids from top to bottom. @param {Host} model */
export function cellIds(model) {
  return cellList(notebookModel(model)?.cells).map((cell) => cell.id);
}

/**
 * Return the nodes of a notebook's cells with their indexes. In a windowed notebook only some cells
 * have a node. An output that looks like a cell is inside one, and is left out.
 * @param {Element | null | undefined} root a node around them
 * @returns {{node: HTMLElement, index: number}[]}
 */
export function cellNodes(root) {
  /** @type {HTMLElement[]} */
  const nodes = Array.from(root?.querySelectorAll(CELL) ?? []);
  return nodes.filter((node) => !node.parentElement?.closest(CELL)).map((node, place) => {
    return { node, index: Number(node.dataset.windowedListIndex ?? place) };
  });
}

/**
 * Return the index of the cell that shows an element; else the last cell's.
 * @param {Host} model
 * @param {Element} element
 */
export function cellIndex(model, element) {
  const shown = cellNodes(element.closest(".jp-Notebook"));
  const cell = shown.find(({ node }) => node.contains(element));
  return cell?.index ?? cellIds(model).length - 1;
}

/**
 * Insert a cell.
 * @param {Host} model
 * @param {number} index
 * @param {object} cell as a notebook file has it
 * @returns {?string} its id, or null if the front end does not allow it
 */
export function insertCell(model, index, cell) {
  const notebook = notebookModel(model);
  try {
    notebook?.sharedModel.insertCell(index, cell);
    return notebook?.cells.get(index).id ?? null;
  } catch {
    return null;
  }
}

/**
 * Scroll a cell into view, once it is drawn.
 * @param {Element} element in the cell that shows the panel; a view beside the notebook has none
 * @param {number} index the cell's
 */
export function scrollToCell(element, index) {
  const visible = document.querySelectorAll(".jp-NotebookPanel:not(.lm-mod-hidden) .jp-Notebook");
  const notebook = element.closest(".jp-Notebook") ?? (visible.length === 1 ? visible[0] : null);
  const scroll = () => {
    const shown = cellNodes(notebook).find((cell) => cell.index === index);
    shown?.node.scrollIntoView({ block: "nearest" });
  };
  // One frame for the notebook to insert the cell, and one to lay it out.
  requestAnimationFrame(() => requestAnimationFrame(scroll));
}

/**
 * Typeset the formulas of the replies in a node, and nothing else of it.
 * @param {Host} model
 * @param {Element} node
 */
export function typeset(model, node) {
  const typesetter = model.widget_manager?.rendermime?.latexTypesetter;
  for (const reply of node.querySelectorAll(".cm-reply:has(.mathjax_process)")) {
    typesetter?.typeset(reply);
  }
}

/** @param {string} text @returns {Promise<boolean>} whether it is on the clipboard */
export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Pages without https have only the old interface.
    const area = make("textarea", "", "", { "aria-hidden": "true", style: "position: fixed" });
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}

/** @param {Host} model @returns {boolean} whether the kernel was sent an interrupt */
export function interruptKernel(model) {
  const kernel = model.widget_manager?.kernel;
  kernel?.interrupt?.();
  return Boolean(kernel?.interrupt);
}

/**
 * Update the output that is saved after the widget's view in the notebook.
 * @param {Model} model
 * @param {Element} element the widget's
 * @param {Record<string, string>} data
 */
export function saveOutput(model, element, data) {
  const notebook = element.closest(".jp-Cell") && notebookModel(model);
  const outputs = notebook?.cells.get(cellIndex(model, element)).outputs;
  const all = Array.from({ length: outputs?.length ?? 0 }, (_, at) => outputs?.get(at).toJSON());
  const at = all.findIndex((output) => output.data?.[VIEW]?.model_id === model.model_id);
  if (at >= 0 && all[at + 1]) outputs?.set(at + 1, { ...all[at + 1], data });
}
