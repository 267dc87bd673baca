import type { ContentBlock } from "@agentclientprotocol/sdk";
import { AgentError } from "../../errors.ts";
import { parseBase64 } from "../../http/messages/inline-file.ts";
import type { AgentDescriptor } from "../../protocol/answers/descriptor.ts";
import { CHAT } from "../../runtime/agent/agent.ts";
import { parseJson } from "../../protocol/json.ts";
import type { Json } from "../../protocol/json.ts";
import type { Upload } from "../../client/client-api.ts";

/** What a prompt says. */
export interface EditorPrompt {
  readonly text: string;
  /** Files inside the prompt. */
  readonly files: readonly Upload[];
}

/** Reads a prompt. Links and files that are texts are named in the text, as the person has put them. */
export function readEditorPrompt(blocks: readonly ContentBlock[]): EditorPrompt {
  const texts: string[] = [];
  const files: Upload[] = [];
  for (const [index, block] of blocks.entries()) {
    const place = `prompt[${index}]`;
    if (block.type === "text") texts.push(block.text);
    else if (block.type === "resource_link") texts.push(`[${block.name}](${block.uri})`);
    else if (block.type === "resource" && "text" in block.resource) {
      const { uri, text } = block.resource;
      texts.push(`<file uri="${uri}">\n${text}\n</file>`);
    } else {
      const isResource = block.type === "resource";
      const { mimeType, data } = isResource
        ? { mimeType: block.resource.mimeType, data: "blob" in block.resource ? block.resource.blob : "" }
        : block;
      const name = isResource
        ? (block.resource.uri.split("/").at(-1) ?? "file")
        : `${block.type}-${index + 1}`;
      const bytes = parseBase64(data, `${place}.data`);
      files.push({ name, mimeType: mimeType ?? "application/octet-stream", data: bytes });
    }
  }
  return { text: texts.join("\n"), files };
}

/** What a prompt asks of an agent. */
export type PromptCommand =
  | { readonly type: "chat"; readonly text: string }
  | { readonly type: "operation"; readonly name: string; readonly input: Json; readonly read: boolean }
  | { readonly type: "message"; readonly name: string; readonly body: Json };

/** Reads what a text asks: a command like `/refund {"id": 3}`, else the operation of the mode, else a chat. */
export function readCommand(text: string, mode: string, agent: AgentDescriptor): PromptCommand {
  const [, name = "", rest = ""] = /^\/([\w.-]+)\s*([\s\S]*)$/.exec(text.trim()) ?? [];
  if (agent.messages?.some((message) => message.name === name) === true)
    return { type: "message", name, body: toInput(rest, name) };
  const isCommand = agent.operations.some((operation) => operation.name === name);
  const operation = agent.operations.find((one) => one.name === (isCommand ? name : mode));
  if (operation === undefined || operation.name === CHAT)
    return { type: "chat", text: isCommand ? rest : text };
  const input = toInput(isCommand ? rest : text, operation.name);
  return { type: "operation", name: operation.name, input, read: operation.read === true };
}

function toInput(text: string, name: string): Json {
  if (text.trim() === "") return {};
  const input = parseJson(text);
  if (input !== undefined) return input;
  throw new AgentError("unprocessable", `the input of ${name} is no JSON`, {
    hint: `write it as JSON, as in /${name} {"key": "value"}`,
  });
}
