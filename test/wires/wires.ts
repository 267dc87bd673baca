import { randomUUID } from "node:crypto";
import type { ResponseObject } from "../../src/adapters/agentscope/index.ts";
import { AgentCard } from "@a2a-js/sdk";
import type { Task } from "@a2a-js/sdk";
import { ClientFactory } from "@a2a-js/sdk/client";
import type { Client as TaskClient } from "@a2a-js/sdk/client";
import { say, stateOf, textOf as answerOf } from "../adapters/a2a/server.ts";
import { endOf, parseFrames, saidIn } from "../adapters/ag-ui/server.ts";
import { textsOf } from "../adapters/agentscope/harness/objects.ts";
import { Client, statusOf, textOf } from "../adapters/aip/peers/client.ts";
import type { Addresses } from "./serve-wires.ts";

/** A request, as every wire can name it. */
export interface Run {
  readonly agent: string;
  readonly runId: string;
  readonly requestId: string;
}

/** A client of one protocol. Each method works on runs that began over any wire. */
export interface Wire {
  readonly name: string;
  /** Sends a text to an agent. Resolves with the id of the request when the agent asks or has ended. */
  begin(at: Addresses, agent: string, text: string): Promise<string>;
  /** Everything that this wire shows of a run. */
  read(at: Addresses, run: Run): Promise<unknown>;
  /** How an open turn stands, in a word of this wire; AIP has none for a turn that does not ask, and `undefined` stands for it. */
  stand(at: Addresses, run: Run, isAsking: boolean): Promise<string | undefined>;
  /** The words for a turn that waits for an answer, and for one that goes on by itself. */
  readonly words: { readonly asking: string; readonly working: string | undefined };
  /** Answers a question, and resolves with what the agent says when it has ended or asks again. */
  answer(at: Addresses, run: Run, keys: Readonly<Record<string, unknown>>): Promise<string>;
}

/** An event of the native protocol. */
export interface Event {
  readonly id: number;
  readonly type: string;
  readonly request_id: string;
  readonly result?: string;
  readonly request_keys?: Readonly<Record<string, string>>;
}

/** The events of a request, read over the native protocol. */
export async function eventsOf({ url }: Addresses, requestId: string): Promise<readonly Event[]> {
  return JSON.parse(await getText(`${url}/getevents/${requestId}?since=0`)) as readonly Event[];
}

const native: Wire = {
  name: "native",
  async begin({ url }, agent, input) {
    return (await post<Event>(`${url}/${agent}/process?wait=completed`, { input })).request_id;
  },
  async read(at, { requestId }) {
    return [await getText(`${at.url}/request/${requestId}`), await eventsOf(at, requestId)];
  },
  async stand({ url }, { requestId }) {
    return (JSON.parse(await getText(`${url}/request/${requestId}`)) as { readonly status: string }).status;
  },
  words: { asking: "held", working: "held" },
  async answer(at, { agent, requestId: request_id }, keys) {
    const asks = (event: Event): boolean => Object.keys(event.request_keys ?? {}).some((key) => key in keys);
    const wait_id = (await eventsOf(at, request_id)).find(
      (event) => event.type === "WaitForInput" && asks(event),
    )?.id;
    const body = { type: "ResumeWithInput", request_id, wait_id, request_keys: keys };
    return (await post<Event>(`${at.url}/${agent}/process?wait=completed`, body)).result ?? "";
  },
};

