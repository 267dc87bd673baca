import { AgentError } from "../../errors.ts";
import type { RunId } from "../../protocol/ids.ts";
import type { MessageRequest, OperationRequest, TurnRequest } from "../../protocol/requests/requests.ts";
import { ownerIn } from "../access/scope.ts";
import type { Scope } from "../access/scope.ts";
import type { Agent } from "../agent/agent.ts";
import { HOPS_LIMIT, waitingCallers } from "../replay/actor-request.ts";
import { TOPIC_AGENT, checkPublishable } from "../agent/topic.ts";
import { isMessageName, toAsked } from "../agent/resolve-operation.ts";
import { checkWith } from "../agent/definition/schema.ts";
import { checkInput } from "../journal/json-limits.ts";
import type { RunContext } from "../run-context.ts";

/** Checks a request before it is accepted; throws an error of the client. */
export async function checkTurnRequest(
  { environment }: Pick<RunContext, "environment">,
  agent: Agent,
  request: TurnRequest,
): Promise<void> {
  await agent.remote?.ready();
  const asked = toAsked(agent, request);
  checkInput(request.input, "the input");
  checkClientTools(agent, request);
  if (asked && request.type === "OperationRequest") {
    const what = `the input of ${agent.name}.${asked.name}`;
    await checkWith(environment, asked.operation.input, asked.input, what);
  }
}

function checkClientTools({ name: agent, clientTools }: Agent, { tools = [] }: TurnRequest): void {
  const taken = clientTools && tools.find(({ name }) => clientTools.owns(name));
  if (taken)
    throw new AgentError("unprocessable", `agent ${agent} has a tool ${taken.name} of its own`, {
      hint: "give the client's tool another name",
    });
}

/** Checks a message before it is accepted; throws an error of the client. */
export async function checkMessage(
  { environment, agents }: Pick<RunContext, "environment" | "agents">,
  { name: agent, messages = {} }: Agent,
  { name, body, key }: MessageRequest,
): Promise<void> {
  if (agent === TOPIC_AGENT) {
    checkPublishable(name);
    if (key === undefined)
      throw new AgentError("invalid_request", "a publication needs the name of its topic", {
        hint: "give the topic as the key",
      });
    const published = agents.topics.schemaOf(key, name);
    checkInput(body, "the body");
    if (published) await checkWith(environment, published, body, `${name} of topic ${key}`);
    return;
  }
  const schema = Object.hasOwn(messages, name) ? messages[name] : undefined;
  if (schema === undefined) {
    const declared = Object.keys(messages);
    throw new AgentError("unprocessable", `agent ${agent} accepts no message ${name}`, {
      hint: declared.length === 0 ? "it accepts no messages" : `its messages: ${declared.join(", ")}`,
      facts: { messages: declared },
    });
  }
  checkInput(body, "the body");
  await checkWith(environment, schema, body, `message ${name} of ${agent}`);
}

/** Checks what an actor is told, before it is accepted: a request or a message. Throws an error of the sender. */
export async function checkToldRequest(
  context: Pick<RunContext, "environment" | "agents">,
  agent: Agent,
  { operation: name, input, ...request }: Omit<OperationRequest, "type">,
): Promise<void> {
  const { key } = request;
  if (isMessageName(agent, name))
    await checkMessage(context, agent, {
      type: "Message",
      name,
      body: input,
      ...(key !== undefined && { key }),
    });
  else
    await checkTurnRequest(context, agent, { ...request, type: "OperationRequest", operation: name, input });
}

/**
 * Finds the local agents among the callers of a request, so that calls over other servers count like calls
 * within one turn; actors with keys are not counted. Throws `too_deep` for a request that is nested too deep, or whose agent calls itself too
 * often.
 */
export async function findCallers(
  agent: string,
  { caller, depth = 0, hops, key }: TurnRequest,
  { log, limits }: RunContext,
  scope: Scope,
): Promise<readonly string[]> {
  if (depth > limits.depth)
    throw new AgentError("too_deep", `agent calls are nested more than ${limits.depth} deep`);
  if (hops !== undefined && hops.n > HOPS_LIMIT)
    throw new AgentError("too_deep", `the request ends a chain of more than ${HOPS_LIMIT} tells`);
  const waiting = waitingCallers(caller);
  if (waiting.length === 0) return [];
  const runs = await Promise.all(waiting.map(({ run_id: runId }) => log.run(runId as RunId, ownerIn(scope))));
  // An actor with a key is not the same as others of its agent, and cannot be among its own callers: that is a cycle.
  const callers = runs.flatMap((run) => (run === undefined || run.alias !== undefined ? [] : [run.agent]));
  if (key === undefined && callers.filter((name) => name === agent).length > limits.selfCalls)
    throw new AgentError("too_deep", `${agent} calls itself more than ${limits.selfCalls} deep`);
  return callers;
}
