import type { CallToolResult, ContentBlock } from "@modelcontextprotocol/server";
import type { AgentError } from "../../errors.ts";
import type { JsonObject } from "../../protocol/json.ts";
import type { FileView, RunView, TurnView, WaitView } from "../../view/run-view.ts";
import { segmentsOf, textOf } from "../../view/segments.ts";
import { toQuestion } from "../../view/to-answer.ts";
import { ANSWER } from "./tools.ts";

/** The result of a call whose request has ended. */
export function toCallResult(
  view: RunView,
  turn: TurnView,
  { address, isStructured }: { readonly address: string; readonly isStructured: boolean },
): CallToolResult {
  const { outcome, error, output } = turn;
  const base = { _meta: metaOf(view, turn.requestId) };
  if (outcome !== "success") {
    const message = outcome === "canceled" ? "the request was canceled" : `${error?.code}: ${error?.message}`;
    return { ...base, isError: true, content: [toText(message), ...linksOf(view, address)] };
  }
  const said = saidIn(view, turn);
  const isValue = isStructured || (typeof output === "object" && output !== null);
  // Clients that know no structured results read it as text.
  const texts = [
    ...(said === "" && isValue ? [] : [said]),
    ...(isValue ? [JSON.stringify(output ?? null)] : []),
  ];
  return {
    ...base,
    content: [...texts.map(toText), ...linksOf(view, address)],
    ...(isValue && { structuredContent: output ?? null }),
  };
}

/** The result of a call whose request waits for an answer, for a client that cannot be asked: what is asked, and how to answer. */
export function toWaiting(
  view: RunView,
  requestId: string,
  waits: readonly WaitView[],
  address: string,
): CallToolResult {
  const asked = waits.map(({ waitId, question, questions, schema, approvers }) => ({
    wait_id: waitId,
    ...(question === undefined ? { request_keys: questions } : { question }),
    ...(schema && { schema }),
    ...(approvers && { approvers }),
  }));
  const said = textOf(segmentsOf(view).findLast(({ turn }) => turn.requestId === requestId)?.parts ?? []);
  const lines = waits.map((wait) => {
    if (wait.question !== undefined) return toQuestion(wait);
    const values = Object.fromEntries(Object.keys(wait.questions).map((key) => [key, "…"]));
    const call = JSON.stringify({ request_id: requestId, wait_id: wait.waitId, values });
    return `${toQuestion(wait)}\nTo answer, call the tool ${ANSWER} with ${call}.`;
  });
  return {
    content: [...(said === "" ? [] : [toText(said)]), toText(lines.join("\n\n")), ...linksOf(view, address)],
    structuredContent: { waiting: { request_id: requestId, run_id: view.runId, waits: asked } as JsonObject },
    _meta: metaOf(view, requestId),
  };
}

/** A refusal as the result of a tool, so that a model can correct its call. */
export function toRefused(
  { code, message, details: { hint, facts } }: AgentError,
  meta: JsonObject = {},
): CallToolResult {
  const text = hint === undefined ? message : `${message}; ${hint}`;
  return {
    isError: true,
    content: [toText(text)],
    _meta: { ...meta, ...(facts as JsonObject | undefined), code },
  };
}

/** The names of a run and a request, by which they are found over all protocols. */
export function metaOf({ runId }: Pick<RunView, "runId">, requestId: string): JsonObject {
  return { run_id: runId, request_id: requestId };
}

/** What the agent itself has said; the end of a turn may hold only its beginning. */
function saidIn(view: RunView, { requestId, result, isResultCut }: TurnView): string {
  if (isResultCut !== true) return result ?? "";
  return textOf(view.parts.filter((part) => part.requestId === requestId));
}

function toText(text: string): ContentBlock {
  return { type: "text", text };
}

/** The files that agents have made, as links that this server answers. */
function linksOf({ files }: RunView, address: string): ContentBlock[] {
  return files.filter(({ isGenerated }) => isGenerated).map((file) => toLink(file, address));
}

function toLink({ name, url, mimeType, sizeBytes }: FileView, address: string): ContentBlock {
  return { type: "resource_link", name, uri: `${address}${url}`, mimeType, size: sizeBytes };
}
