import { isObject } from "../../../protocol/json.ts";
import type { Json } from "../../../protocol/json.ts";
import type { RemoteEnd, RemoteRequest, RemoteSession } from "../../../runtime/agent/remote-port.ts";
import { toJson } from "../../../runtime/journal/json-limits.ts";
import { hashParts } from "../../../shared/sha256.ts";
import { contentText } from "../wire/content.ts";
import type { ToolResponse } from "../wire/messages.ts";
import { toFailedEnd, toFailure, toInterrupted } from "./end.ts";
import { storeReceivedFiles } from "./store-files.ts";
import { SENDER } from "./node-connection.ts";
import type { NodeConnection } from "./node-connection.ts";

/** How long a tool may take. */
const LIMIT_MS = 600_000;

/** Calls a tool of a far toolbox. `name` is the local name of the toolbox. */
export async function callFarTool(
  node: NodeConnection,
  name: string,
  { operation, input }: RemoteRequest,
  session: RemoteSession,
): Promise<RemoteEnd> {
  const tool = `tool ${operation} of ${name}`;
  if (session.kept !== undefined) return toInterrupted(tool);
  const over = new AbortController();
  let isSent = false;
  let isLate = false;
  const stopTimer = session.environment.timer(LIMIT_MS, () => {
    isLate = true;
    over.abort();
  });
  try {
    const { channel, library } = await node.connect();
    // From here on a crash leaves open whether the tool was called.
    await session.keep({ sent: true });
    isSent = true;
    session.busy(true);
    const bytes = library.codecs.ToolRequest.encode({
      sender_id: SENDER,
      receiver_id: node.id,
      session_id: `tool_${await hashParts(session.key)}`,
      tool_name: operation,
      arguments: JSON.stringify(input),
    });
    const signal = AbortSignal.any([over.signal, session.signal]);
    signal.throwIfAborted();
    const answer = library.codecs.ToolResponse.decode(await channel.pass(node.toolPath, bytes, signal));
    if (answer.is_error) return toFailure("failed", answer.error_message || `${tool} failed`);
    await storeReceivedFiles(answer.content, { session, agent: name, before: 0 });
    return toResult(answer, tool);
  } catch (thrown) {
    session.signal.throwIfAborted();
    if (isLate) return toFailure("timeout", `${tool} gave no answer within ${LIMIT_MS / 1_000} s`);
    return toFailedEnd(thrown, tool, isSent);
  } finally {
    stopTimer();
  }
}

function toResult({ content }: ToolResponse, tool: string): RemoteEnd {
  const text = contentText(content);
  const output = toJson(parse(text), `what ${tool} returned`);
  return { ok: true, result: text, output, truncated: false };
}

/** The value of a JSON object or list; any other text stays a text, because peers write numbers and texts alike. */
function parse(text: string): Json {
  try {
    const value = JSON.parse(text) as Json;
    return isObject(value) || Array.isArray(value) ? value : text;
  } catch {
    return text;
  }
}
