// Types of the messages between the kernel and a page; chatmagic/jupyter/page/messages.py has those of
// the kernel, too. Tests of both sides read the same examples.

/**
 * @typedef {{words: string, level: "unknown"|"ok"|"low"|"empty", limit: ?number,
 *   left: ?number, took: ?number, resets: ?string, seen: ?string, now: string,
 *   requests: string, until: ?string}} Credits figures and times (ISO 8601) of the gauge
 * @typedef {{html: string, text: string, states: string[], tokens: string}} Reply
 * @typedef {{what: string, hint: string, failed: boolean}} Problem
 * @typedef {{id: number, version: string, by: string, mine: boolean, prompt: string,
 *   prompt_html: string, notes: string[], took: ?number, reply: ?Reply, problem: ?Problem,
 *   replies: number[]}} Entry a turn of the conversation, with the numbers of its replies where it
 *   has several; or, with a problem and an id below 0, an ask that is not in it
 * @typedef {{live: string, by: string, mine: boolean, prompt: string, prompt_html: string,
 *   stage: "asked"|"sending"|"waiting"|"began", note: string, after: ?number,
 *   replaces: number[], html: string}} Pending an ask under way
 * @typedef {{live: string, words: string, fine: boolean, prompt: ?string}} Ended how an ask
 *   ended, and the prompt of the panel that was not answered
 * @typedef {{state: string, rows: [string, string][]}} Standing
 * @typedef {{kind: "snapshot", view?: string, entries: [number, string][], earlier: number,
 *   new: Entry[], pending: Pending[], credits: Credits, standing: Standing, undo: boolean,
 *   redo: boolean, count: number, threads: string[], thread: string, ended?: ?Ended,
 *   reloaded?: boolean}} Snapshot ids and versions of the newest entries, and how many turns
 *   stand before them
 * @typedef {{kind: "entries", view: string, entries: Entry[]}} Entries
 * @typedef {{kind: "pending"} & Pending} PendingMessage
 * @typedef {{kind: "offer", view: string, live: string, nonce: string}} Offer
 * @typedef {{kind: "stopping", view: string}} Stopping
 * @typedef {{kind: "notice", view: string, words: string, nonce?: string}} Notice why the prompt
 *   of a nonce was not sent; without one, what was done
 * @typedef {{turn: number, cell: object, after?: string, before?: string}} NewCell
 * @typedef {{kind: "insert", view: string, cells: NewCell[]}} Insert
 * @typedef {{kind: "saved", view: string, data: Record<string, string>}} Saved
 * @typedef {{kind: "pong"}} Pong
 * @typedef {Snapshot|Entries|PendingMessage|Paint|Offer|Stopping|Notice|Insert|Saved|
 *   Pong} FromKernel
 */

/**
 * @typedef {{kind: "sync", count?: number, first?: boolean}} Sync asks for a snapshot, with at
 *   least so many turns
 * @typedef {{kind: "want", ids: number[]}} Want
 * @typedef {{kind: "ask", nonce: string, text: ?string, replaces: ?number}} Ask
 * @typedef {{kind: "go"|"stop", live: string}} Go
 * @typedef {{kind: "step", step: "undo"|"redo"|"clear"}} Step
 * @typedef {{kind: "thread", thread: string}} Thread to show in all panels
 * @typedef {{kind: "pick", turn: number, reply: number}} Pick
 * @typedef {{kind: "put", turns: ?number[], cells: string[]}} Put
 * @typedef {{kind: "placed", turn: number, cell: string}} Placed
 * @typedef {{kind: "ping"|"save"}} Ping
 * @typedef {Sync|Want|Ask|Go|Step|Thread|Pick|Put|Placed|Ping} FromPage
 */

/**
 * @typedef {{kind: "state", version: string, asks: Record<string, string>,
 *   keep_output: boolean}} KernelState asks: by the name of each ask under way the cell that has
 *   ended while its reply comes; keep_output: whether to tag cells for nbstripout
 * @typedef {{kind: "known", digests: string[]}} Known SHA-256 of the HTML of outputs that are the
 *   kernel's own
 * @typedef {{words: string, cells: string[]}} StaleBelow the stale cells below, by their ids
 * @typedef {{kind: "marks", notebook: string, marks: Record<string, string>,
 *   below: Record<string, StaleBelow>}} Marks words by the cell's id, and the turns that it made stale
 * @typedef {{kind: "say", text: string}} Say
 * @typedef {{kind: "tell"}} Tell
 * @typedef {{kind: "code", page: string, key: number, cell: string, digest: string,
 *   cells: {id: string, cell_type: "code"|"markdown", source: string}[]}} Code cells to put
 *   below a cell
 * @typedef {{kind: "run", page: string, key: number, cell: string, cells: string[]}} Run cells
 *   to run for a cell
 * @typedef {{kind: "paint", live: string, serial: number, keep: number, blocks: string[],
 *   last?: boolean, cell?: string, box?: string, replaces?: boolean}} Paint of the blocks of a
 *   reply under way the first stay, the others go, and these follow
 * @typedef {{kind: "settled", live: string, cell: string, replaces: boolean,
 *   data: Record<string, any>, metadata: Record<string, any>}} Settled the last state of a reply
 *   that an output still shows as under way, or that a cell does not show
 * @typedef {KernelState|Known|Marks|Say|Tell|Code|Run|Paint|Settled} ToBridge
 * @typedef {{kind: "coded", key: number, outcome: "made"|"same"|"queued"|"refused",
 *   made: number, removed: number, left: number}} Coded
 * @typedef {{kind: "started", key: number, outcome: "started"|"queued"|"refused",
 *   count: number}} Started
 * @typedef {{kind: "hello", protocol: number, version: string}} Hello
 * @typedef {{kind: "paints"}|{kind: "stop", live: string}} Urgent
 * @typedef {{kind: "lacks", live: string}} Lacks the last state of this reply
 */

export {};
