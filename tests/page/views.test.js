// The views of a notebook: which cells a page runs, and when it does not.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Model, viewsOf } from "./browser.js";
import { runWords } from "../../chatmagic/jupyter/labextensions/chatmagic/page/views.js";

/** Two panels of a notebook, of which the second is visible, and the cells that were run in each. */
function opened({ hasRunCells = true } = {}) {
  const model = new Model(["a", "b", "c"]);
  const { context } = model.widget_manager;
  context.sessionContext = { session: { id: "s" } };
  const ran = [];
  const panels = [false, true].map((isVisible, at) => ({
    context, isVisible, node: document.createElement("div"),
    content: { at, widgets: model.cells.map((cell) => ({ model: cell })) },
  }));
  const others = { context: {}, isVisible: true, content: { at: 2, widgets: panels[0].content.widgets } };
  const runCells = async (notebook, cells, session) => {
    assert.equal(session, context.sessionContext);
    ran.push([notebook.at, cells.map((cell) => cell.model.id)]);
    throw new Error("Canceled future");
  };
  const actions = hasRunCells ? { runCells } : {};
  return { model, ran, views: viewsOf(model, { panels: [others, ...panels], actions }) };
}

test("cells are run in their order, in the view that is visible", () => {
  const { views, ran } = opened();
  assert.deepEqual(views.run(["c", "b"]), { outcome: "started", count: 2 });
  assert.deepEqual(ran, [[1, ["c", "b"]]]);
  assert.equal(runWords({ outcome: "started", count: 1 }), "Running 1 cell again.");
});

test("nothing is run while other cells run or wait", () => {
  const { model, views, ran } = opened();
  model.cells[0].executionState = "scheduled";
  assert.deepEqual(views.run(["b"]), { outcome: "queued", count: 0 });
  assert.deepEqual(ran, []);
  // The cell that asks for it is running itself.
  assert.deepEqual(views.run(["b"], "a"), { outcome: "started", count: 1 });
});

test("a page that has not all of the cells, or cannot run them, runs none", () => {
  const refused = { outcome: "refused", count: 0 };
  const { views, ran } = opened();
  assert.deepEqual(views.run(["a", "gone"]), refused);
  assert.deepEqual(ran, []);
  assert.deepEqual(opened({ hasRunCells: false }).views.run(["a"]), refused);
  assert.deepEqual(viewsOf(new Model(["a"])).run(["a"]), refused);
  assert.match(runWords(refused), /^This page cannot run cells/);
});
