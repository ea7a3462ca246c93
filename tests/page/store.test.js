// What a view knows, and asks for.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Store } from "../../chatmagic/jupyter/labextensions/chatmagic/page/store.js";
import { isListed, samples } from "./browser.js";

const [SNAPSHOT, ENTRIES, PENDING] = samples("to the panel");
const [ENTRY] = ENTRIES.entries;

/** A snapshot of turns, in order; without a view it is for all. */
function snapshot(ids, { view, earlier = 0, entries = [], version = "1" } = {}) {
  const listed = ids.map((id) => [id, version]);
  const count = earlier + ids.length;
  return { ...SNAPSHOT, view, entries: listed, earlier, count, new: entries };
}

function entry(id, version = "1") {
  return { ...ENTRY, id, version, prompt: `question ${id}` };
}

const range = (first, last) => Array.from({ length: last - first + 1 }, (_, at) => first + at);
const ids = (store) => store.shown().map(({ id }) => id);

/** Answer what a store asks for, as the kernel does, until it asks for nothing more. */
function answer(store, messages, version = "1") {
  const asked = [];
  for (let next = messages; next.length; ) {
    const wanted = next.filter(({ kind }) => kind === "want").flatMap((want) => want.ids);
    asked.push(...wanted);
    next = wanted.length ? store.takeEntries(wanted.map((id) => entry(id, version))) : [];
  }
  return asked;
}

test("a view asks for the entries that it lacks, and for no other", () => {
  const store = new Store();
  const wants = store.takeSnapshot(SNAPSHOT);
  assert.deepEqual(wants, [{ kind: "want", ids: [1, 2, -3] }]);
  assert.ok(isListed("of the panel", wants[0]));
  assert.deepEqual(store.shown(), []);
  assert.deepEqual(store.takeEntries(ENTRIES.entries), []);
  assert.deepEqual(ids(store), [1, 2, -3]);
  assert.deepEqual(store.takeSnapshot(SNAPSHOT), []);
  assert.deepEqual(store.takeSnapshot(samples("to the panel").at(-1)), []);
  assert.deepEqual(ids(store), [1, 6, -3]);
});

test("an entry of another version is asked for again, and shown as it was until then", () => {
  const store = new Store();
  answer(store, store.takeSnapshot(snapshot([1, 2], { view: "v" })));
  const wants = store.takeSnapshot({ ...snapshot([1, 2]), entries: [[1, "1"], [2, "2"]] });
  assert.deepEqual(wants, [{ kind: "want", ids: [2] }]);
  assert.deepEqual(ids(store), [1, 2]);
  assert.deepEqual(store.takeEntries([entry(2, "2")]), []);
});

test("what was asked for is not asked for twice, but again when it comes back", () => {
  const store = new Store();
  assert.equal(store.takeSnapshot(snapshot([1])).length, 1);
  assert.equal(store.takeSnapshot(snapshot([1])).length, 0);
  store.takeSnapshot(snapshot([]));
  assert.equal(store.takeSnapshot(snapshot([1])).length, 1);
  // A version that was replaced meanwhile is asked for, too.
  store.takeEntries([entry(1, "1")]);
  store.takeSnapshot(snapshot([1], { version: "2", entries: [entry(1, "2")] }));
  assert.equal(store.takeSnapshot(snapshot([1])).length, 1);
  // An answer that is newer than the snapshot settles it.
  assert.deepEqual(store.takeEntries([entry(1, "2")]), []);
});

test("much is asked for in pieces, the newest first", () => {
  const store = new Store();
  const wants = store.takeSnapshot(snapshot(range(1, 59), { view: "v" }));
  assert.deepEqual(wants, [{ kind: "want", ids: range(30, 59) }]);
  assert.deepEqual(answer(store, wants), [...range(30, 59), ...range(1, 29)]);
  assert.deepEqual(ids(store), range(1, 59));
});

test("a view that follows shows the kernel's window", () => {
  const store = new Store();
  answer(store, store.takeSnapshot(snapshot(range(31, 89), { view: "v", earlier: 30 })));
  const next = store.takeSnapshot(snapshot(range(61, 90), { earlier: 60, entries: [entry(90)] }));
  assert.deepEqual(next, []);
  assert.deepEqual(ids(store), range(61, 90));
  assert.equal(store.earlier, 60);
});