/** A session of AgentScope that its client did not name has the id of the run. */
const agentscope: Wire = {
  name: "AgentScope",
  async begin({ url }, agent, text) {
    const input = [{ role: "user", content: [{ type: "text", text }] }];
    const path = `${url}/agentscope/${agent}/process`;
    return (await post<{ readonly id: string }>(path, { input, stream: false })).id;
  },
  read: ({ url }, { agent, runId }) => getText(`${url}/agentscope/${agent}/process/sessions/${runId}/stream`),
  async stand({ url }, { agent, requestId }) {
    const task = await getText(`${url}/agentscope/${agent}/process/task/${requestId}`);
    const { status, result } = JSON.parse(task) as {
      readonly status: string;
      readonly result?: ResponseObject;
    };
    return `${status} ${result?.status ?? ""}`;
  },
  // Each answer of a person is a message of its own, and the question ends the response to the one before.
  words: { asking: "finished completed", working: "running " },
  async answer({ url }, { agent, runId }, data) {
    const body = { input: [{ content: [{ type: "data", data }] }], session_id: runId, stream: false };
    return textsOf(await post<ResponseObject>(`${url}/agentscope/${agent}/process`, body)).join("");
  },
};

interface Step {
  readonly output: string;
  readonly status: string;
  readonly is_last: boolean;
  readonly additional_output: { readonly request_id: string };
}

const classic: Wire = {
  name: "classic",
  async begin({ url }, agent, input) {
    const path = `${url}/${agent}/ap/v1/agent/tasks`;
    const { task_id } = await post<{ readonly task_id: string }>(path, { input });
    return (await post<Step>(`${path}/${task_id}/steps`, {})).additional_output.request_id;
  },
  async read({ url }, { agent, runId }) {
    const task = `${url}/${agent}/ap/v1/agent/tasks/${runId}`;
    return [await getText(task), await getText(`${task}/steps`)];
  },
  async stand({ url }, { agent, runId }) {
    const path = `${url}/${agent}/ap/v1/agent/tasks/${runId}/steps`;
    const { steps } = JSON.parse(await getText(path)) as { readonly steps: readonly Step[] };
    const { status, is_last: isLast } = steps.at(-1) ?? {};
    return `${status}, last: ${isLast}`;
  },
  words: { asking: "completed, last: false", working: "running, last: false" },
  async answer({ url }, { agent, runId }, keys) {
    const path = `${url}/${agent}/ap/v1/agent/tasks/${runId}/steps`;
    return (await post<Step>(path, { additional_input: keys })).output;
  },
};

const agentic: Wire = {
  name: "agentic dialect",
  async begin({ url }, agent, prompt) {
    const path = `${url}/agentic/${agent}`;
    const { request_id } = await post<{ readonly request_id: string }>(`${path}/process`, { prompt });
    await getText(`${path}/getevents?request_id=${request_id}&stream=true`);
    return request_id;
  },
  async read({ url }, { agent, runId, requestId }) {
    const path = `${url}/agentic/${agent}`;
    return [
      await getText(`${path}/getevents?request_id=${requestId}&stream=true`),
      await getText(`${path}/threads/${runId}/logs`),
    ];
  },
  async stand({ url }, { agent, runId }) {
    const logs = await getText(`${url}/agentic/${agent}/threads/${runId}/logs`);
    return /"event_name":"turn_/.test(logs) ? "ended" : "open";
  },
  words: { asking: "open", working: "open" },
  async answer({ url }, { agent, runId, requestId }, keys) {
    const path = `${url}/agentic/${agent}`;
    await post(`${path}/resume`, { continue_result: keys, thread_id: runId });
    const stream = await getText(`${path}/getevents?request_id=${requestId}&stream=true`);
    return /"content":"([^"]*)"\}\]/.exec(stream)?.[1] ?? "";
  },
};

/** A session of AIP whose id is that of a run continues the run. */
const aip: Wire = {
  name: "AIP",
  async begin(at, agent, text) {
    return (await quest(at, { agent, runId: randomUUID() }, text)).taskId;
  },
  read: (at, run) => quest(at, run),
  stand: async (at, run, isAsking) => (isAsking ? (await quest(at, run)).status : undefined),
  words: { asking: "holdResponse WAITING", working: undefined },
  async answer(at, run, keys) {
    return (await quest(at, run, JSON.stringify(keys))).text;
  },
};

