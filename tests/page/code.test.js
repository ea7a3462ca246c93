// Code of replies as cells: what is put, what is removed, and what stays.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Model, isListed, samples, viewsOf } from "./browser.js";
import { Bridge } from "../../chatmagic/jupyter/labextensions/chatmagic/page/bridge.js";

const CODE = samples("to the bridge").find(({ kind }) => kind === "code");

/** A page with a bridge; `put` sends it cells of the sources below cell "a". */
function open() {
  const model = new Model();
  const link = { send: (content) => model.send(content) };
  const bridge = new Bridge(link, viewsOf(model));
  model.receive = (content) => bridge.receive(content);
  const [{ page }] = model.take();
  let made = 0;
  const put = (digest, ...sources) => {
    const cells = sources.map((source) => ({ id: `n${++made}`, cell_type: "code", source }));
    model.receive({ ...CODE, page, cell: "a", digest, cells });
    const [answer] = model.take();
    assert.ok(isListed("of the bridge", answer));
    return [answer.outcome, answer.made, answer.removed, answer.left];
  };
  const sources = () => model.cells.map(({ id, cell }) => cell.source ?? id);
  return { model, page, put, sources, stop: () => bridge.stop() };
}

test("cells are put below the cell that asks, once", () => {
  const { put, sources } = open();
  assert.deepEqual(put("d1", "1", "2"), ["made", 2, 0, 0]);
  assert.deepEqual(sources(), ["a", "1", "2", "b"]);
  assert.deepEqual(put("d1", "1", "2"), ["same", 0, 0, 0]);
  assert.deepEqual(sources(), ["a", "1", "2", "b"]);
});

test("other code takes the place of untouched cells alone", () => {
  const { model, put, sources } = open();
  put("d1", "1", "2", "3", "4");
  model.cells[1].cell.source = "1 edited";
  model.cells[2].executionCount = 5;
  // A copy is the reader's own.
  model.widget_manager.context.model.sharedModel.insertCell(5, { ...model.cells[3].cell, id: "copy" });
  assert.deepEqual(put("d2", "x"), ["made", 1, 2, 3]);
  assert.deepEqual(sources(), ["a", "x", "1 edited", "2", "3", "b"]);
  assert.deepEqual(put("d1", "1"), ["made", 1, 1, 0]);
  assert.deepEqual(sources(), ["a", "1", "1 edited", "2", "3", "b"]);
});

test("nothing is put while cells wait, for another page, or where the cell is gone", () => {
  const { model, page, put, sources } = open();
  model.cells[1].executionState = "running";
  assert.deepEqual(put("d1", "1"), ["queued", 0, 0, 0]);
  model.cells[1].executionState = "idle";
  model.receive({ ...CODE, page: `not ${page}` });
  model.receive({ ...CODE, page, cell: "gone" });
  assert.deepEqual(model.take().map(({ outcome }) => outcome), ["refused"]);
  assert.deepEqual(sources(), ["a", "b"]);
});

test("a page that does not allow it says so", () => {
  const { model, put } = open();
  model.widget_manager.context.model.sharedModel.insertCell = () => { throw new Error("read-only"); };
  assert.deepEqual(put("d1", "1"), ["refused", 0, 0, 0]);
  delete model.cells[0].executionState;
  assert.deepEqual(put("d1", "1"), ["refused", 0, 0, 0]);
});
