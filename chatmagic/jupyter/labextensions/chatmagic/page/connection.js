// The line to the kernel: messages of one view, and whether the kernel still answers.

/** How long, in milliseconds, the kernel may take to answer. */
export const ANSWER_MS = 3000;
/** When the first ping is sent: then newer kernels route what comes next past a busy cell. */
const PING_MS = 1000;

export class KernelConnection {
  /**
   * @param {import("./notebook.js").Model} model
   * @param {object} listeners
   * @param {(message: any) => void} listeners.onMessage
   * @param {() => void} [listeners.onLost] the kernel is gone, as far as is known
   * @param {() => void} [listeners.onBack] what was lost answers: it was busy, or away
   */
  constructor(model, listeners) {
    this.model = model;
    this.listeners = listeners;
    this.view = Math.random().toString(36).slice(2);
    this.lost = false;
    this.deadline = 0;
    this.receive = this.receive.bind(this);
    this.check = this.check.bind(this);
    model.on("msg:custom", this.receive);
    model.on("comm_live_update", this.check);
    // Widgets are not told that a kernel was shut down in a page that was loaded again.
    this.kernelChanged = model.widget_manager?.context?.sessionContext?.kernelChanged;
    this.kernelChanged?.connect(this.check);
    this.ping = setTimeout(() => this.send({ kind: "ping" }), PING_MS);
  }

  /** @param {import("./messages.js").FromPage} message */
  send(message) {
    this.attempt(() => this.model.send({ ...message, view: this.view }));
  }

  /** Do what fails where the kernel is gone. @param {() => void} act */
  attempt(act) {
    try {
      act();
    } catch {
      this.lose();
    }
  }

  /** @param {any} message */
  receive(message) {
    if (message.view && message.view !== this.view) return;
    if (message.kind === "pong") clearTimeout(this.deadline);
    if (this.lost) {
      this.lost = false;
      this.listeners.onBack?.();
    }
    this.listeners.onMessage(message);
  }

  /** Find out whether the kernel still knows this view. */
  check() {
    clearTimeout(this.deadline);
    this.deadline = setTimeout(() => this.lose(), ANSWER_MS);
    this.send({ kind: "ping" });
  }

  lose() {
    clearTimeout(this.deadline);
    this.lost = true;
    this.listeners.onLost?.();
  }

  close() {
    clearTimeout(this.ping);
    clearTimeout(this.deadline);
    this.model.off("msg:custom", this.receive);
    this.model.off("comm_live_update", this.check);
    this.kernelChanged?.disconnect(this.check);
  }
}
