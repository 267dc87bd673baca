// A page that talks to `echo` with a token that a person types; its client is made while it is rendered.
import { createElement as h, useState } from "react";
import type { ReactNode } from "react";
import { createRoot } from "react-dom/client";
import { createClient } from "troupe/client";
import { useAgent } from "troupe/react";

/** The types of a browser are not part of this project. */
const browser = globalThis as unknown as {
  readonly location: { readonly origin: string };
  readonly document: { querySelector(selector: string): Element | null };
};

function Chat(): ReactNode {
  const [token, setToken] = useState("");
  const client = createClient(browser.location.origin, { token });
  const { view, error, send } = useAgent(client.agent("echo"));
  const texts = view.parts.map((message) => (message.kind === "text" ? message.text : ""));
  return h(
    "main",
    null,
    h("input", {
      "aria-label": "Token",
      value: token,
      onChange: ({ target }) => setToken((target as unknown as { readonly value: string }).value),
    }),
    h("button", { onClick: () => void send("hello").catch(() => {}) }, "Send"),
    h("output", { "aria-label": "Chat" }, texts.join("")),
    h("output", { "aria-label": "Error" }, error?.code ?? "none"),
  );
}

const root = browser.document.querySelector("#root");
if (root) createRoot(root).render(h(Chat));
