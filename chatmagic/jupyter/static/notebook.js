// What the panel asks of the page around it: new cells, typesetting, the clipboard, an
// interrupt. None of it is a public interface, so each says whether it worked.

/** @param {any} model @returns {?any} the notebook's model */
function notebookModel(model) {
  const context = model.widget_manager && model.widget_manager.context;
  const notebook = context && context.model;
  const shared = notebook && notebook.sharedModel;
  return shared && typeof shared.insertCell === "function" && notebook.cells ? notebook : null;
}

/** @param {any} model @returns {boolean} whether the bridge tells of the cells' replies */
function bridgeSpeaks(model) {
  const notebook = notebookModel(model);
  const bridge = notebook && notebook[Symbol.for("chatmagic.bridge")];
  return Boolean(bridge && !bridge.stopped);
}

/** @param {any} model @returns {Set<object>} the views of panels in this notebook, the oldest first */
function panelViews(model) {
  const notebook = notebookModel(model) || {};
  const panels = Symbol.for("chatmagic.panels");
  return (notebook[panels] = notebook[panels] || new Set());
}

const LOST_DRAFT = Symbol.for("chatmagic.draft");

/** Keep what was typed in a panel without a kernel for the next panel of this notebook. */
function keepLostDraft(model, text) {
  const notebook = notebookModel(model);
  if (notebook) notebook[LOST_DRAFT] = text;
}

/** @returns {string} what was kept so, once */
function takeLostDraft(model) {
  const notebook = notebookModel(model) || {};
  const text = notebook[LOST_DRAFT] || "";
  delete notebook[LOST_DRAFT];
  return text;
}

/** @param {any} model @returns {string[]} the cells' ids from top to bottom */
function cellIds(model) {
  const notebook = notebookModel(model);
  const ids = [];
  for (let i = 0; notebook && i < notebook.cells.length; i++) ids.push(notebook.cells.get(i).id);
  return ids;
}

/** The place of the cell that shows an element; the last cell's where none of them does. */
function placeOf(model, element) {
  const cell = element.closest(".jp-Notebook .jp-Cell");
  const last = cellIds(model).length - 1;
  if (!cell) return last;
  const place = Number(cell.dataset.windowedListIndex);
  if (Number.isInteger(place) && cell.dataset.windowedListIndex !== undefined) return place;
  const cells = Array.from(cell.closest(".jp-Notebook").querySelectorAll(".jp-Cell"));
  return cells.length - 1 === last ? cells.indexOf(cell) : last;
}

/**
 * Insert a cell.
 * @param {any} model
 * @param {number} place
 * @param {object} cell as a notebook file has it
 * @returns {?string} its id, or null where the page does not let us
 */
function insertCell(model, place, cell) {
  const notebook = notebookModel(model);
  if (!notebook) return null;
  try {
    notebook.sharedModel.insertCell(place, cell);
    return notebook.cells.get(place).id;
  } catch {
    return null;
  }
}

/**
 * Bring a cell into sight, once it is drawn.
 * @param {Element} element in the cell that shows the panel; a view beside the notebook has none
 * @param {number} place
 */
function scrollToCell(element, place) {
  const shown = document.querySelectorAll(".jp-NotebookPanel:not(.lm-mod-hidden) .jp-Notebook");
  const notebook = element.closest(".jp-Notebook") || (shown.length === 1 ? shown[0] : null);
  // One frame for the notebook to put it in, and one to lay it out.
  requestAnimationFrame(() =>
    requestAnimationFrame(() => {
      const cells = notebook ? Array.from(notebook.querySelectorAll(".jp-Notebook-cell")) : [];
      const cell = cells.find((node, i) => Number(node.dataset.windowedListIndex ?? i) === place);
      if (cell) cell.scrollIntoView({ block: "nearest" });
    }),
  );
}

/** Typeset the formulas of the replies in a node, and nothing else of it, where the front end has a typesetter to lend. */
function typeset(model, node) {
  const rendermime = model.widget_manager && model.widget_manager.rendermime;
  const typesetter = rendermime && rendermime.latexTypesetter;
  for (const reply of node.querySelectorAll(".cm-reply")) {
    if (typesetter && reply.querySelector(".mathjax_process")) typesetter.typeset(reply);
  }
}

/** @returns {Promise<boolean>} whether the text is on the clipboard */
async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Pages that are not served securely have the old way only.
    const area = make("textarea", "", "", { "aria-hidden": "true" });
    area.value = text;
    area.style.position = "fixed";
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}

/**
 * Hear of it when the notebook has another kernel, or none.
 * @returns {() => void} what to call to hear no more
 */
function followKernel(model, listener) {
  const context = model.widget_manager && model.widget_manager.context;
  const changed = context && context.sessionContext && context.sessionContext.kernelChanged;
  if (!changed) return () => {};
  changed.connect(listener);
  return () => changed.disconnect(listener);
}

/** @returns {boolean} whether the kernel could be told to interrupt what runs */
function interruptKernel(model) {
  const kernel = model.widget_manager && model.widget_manager.kernel;
  if (!kernel || typeof kernel.interrupt !== "function") return false;
  kernel.interrupt();
  return true;
}

/** Bring the output that is saved beside the widget up to date, in the notebook's model. */
function saveOutput(model, element, data) {
  const notebook = notebookModel(model);
  const cell = notebook && element.closest(".jp-Cell") && notebook.cells.get(placeOf(model, element));
  const outputs = cell && cell.outputs;
  for (let i = 0; outputs && i < outputs.length; i++) {
    const output = outputs.get(i).toJSON();
    const html = output.data && output.data["text/html"];
    if (html && String(html).includes("chatmagic-saved")) outputs.set(i, { ...output, data });
  }
}
