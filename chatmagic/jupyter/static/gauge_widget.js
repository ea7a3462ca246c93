// The live gauge alone, as a widget.

import { KernelConnection } from "./connection.js";
import { Gauge } from "./gauge.js";

/** @param {{model: import("./notebook.js").Model, el: HTMLElement}} widget */
function render({ model, el }) {
  el.classList.add("chatmagic-live", "chatmagic-live-gauge");
  const gauge = new Gauge(true);
  el.append(gauge.node);
  const connection = new KernelConnection(model, {
    onMessage: (message) => message.kind === "credits" && gauge.show(message.credits),
  });
  connection.send({ kind: "sync" });
  return () => {
    connection.close();
    gauge.stop();
  };
}

export default { render };
