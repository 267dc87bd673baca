// A page with the components of troupe/react/ui, and a view of its own for one tool.
import { createElement as h, StrictMode } from "react";
import type { ReactNode } from "react";
import { createRoot } from "react-dom/client";
import { createClient } from "troupe/client";
import { useAgent } from "troupe/react";
import { ActorOutline, ConversationPane } from "troupe/react/ui";
import type { ToolCallProps } from "troupe/react/ui";

/** The types of a browser are not part of this project. */
const browser = globalThis as unknown as {
  readonly location: { readonly origin: string };
  readonly document: { querySelector(selector: string): Element | null };
};
const client = createClient(browser.location.origin);

function Weight({ call }: ToolCallProps): ReactNode {
  return h("output", { "aria-label": "Weight" }, JSON.stringify(call.result ?? null));
}

function Desk(): ReactNode {
  const conversation = useAgent(client.agent("desk"));
  return h(
    "main",
    null,
    h(ConversationPane, { conversation, tools: { weigh: Weight } }),
    h(ActorOutline, { view: conversation.view }),
  );
}

const root = browser.document.querySelector("#root");
if (root) createRoot(root).render(h(StrictMode, null, h(Desk)));
