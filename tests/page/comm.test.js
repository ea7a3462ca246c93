// The line to the bridge of a kernel: how its comm is found, and what is said over it.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Model, isListed, pass, samples, viewsOf } from "./browser.js";
import { KernelLink, MISMATCH, PROTOCOL } from "../../chatmagic/jupyter/labextensions/chatmagic/page/comm.js";
import { cellsRunHere } from "../../chatmagic/jupyter/labextensions/chatmagic/page/notebook.js";

const [STATE, , SAY] = samples("to the bridge");
const ID = `chatmagic.bridge.${PROTOCOL}.0123`;
const BRIDGE = Symbol.for("chatmagic.bridge");
const region = () => document.getElementById("chatmagic-status");
const settled = () => new Promise(setImmediate);

/** A kernel as a page has it, with its comms. */
class Kernel {
  constructor(known = []) {
    this.known = known;
    this.comms = [];
    this.targets = {};
    this.listeners = new Set();
    this.iopubMessage = { connect: (hear) => this.listeners.add(hear), disconnect: (hear) => this.listeners.delete(hear) };
  }
  registerCommTarget(name, open) {
    this.targets[name] = open;
  }
  hasComm(id) {
    return this.comms.some(({ commId }) => commId === id);
  }
  createComm(target, commId = "new") {
    const comm = { target, commId, sent: [], send: (content) => comm.sent.push(content), open: (content) => comm.sent.push(content) };
    this.comms.push(comm);
    return comm;
  }
  async requestCommInfo() {
    return { content: { comms: Object.fromEntries(this.known.map((id) => [id, {}])) } };
  }
  /** Open a comm from the kernel's side. */
  open(commId, data = STATE) {
    this.targets["chatmagic.bridge"](this.createComm("chatmagic.bridge", commId), { content: { data } });
  }
  say(data, comm_id = ID, msg_type = "comm_msg") {
    for (const hear of this.listeners) hear(this, { header: { msg_type }, content: { comm_id, data } });
  }
  said(target) {
    return this.comms.filter((comm) => comm.target === target).flatMap(({ sent }) => sent);
  }
}

function link(kernel) {
  const model = new Model();
  const { context } = model.widget_manager;
  let changed;
  const kernelChanged = { connect: (listener) => { changed ??= listener; }, disconnect() {} };
  context.sessionContext = { session: { id: "s", kernel }, kernelChanged };
  return { link: new KernelLink(viewsOf(model)), context, change: (now) => { context.sessionContext.session.kernel = now; changed(); } };
}

test("a comm that the kernel opens has a bridge, which says who it is, and that it paints", async () => {
  const kernel = new Kernel();
  const { context, link: line } = link(kernel);
  kernel.open(ID);
  const [hello, cells] = kernel.said("chatmagic.bridge");
  assert.equal(hello.kind, "hello");
  assert.equal(cells.opened, true);
  assert.ok([hello, cells].every((message) => isListed("of the bridge", message)));
  assert.deepEqual(context.model[BRIDGE].replies.asks, STATE.asks);
  kernel.say(SAY);
  assert.equal(region().textContent, SAY.text);
  await settled();
  assert.deepEqual(kernel.said("chatmagic.urgent"), [{ kind: "paints" }]);
  kernel.say({}, ID, "comm_close");
  assert.equal(context.model[BRIDGE].stopped, true);
  line.close();
  assert.equal(kernel.listeners.size, 0);
});

test("a page that missed the opening finds the comm by a message, or in the kernel's list", async () => {
  const kernel = new Kernel();
  link(kernel);
  kernel.say(SAY, "another.0123");
  assert.deepEqual(kernel.comms, []);
  region().textContent = "";
  kernel.say(SAY);
  assert.equal(region().textContent, SAY.text);
  kernel.say(SAY);
  assert.equal(kernel.said("chatmagic.bridge").filter(({ kind }) => kind === "hello").length, 1);
  const other = new Kernel(["widget", ID]);
  link(other);
  await settled();
  assert.deepEqual(other.comms.filter(({ target }) => target === "chatmagic.bridge").map(({ commId }) => commId), [ID]);
});

test("what a kernel lists after another one has come is not the other one's", async () => {
  const first = new Kernel([ID]);
  const second = new Kernel();
  const { change } = link(first);
  change(second);
  await settled();
  assert.deepEqual([first.comms, second.comms], [[], []]);
});

test("nothing urgent is sent to a kernel that has ended, and nothing fails", async () => {
  const kernel = new Kernel();
  const { link: line } = link(kernel);
  kernel.createComm = () => { throw new Error("Kernel is dead"); };
  await line.urge({ kind: "paints" });
  await link(undefined).link.urge({ kind: "paints" });
});

test("with a kernel of another protocol it says so, and does no more", () => {
  const kernel = new Kernel();
  const { context } = link(kernel);
  const { warn } = console;
  console.warn = () => {};
  kernel.open("chatmagic.bridge.99.0123");
  console.warn = warn;
  assert.deepEqual(kernel.said("chatmagic.bridge").map(({ kind }) => kind), ["hello"]);
  assert.equal(context.model[BRIDGE], undefined);
  assert.equal(region().textContent, MISMATCH);
});

