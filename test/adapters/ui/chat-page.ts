// A page with `useChat`, whose address says which agent it talks to and how: `?api=ADDRESS`, and `&native` for our own protocol.
import { useChat } from "@ai-sdk/react";
import { DefaultChatTransport, lastAssistantMessageIsCompleteWithApprovalResponses } from "ai";
import type { UIMessage } from "ai";
import { createElement as h, useEffect, useState } from "react";
import type { ReactNode } from "react";
import { createRoot } from "react-dom/client";
import { createClient } from "troupe/client";
import { createChatTransport } from "troupe/client/ui";

/** The types of a browser are not part of this project. */
const browser = globalThis as unknown as {
  readonly location: { readonly href: string };
  readonly sessionStorage: { getItem(key: string): string | null; setItem(key: string, value: string): void };
  readonly document: { querySelector(selector: string): Element | null };
};
const asked = new URL(browser.location.href).searchParams;
const api = asked.get("api") ?? "";
const [origin = "", agent = ""] = api.split("/ui/");
const native = asked.has("native") ? createChatTransport(createClient(origin), agent) : undefined;
const kept = JSON.parse(browser.sessionStorage.getItem("messages") ?? "[]") as UIMessage[];

function Chat(): ReactNode {
  const [text, setText] = useState("");
  const chat = useChat({
    id: "chat-1",
    messages: kept,
    transport: native ?? new DefaultChatTransport({ api }),
    resume: true,
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
  });
  const { messages, status, error } = chat;
  useEffect(() => browser.sessionStorage.setItem("messages", JSON.stringify(messages)), [messages]);
  const run = (work: PromiseLike<unknown> | void): void => void work?.then(undefined, () => {});
  const stop = async (): Promise<void> => {
    if (native) await native.cancel("chat-1");
    else await fetch(`${api}/chat-1/stop`, { method: "POST" });
  };
  return h(
    "main",
    null,
    h("input", {
      "aria-label": "Text",
      value: text,
      onChange: ({ target }) => setText((target as unknown as { readonly value: string }).value),
    }),
    h("button", { onClick: () => run(chat.sendMessage({ text })) }, "Send"),
    h("button", { onClick: () => run(stop()) }, "Stop"),
    h("button", { onClick: () => run(chat.resumeStream()) }, "Resume"),
    h("button", { onClick: () => run(chat.regenerate()) }, "Again"),
    h("output", { "aria-label": "Chat" }, messages.map(shown).join("|")),
    h("output", { "aria-label": "Status" }, status),
    h("output", { "aria-label": "Error" }, error?.message ?? "none"),
    ...messages.flatMap(({ parts }) =>
      parts.flatMap((part) =>
        part.type === "dynamic-tool" && part.state === "approval-requested"
          ? [true, false].map((approved) =>
              h(
                "button",
                {
                  key: `${part.toolCallId} ${approved}`,
                  onClick: () => run(chat.addToolApprovalResponse({ id: part.approval.id, approved })),
                },
                approved ? "Approve" : "Deny",
              ),
            )
          : [],
      ),
    ),
  );
}

/** A message as one line. */
function shown({ role, parts }: UIMessage): string {
  const words = parts.map((part) => {
    if (part.type === "text") return part.text;
    return part.type === "dynamic-tool" ? `[${part.toolName} ${part.state}]` : "";
  });
  return `${role}: ${words.join("")}`;
}

const root = browser.document.querySelector("#root");
if (root) createRoot(root).render(h(Chat));
