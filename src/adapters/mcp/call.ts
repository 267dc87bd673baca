import { inputRequired, ProtocolError, ProtocolErrorCode } from "@modelcontextprotocol/server";
import type {
  CallToolRequest,
  CallToolResult,
  InputRequiredResult,
  ServerContext,
} from "@modelcontextprotocol/server";
import { AgentError, toAgentError } from "../../errors.ts";
import { checkNative } from "../../http/messages/native-request.ts";
import { isFault } from "../../http/messages/problem.ts";
import type { RequestId, RunId } from "../../protocol/ids.ts";
import type { Request, ResumeWithInput } from "../../protocol/requests/requests.ts";
import type { JsonObject } from "../../protocol/json.ts";
import type { Receipt, Runtime } from "../../runtime/api.ts";
import { readRequest } from "../../view/read-request.ts";
import type { Change } from "../../view/run-view.ts";
import { openWaitsOf } from "../../view/segments.ts";
import { toAnswer } from "../../view/to-answer.ts";
import { project } from "../../view/fold.ts";
import type { Event } from "../../protocol/events/events.ts";
import { CallProgress } from "./call-progress.ts";
import { canElicit, readElicited, toElicitations } from "./elicitation.ts";
import { metaOf, toRefused, toCallResult, toWaiting } from "./result.ts";
import type { McpService } from "./service.ts";
import {
  ANSWER,
  findTool,
  outputSchemaOf,
  parseAnswerArguments,
  toToolRequest,
  unknownTool,
} from "./tools.ts";
import type { AnswerArguments } from "./tools.ts";

/** What a client keeps of a call that goes on later. */
interface SealedCall {
  readonly agent: string;
  readonly run_id: RunId;
  readonly request_id: RequestId;
}

const SEAL = "mcp call";

function seal(runtime: Runtime, { agent, runId, requestId }: CalledRequest): Promise<string> {
  return runtime.seals.seal(SEAL, { agent, run_id: runId, request_id: requestId });
}

/** What a client has kept of a call. Throws for a text that this server has not given it. */
export async function openSealedCall(runtime: Runtime, text: string): Promise<SealedCall> {
  const state = await runtime.seals.open(SEAL, text);
  if (state === undefined) throw new AgentError("invalid_request", "the state was not sealed here");
  return state as unknown as SealedCall;
}

/** A request that a call is about. */
interface CalledRequest {
  readonly agent: string;
  readonly runId: RunId;
  readonly requestId: RequestId;
  /** The event before those that the call has caused. */
  readonly after: number;
}

/** Calls a tool, and returns what the agent has answered or asks. */
export async function callTool(
  service: McpService,
  { name, arguments: given = {} }: CallToolRequest["params"],
  ctx: ServerContext,
): Promise<CallToolResult | InputRequiredResult> {
  const { host, agent } = service;
  const { runtime } = host;
  try {
    const state = ctx.mcpReq.requestState<SealedCall>();
    if (state !== undefined) return await goOn(service, ctx, state);
    if (name === ANSWER)
      return await follow(service, ctx, await answer(service, parseAnswerArguments(given)));
    const tool = findTool(runtime, agent, name);
    if (tool === undefined)
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, unknownTool(name).message);
    const { _meta: meta = {} } = ctx.mcpReq;
    const request = checkNative(toToolRequest(tool, given, meta));
    const receipt = await runtime.process(tool.agent, request);
    if (receipt.event !== undefined && receipt.kind === "read")
      return toRead(service, receipt.event, outputSchemaOf(tool.operation) !== undefined);
    return await follow(service, ctx, toCalled(tool.agent, receipt));
  } catch (thrown) {
    if (thrown instanceof ProtocolError) throw thrown;
    if (isFault(thrown)) host.report(`the tool ${name} failed`, thrown);
    return toRefused(toAgentError(thrown));
  }
}

function toCalled(agent: string, { runId, requestId, after }: Receipt): CalledRequest {
  return { agent, runId: runId ?? "", requestId, after };
}

/** The result of an operation that only reads, whose one event is not in the log. */
function toRead({ address }: McpService, event: string, isStructured: boolean): CallToolResult {
  const view = project([JSON.parse(event) as Event]);
  const [turn] = view.turns;
  if (turn === undefined) throw new AgentError("internal", "an operation that reads has no end");
  return toCallResult(view, turn, { address, isStructured });
}