test("earlier turns stay in a view that has asked for them", () => {
  const store = new Store();
  answer(store, store.takeSnapshot(snapshot(range(31, 70), { view: "v", earlier: 30 })));
  const sync = store.wantEarlier();
  assert.deepEqual(sync, { kind: "sync", count: 70 });
  assert.ok(isListed("of the panel", sync));
  answer(store, store.takeSnapshot(snapshot(range(1, 70), { view: "v" })));
  assert.deepEqual(ids(store), range(1, 70));
  // The kernel lists the newest; the others stay until it has listed them for this view.
  const next = snapshot(range(31, 71), { earlier: 30, entries: [entry(71)] });
  const [again, ...more] = store.takeSnapshot(next);
  assert.deepEqual([again, more], [{ kind: "sync", count: 71 }, []]);
  assert.deepEqual(ids(store), range(1, 71));
  assert.equal(store.earlier, 0);
  // The first one was asked again, and another one is gone.
  answer(store, store.takeSnapshot(snapshot([72, 2, ...range(4, 71)], { view: "v" })));
  assert.deepEqual(ids(store), [72, 2, ...range(4, 71)]);
});

test("what was asked for is not forgotten where news come before the answer", () => {
  const store = new Store();
  answer(store, store.takeSnapshot(snapshot(range(61, 100), { view: "v", earlier: 60 })));
  store.wantEarlier();
  answer(store, store.takeSnapshot(snapshot(range(31, 100), { view: "v", earlier: 30 })));
  assert.deepEqual(store.wantEarlier(), { kind: "sync", count: 100 });
  const next = snapshot(range(61, 101), { earlier: 60, entries: [entry(101)] });
  assert.deepEqual(store.takeSnapshot(next), [{ kind: "sync", count: 100 }]);
  assert.deepEqual(ids(store), range(31, 101));
});

test("where nothing is known of what the kernel lists, a view follows again", () => {
  const store = new Store();
  answer(store, store.takeSnapshot(snapshot(range(31, 60), { view: "v", earlier: 30 })));
  store.wantEarlier();
  answer(store, store.takeSnapshot(snapshot(range(1, 60), { view: "v" })));
  // Another conversation was loaded.
  const wants = store.takeSnapshot(snapshot(range(101, 130), { earlier: 100 }));
  assert.deepEqual(wants.map(({ kind }) => kind), ["want"]);
  answer(store, wants);
  assert.deepEqual(ids(store), range(101, 130));
  const next = snapshot(range(102, 131), { earlier: 101, entries: [entry(131)] });
  assert.deepEqual(store.takeSnapshot(next), []);
  assert.deepEqual(ids(store), range(102, 131));
});

test("where the kernel lists all, nothing else stays", () => {
  const store = new Store();
  answer(store, store.takeSnapshot(snapshot(range(31, 70), { view: "v", earlier: 30 })));
  store.wantEarlier();
  answer(store, store.takeSnapshot(snapshot(range(1, 70), { view: "v" })));
  store.takeSnapshot(snapshot(range(30, 60)));
  assert.deepEqual(ids(store), range(30, 60));
});

test("a conversation that is cleared and brought back is whole", () => {
  const store = new Store();
  answer(store, store.takeSnapshot(snapshot([1, 2], { view: "v" })));
  store.takeSnapshot(snapshot([]));
  assert.deepEqual(ids(store), []);
  answer(store, store.takeSnapshot(snapshot([1, 2], { entries: [entry(2)] })));
  assert.deepEqual(ids(store), [1, 2]);
});

test("asks under way are those of the snapshot and what came since", () => {
  const store = new Store();
  store.takeSnapshot(SNAPSHOT);
  const begun = { ...PENDING, html: "<p>Because</p>" };
  assert.deepEqual([PENDING, begun, begun].map((ask) => store.takePending(ask)), [false, true, false]);
  assert.equal(store.pending.get(PENDING.live), begun);
  store.takeSnapshot(samples("to the panel").at(-1));
  assert.equal(store.pending.size, 0);
});

test("the prompts of before are the newest first, with those of the panel that failed", () => {
  const store = new Store();
  answer(store, store.takeSnapshot(SNAPSHOT));
  store.takeEntries(ENTRIES.entries);
  assert.deepEqual(store.prompts(), ["And one more.", "Another one.", "Name a colour."]);
});
