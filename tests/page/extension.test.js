// The plugin: which notebooks of a page it links to their kernels.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Model } from "./browser.js";
import { plugin } from "../../chatmagic/jupyter/labextensions/chatmagic/page/extension.js";

/** A notebook's context that counts the listeners of its end. */
function opened(facts) {
  const { context } = new Model().widget_manager;
  const listeners = new Set();
  const disposed = { connect: (listener) => listeners.add(listener), disconnect() {} };
  return Object.assign(context, { disposed, listeners, ...facts });
}

test("a notebook is linked once; not one that cannot be loaded, or is closed again", async () => {
  const contexts = [
    opened({ ready: Promise.resolve() }),
    opened({ ready: Promise.reject(new Error("no file")) }),
    opened({ ready: Promise.resolve(), isDisposed: true }),
  ];
  const panels = [contexts[0], ...contexts].map((context) => ({ context }));
  const widgetAdded = { connect() {}, disconnect() {} };
  const tracker = { forEach: (open) => panels.forEach(open), filter: () => [], widgetAdded };
  plugin({ INotebookTracker: {}, NotebookActions: {} }).activate({}, tracker);
  await new Promise(setImmediate);
  assert.deepEqual(contexts.map(({ listeners }) => listeners.size), [1, 0, 0]);
});
