// The views of one notebook in the page, of which JupyterLab can open several, and the running of its
// cells.

import { cellList, cellNodes } from "./notebook.js";

/** @typedef {import("./notebook.js").Cell} Cell */
/** @typedef {import("./notebook.js").Context} Context */
/** @typedef {import("./notebook.js").Signal} Signal */

/**
 * @typedef {{widgets: {model: Cell}[]}} Notebook the cells of a view, as widgets
 * @typedef {{context: Context, content: Notebook, node: HTMLElement, isVisible: boolean}} NotebookPanel
 * @typedef {{filter(test: (panel: NotebookPanel) => boolean): NotebookPanel[], widgetAdded: Signal}}
 *   Tracker the notebooks of the page (INotebookTracker)
 * @typedef {{runCells?: (notebook: Notebook, cells: object[], session: object | undefined) =>
 *   Promise<boolean>}} NotebookActions of the package @jupyterlab/notebook; runCells since 4.2
 * @typedef {{outcome: "started"|"queued"|"refused", count: number}} RunResult
 */

export class NotebookViews {
  /**
   * @param {Context} context of the notebook
   * @param {Tracker} tracker
   * @param {NotebookActions} actions
   */
  constructor(context, tracker, actions) {
    this.context = context;
    this.tracker = tracker;
    this.actions = actions;
    /** Emitted when a view of any notebook was opened. */
    this.opened = tracker.widgetAdded;
  }

  /** Return the panels that show the notebook. */
  panels() {
    return this.tracker.filter(({ context }) => context === this.context);
  }

  /** Return the nodes whose children are cells; cells come and go as the user scrolls. */
  viewports() {
    return this.panels().map(({ node }) => node.querySelector(".jp-WindowedPanel-viewport") ?? node);
  }

  /** Return the nodes of cells with their indexes, of all views. */
  cellNodes() {
    return this.panels().flatMap(({ node }) => cellNodes(node));
  }

  /**
   * Run cells in their order.
   * @param {string[]} ids
   * @param {string} [by] the cell that asks for it, which is running
   * @returns {RunResult}
   */
  run(ids, by) {
    const others = cellList(this.context.model.cells).filter(({ id }) => id !== by);
    // Before JupyterLab 4.3 a page does not know the states of its cells.
    if (others.some(({ executionState = "idle" }) => executionState !== "idle")) {
      return { outcome: "queued", count: 0 };
    }
    const panels = this.panels();
    const panel = panels.find(({ isVisible }) => isVisible) ?? panels[0];
    const cells = ids.flatMap((id) => {
      return panel?.content.widgets.filter(({ model }) => model.id === id) ?? [];
    });
    if (!this.actions.runCells || !cells.length || cells.length < ids.length) {
      return { outcome: "refused", count: 0 };
    }
    const ran = this.actions.runCells(panel.content, cells, this.context.sessionContext);
    ran.catch(() => {}); // a cell shows its own error, and the page that its kernel ended
    return { outcome: "started", count: cells.length };
  }
}

/** Return the outcome of running cells, in words. @param {RunResult} result */
export function runWords({ outcome, count }) {
  if (outcome === "queued") return "Nothing was run: other cells are running or waiting to run.";
  if (outcome === "started") return `Running ${count} cell${count === 1 ? "" : "s"} again.`;
  return "This page cannot run cells: run those that are marked by hand.";
}