/** Answers a question. Without values nothing is answered, and the request is only followed. */
async function answer(
  { host: { runtime }, agent }: McpService,
  { requestId, waitId, values }: AnswerArguments,
): Promise<CalledRequest> {
  const known = await runtime.status(requestId);
  if (agent !== undefined && known.agent !== agent)
    throw new AgentError("not_found", `the agent ${agent} has no request ${requestId}`);
  const called = { agent: known.agent, runId: known.run_id, requestId, after: known.last_event_id };
  if (values === undefined) return called;
  const wait_id = waitId ?? known.wait_id;
  const resume: ResumeWithInput = {
    type: "ResumeWithInput",
    request_id: requestId,
    ...(wait_id !== undefined && { wait_id }),
    request_keys: typeof values === "string" ? await readTyped(runtime, called, wait_id, values) : values,
  };
  return toCalled(known.agent, await runtime.process(known.agent, checkNative(resume)));
}

/** Goes on with a call after the client has asked people what the request waits for. */
async function goOn(
  service: McpService,
  ctx: ServerContext,
  { request_id: requestId, agent, run_id: runId }: SealedCall,
): Promise<CallToolResult | InputRequiredResult> {
  const { runtime } = service.host;
  const { last_event_id: after } = await runtime.status(requestId);
  const called = { agent, runId, requestId, after };
  const responses = ctx.mcpReq.inputResponses;
  if (responses === undefined) return follow(service, ctx, called);
  const { waits } = await readRequest(runtime, { ...called, signal: ctx.mcpReq.signal });
  let isAnswered = false;
  for (const wait of waits.filter((one) => one.requestId === requestId)) {
    const elicited = readElicited(wait, responses);
    if (elicited.action === "none") continue;
    isAnswered = true;
    const request: Request =
      elicited.action === "cancel"
        ? { type: "CancelRequest", request_id: requestId }
        : {
            type: "ResumeWithInput",
            request_id: requestId,
            wait_id: wait.waitId,
            request_keys: elicited.values,
          };
    await runtime.process(agent, checkNative(request));
  }
  // Whoever has closed the forms is not asked again and again.
  return follow(service, ctx, called, { canAsk: isAnswered });
}

/** The values of an answer that was given as a text. */
async function readTyped(
  runtime: Runtime,
  called: CalledRequest,
  waitId: number | undefined,
  text: string,
): Promise<JsonObject> {
  const view = await readRequest(runtime, called);
  const wait = openWaitsOf(view, called.requestId).find((open) => open.waitId === waitId);
  if (wait === undefined)
    throw new AgentError("conflict", `the request ${called.requestId} does not ask this now`);
  return toAnswer(wait, text);
}

/** Reads a request until it ends or asks something. When the caller goes away before that, the request is canceled. */
async function follow(
  service: McpService,
  ctx: ServerContext,
  called: CalledRequest,
  { canAsk = canElicit(ctx) }: { readonly canAsk?: boolean } = {},
): Promise<CallToolResult | InputRequiredResult> {
  const { c, host, address } = service;
  const { runtime, waits } = host;
  const { agent, requestId } = called;
  const caller = ctx.mcpReq.signal;
  const { _meta: meta } = ctx.mcpReq;
  const token = meta?.progressToken;
  const progress = token === undefined ? undefined : new CallProgress(ctx, token, metaOf(called, requestId));
  const view = await waits.until(c, (signal) =>
    readRequest(runtime, {
      ...called,
      signal: AbortSignal.any([signal, caller]),
      ...(progress && { changed: (changes) => progress.add(changes.map(textOf).join("")) }),
    }),
  );
  await progress?.end();
  const turn = view.turns.find((one) => one.requestId === requestId);
  if (turn?.outcome !== undefined) {
    const operations = runtime.agents.includes(agent) ? runtime.describe(agent).operations : [];
    const operation = operations.find(({ name }) => name === turn.operation);
    return toCallResult(view, turn, {
      address,
      isStructured: operation !== undefined && outputSchemaOf(operation) !== undefined,
    });
  }
  if (caller.aborted) {
    await runtime.process(agent, { type: "CancelRequest", request_id: requestId });
    return toRefused(new AgentError("conflict", "the call was canceled"));
  }
  const open = openWaitsOf(view, requestId);
  const answerable = open.filter(({ question }) => question === undefined);
  if (answerable.length > 0 && canAsk) {
    return inputRequired({
      inputRequests: toElicitations(answerable),
      requestState: await seal(runtime, called),
    });
  }
  if (open.length > 0) return toWaiting(view, requestId, open, address);
  // The server is stopping. A client that is told so calls again by itself, and reaches the next server.
  if (ctx.mcpReq.envelope !== undefined) return inputRequired({ requestState: await seal(runtime, called) });
  const hint = `the tool ${ANSWER} with this request_id and without values has the result`;
  const facts = { ...metaOf(view, requestId) };
  throw new AgentError("unavailable", "the server is stopping; the agent goes on", { hint, facts });
}

/** What a change adds to the text of the agent, or what one of its tools reports. */
function textOf(change: Change): string {
  if (change.type === "text")
    return change.part.kind === "text" && change.part.depth === 0 ? change.text : "";
  return change.type === "progress" && change.call.depth === 1 ? change.text : "";
}
