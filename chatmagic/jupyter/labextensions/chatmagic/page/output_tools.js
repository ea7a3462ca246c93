// Additions to the outputs of cells that no file keeps: buttons for the code of the kernel's own replies,
// and errors whose words are kept whole.

import { WITH_TOOLS, addToolsIn, copyWords, newCodeCell, removeToolsIn } from "./code.js";
import { announce } from "./dom.js";
import { KnownOutputs, isInWords } from "./outputs.js";

/** @typedef {import("./notebook.js").Cell} Cell */

const ERROR = "cm-error";
const STDERR = '[data-mime-type="application/vnd.jupyter.stderr"]';

export class OutputTools {
  /**
   * @param {import("./notebook.js").Host} host the notebook, into which code goes as a cell
   * @param {() => void} changed called when outputs were drawn anew
   */
  constructor(host, changed) {
    this.host = host;
    this.known = new KnownOutputs();
    /** @type {WeakMap<Element, Cell>} the cell of each output area */
    this.cells = new WeakMap();
    this.stopped = false;
    this.observer = new MutationObserver((records) => {
      const areas = new Set(records.map(({ target }) => areaOf(target)));
      for (const area of areas) if (area) this.add(area);
      changed();
    });
  }

  /** Keep the additions in the outputs of a cell. @param {Element} node the cell's @param {Cell} cell */
  watch(node, cell) {
    const area = node.querySelector(".jp-Cell-outputArea");
    if (!area) return;
    this.observer.observe(area, { childList: true, subtree: true });
    this.cells.set(area, cell);
    this.add(area);
  }

  /** Make the additions to the outputs in an area. @param {Element} area */
  add(area) {
    const outputs = this.cells.get(area)?.outputs;
    const shown = Array.from(area.children).filter((node) => node.matches(".jp-OutputArea-child"));
    shown.forEach((node, at) => {
      const output = outputs?.get(at);
      if (node.querySelector(STDERR)) node.classList.toggle(ERROR, isInWords(output));
      if (node.querySelector(WITH_TOOLS) && this.known.has(output)) this.addButtons(node);
    });
  }

  /** Give the code in an output its buttons. @param {Element} node */
  addButtons(node) {
    const say = (/** @type {{words: string}} */ { words }) => announce(words);
    addToolsIn(node, {
      copy: (text, what) => void copyWords(text, what).then(say),
      newCell: (text, code) => void newCodeCell(this.host, code, text).then(say),
    }, () => this.stopped);
  }

  /** Make no more additions. */
  stop() {
    this.stopped = true;
    this.observer.disconnect();
  }
}

/** Return the output area around a node. @param {Node} node */
function areaOf(node) {
  return node instanceof Element ? node.closest(".jp-Cell-outputArea") : null;
}

/** Remove the additions to the outputs of a cell. @param {Element} node the cell's */
export function removeAdditions(node) {
  for (const error of node.querySelectorAll(`.${ERROR}`)) error.classList.remove(ERROR);
  removeToolsIn(node);
}