test("another kernel has its own bridge, also where another notebook has its comms", () => {
  const [first, second, shared] = [new Kernel(), new Kernel(), new Kernel()];
  const { context, change } = link(first);
  first.open(ID);
  const before = context.model[BRIDGE];
  change(second);
  second.open(ID);
  assert.equal(before.stopped, true);
  assert.equal(first.listeners.size, 0);
  const sent = [];
  Object.assign(shared, { handleComms: false, sendShellMessage: (message) => sent.push(message) });
  change(shared);
  assert.deepEqual([shared.targets, shared.listeners.size], [{}, 1]);
  for (let said = 0; said < 2; said++) shared.say(SAY);
  assert.equal(context.model[BRIDGE].stopped, false);
  const kinds = sent.map(({ content }) => [content.target_name ?? content.comm_id, content.data.kind]);
  assert.deepEqual(kinds, [[ID, "hello"], [ID, "cells"], ["chatmagic.urgent", "paints"]].slice(0, kinds.length));
  assert.equal(sent[0].channel, "shell");
});

test("what arrives of a kernel after its end builds no bridge, and settles a reply", () => {
  const kernel = new Kernel();
  const { context } = link(kernel);
  let changed;
  context.sessionContext.statusChanged = { connect: (listener) => { changed = listener; }, disconnect() {} };
  const [live] = Object.keys(STATE.asks);
  const html = `<div class="chatmagic-reply mathjax_ignore chatmagic-live chatmagic-live-${live}" dir="auto">\n</div>`;
  const list = [{ output_type: "display_data", data: { "text/html": html } }];
  const output = { metadata: {}, toJSON: () => list[0] };
  context.model.cells.get(0).outputs = { length: 1, get: () => output, set: (at, now) => { list[at] = now; } };
  kernel.open(ID);
  const bridge = context.model[BRIDGE];
  kernel.status = "restarting";
  changed();
  kernel.comms = [];
  const samplesOf = (kind) => samples("to the bridge").find((message) => message.kind === kind);
  kernel.say({ ...samplesOf("paint"), live });
  assert.match(list[0].data["text/html"], /Not complete: the kernel ended/);
  assert.equal(context.model[BRIDGE], bridge);
  assert.deepEqual([bridge.stopped, kernel.comms], [true, []]);
  const last = { ...samplesOf("settled"), live };
  kernel.say(last);
  assert.deepEqual(list[0].data, last.data);
  // The kernel's next process opens a comm of its own; so does one that another client restarted.
  kernel.status = "idle";
  for (const next of ["4", "5"]) {
    const before = context.model[BRIDGE];
    kernel.open(`${ID}${next}`);
    assert.deepEqual([before.ended, context.model[BRIDGE].stopped], [true, false]);
  }
});

test("what runs tells its notebook to the kernel, beside what the cell says", () => {
  const kernel = new Kernel();
  const run = [];
  kernel.requestExecute = (...given) => run.push(given);
  const { context } = link(kernel);
  kernel.requestExecute({ code: "1" }, false, { cellId: "a", chatmagic: { code: {} } });
  kernel.requestExecute({ code: "2" });
  assert.deepEqual(run.map(([, , { chatmagic }]) => chatmagic), [{ code: {}, notebook: "s" }, { notebook: "s" }]);
  assert.deepEqual([...cellsRunHere(context.model)], ["a"]);
  // Once the kernel has the page's reports, it is told which page that is.
  kernel.open(ID);
  kernel.requestExecute({ code: "1" });
  const [, , named] = samples("of a request to run a cell");
  const { chatmagic } = run.at(-1)[2];
  assert.deepEqual(Object.keys(chatmagic), Object.keys(named));
  assert.equal(chatmagic.page, context.model[BRIDGE].page);
});

test("what may ask is sent with the cells above, unless they are too long or not known", () => {
  const kernel = new Kernel();
  const run = [];
  kernel.requestExecute = (...given) => run.push(given);
  const { context } = link(kernel);
  const cell = (id, type, source) => ({ id, type, sharedModel: { getSource: () => source } });
  const cells = [cell("a", "code", "1"), cell("b", "markdown", "# Title"), cell("r", "raw", ""), cell("c", "code", "%chat why?")];
  context.model.cells = { length: 4, get: (at) => cells[at] };
  const told = (code, cellId) => {
    kernel.requestExecute({ code }, false, { cellId });
    return run.at(-1)[2].chatmagic;
  };
  const [above, alone] = samples("of a request to run a cell");
  assert.deepEqual(told("%chat why?", "c"), above);
  assert.deepEqual(told("x = 1", "c"), alone);
  assert.deepEqual(told("%chat why?", "gone"), alone);
  cells[1] = cell("b", "markdown", "x".repeat(1_000_001));
  assert.deepEqual(told("%chat why?", "c"), alone);
});

test("an urgent message waits for a subshell, and not for ever", async () => {
  const kernel = new Kernel();
  const { link: line } = link(kernel);
  const { createComm } = kernel;
  kernel.createComm = (...given) => Object.assign(createComm.apply(kernel, given), { subshellStarted: new Promise(() => {}) });
  const sent = line.urge({ kind: "stop" });
  assert.deepEqual(kernel.said("chatmagic.urgent"), []);
  pass(3000);
  await sent;
  assert.deepEqual(kernel.said("chatmagic.urgent"), [{ kind: "stop" }]);
});
