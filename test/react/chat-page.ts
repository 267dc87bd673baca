// A page that talks to `payments` and shows the run a second time by its id.
import { createElement as h, StrictMode, useState } from "react";
import type { ReactNode } from "react";
import { createRoot } from "react-dom/client";
import { createClient } from "troupe/client";
import { useAgent, useRun } from "troupe/react";
import type { payments } from "../../agents/payments.ts";

/** The types of a browser are not part of this project. */
const browser = globalThis as unknown as {
  readonly location: { readonly origin: string };
  readonly document: { querySelector(selector: string): Element | null };
};
const client = createClient(browser.location.origin);

function Chat(): ReactNode {
  const { view, runId, pending, error, send, call, answer, cancel } = useAgent(
    client.agent<typeof payments>("payments"),
  );
  const [shown, setShown] = useState(true);
  const [text, setText] = useState("");
  const texts = view.parts.map((message) => (message.kind === "text" ? message.text : `(${message.kind})`));
  const run = (work: Promise<void>): void => void work.catch(() => {});
  return h(
    "main",
    null,
    h("input", {
      "aria-label": "Text",
      value: text,
      onChange: ({ target }) => setText((target as unknown as { readonly value: string }).value),
    }),
    h("button", { onClick: () => run(send(text)) }, "Send"),
    h("button", { onClick: () => run(call("pay", { to: "eve", amount: 5 })) }, "Pay eve"),
    h("button", { onClick: () => run(call("pay", { to: "", amount: 5 })) }, "Pay nobody"),
    view.status === "waiting" && h("button", { onClick: () => run(answer({ approved: true })) }, "Yes"),
    view.status === "waiting" && h("button", { onClick: () => run(cancel()) }, "Stop"),
    h("button", { onClick: () => setShown(!shown) }, "Toggle"),
    h("output", { "aria-label": "Chat" }, texts.join("|")),
    h("output", { "aria-label": "State" }, pending ? "pending" : view.status),
    h("output", { "aria-label": "Error" }, error?.code ?? "none"),
    shown && runId !== undefined && h(Copy, { runId }),
  );
}

function Copy({ runId }: { readonly runId: string }): ReactNode {
  const { view, connection } = useRun(client, runId);
  return h("output", { "aria-label": "Copy" }, `${view.turns.length} turns, ${connection.state}`);
}

const root = browser.document.querySelector("#root");
if (root) createRoot(root).render(h(StrictMode, null, h(Chat)));