/** A thread of AG-UI whose id is that of a run is the run. */
const agUi: Wire = {
  name: "AG-UI",
  async begin({ url }, agent, content) {
    const runId = randomUUID();
    await postRun(`${url}/ag-ui/${agent}`, { threadId: runId, runId, messages: [{ role: "user", content }] });
    return runId;
  },
  read: ({ url }, { agent, runId }) => getText(`${url}/ag-ui/${agent}/${runId}`),
  async stand(at, run, isAsking) {
    return isAsking ? endOf(parseFrames(String(await agUi.read(at, run))))?.type : undefined;
  },
  words: { asking: "interrupt", working: undefined },
  async answer(at, run, payload) {
    const end = endOf(parseFrames(String(await agUi.read(at, run))));
    const asked = end?.type === "interrupt" ? end.interrupts : [];
    // Who may not answer gets no schema.
    const named =
      asked.find(({ responseSchema = {} }) =>
        Object.keys(payload).some((key) => JSON.stringify(responseSchema).includes(`"${key}":`)),
      ) ?? asked[0];
    const resume = [{ interruptId: named?.id ?? "", status: "resolved", payload }];
    const body = { threadId: run.runId, runId: randomUUID(), messages: [], resume };
    return saidIn(parseFrames(await postRun(`${at.url}/ag-ui/${run.agent}`, body)));
  },
};

/** A task of A2A is the request with its id. */
const a2a: Wire = {
  name: "A2A",
  async begin({ url }, agent, text) {
    return ((await (await taskClient(url, agent)).sendMessage(say(text))) as Task).id;
  },
  read: async ({ url }, { agent, requestId: id }) =>
    (await taskClient(url, agent)).getTask({ tenant: "", id }),
  stand: async (at, run) => stateOf((await a2a.read(at, run)) as Task),
  words: { asking: "INPUT_REQUIRED", working: "WORKING" },
  async answer({ url }, { agent, requestId: taskId }, keys) {
    return answerOf((await (await taskClient(url, agent)).sendMessage(say(keys, { taskId }))) as Task);
  },
};

/** A client that got the card of its agent earlier: one that is no longer served has none. */
async function taskClient(url: string, agent: string): Promise<TaskClient> {
  const headers = { "a2a-version": "1.0" };
  const card = await read(await fetch(`${url}/.well-known/agent-card.json`, { headers }));
  const own: unknown = JSON.parse(card.replaceAll(/\/a2a\/[\w-]+/g, `/a2a/${agent}`));
  return new ClientFactory().createFromAgentCard(AgentCard.fromJSON(own));
}

/** Sends an input, and resolves with the frames of the run at its end. */
async function postRun(url: string, body: object): Promise<string> {
  const headers = { "content-type": "application/json" };
  return read(await fetch(url, { method: "POST", headers, body: JSON.stringify(body) }));
}

export const wires: readonly Wire[] = [native, agentscope, classic, agentic, aip, agUi, a2a];

/** One session with one quest. Without a text it asks how the newest turn of the run stands. */
export async function quest(
  { aip: address }: Addresses,
  { agent, runId }: Pick<Run, "agent" | "runId">,
  text?: string,
): Promise<{ readonly status: string; readonly text: string; readonly taskId: string }> {
  using client = new Client(address);
  const session = client.session({ receiver_id: agent, session_id: runId });
  session.start(text, { message_id: randomUUID() });
  const answer = await session.next();
  session.stop();
  const { code, details } = await session.status;
  if (code !== 0) throw new Error(`the session ended with status ${code}: ${details}`);
  return { status: statusOf(answer), text: textOf(answer), taskId: answer?.task_info?.task_id ?? "" };
}

/** Sends JSON and reads JSON. */
export async function post<Answer>(url: string, body: object): Promise<Answer> {
  const headers = { "content-type": "application/json" };
  const response = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
  return JSON.parse(await read(response)) as Answer;
}

/** Reads a body to its end. */
export async function getText(url: string): Promise<string> {
  return read(await fetch(url));
}

async function read(response: Response): Promise<string> {
  const text = await response.text();
  if (!response.ok) throw new Error(`${response.url} answers ${response.status}: ${text}`);
  return text;
}
