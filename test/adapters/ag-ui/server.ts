import { HttpAgent } from "@ag-ui/client";
import type { RunAgentParameters } from "@ag-ui/client";
import type { Interrupt, RunFinishedEvent } from "@ag-ui/core";
import { EventSchema } from "@ag-ui/core/schemas";
import type { Agent } from "troupe";
import { agUi } from "../../../src/adapters/ag-ui/index.ts";
import type { AgUiOptions } from "../../../src/adapters/ag-ui/index.ts";
import type { AgUiEvent } from "../../../src/adapters/ag-ui/event.ts";
import { RestartableServer } from "../restartable-server.ts";
import type { RestartableSettings } from "../restartable-server.ts";

/** A server on a real socket that speaks AG-UI. */
export class AgUiServer extends RestartableServer {
  static async start(
    agents: readonly Agent[],
    { options, ...settings }: RestartableSettings & { readonly options?: AgUiOptions } = {},
  ): Promise<AgUiServer> {
    const server = new AgUiServer(agents, settings, () => agUi(options));
    await server.listen();
    return server;
  }

  /** The unmodified client of the protocol, in a thread. */
  thread(agent: string, threadId = "thread-1", headers: Readonly<Record<string, string>> = {}): Thread {
    return new Thread(() => `${this.url}/ag-ui/${agent}`, threadId, headers);
  }

  post(path: string, body: unknown, headers: Readonly<Record<string, string>> = {}): Promise<Response> {
    return fetch(this.url + path, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: typeof body === "string" ? body : JSON.stringify(body),
    });
  }
}

/** A thread, followed by the unmodified client with its verification on. Every frame is one of the schema. */
export class Thread {
  readonly #urlOf: () => string;
  readonly client: HttpAgent;
  /** The text of the newest answer as it came. */
  text = "";

  constructor(urlOf: () => string, threadId: string, headers: Readonly<Record<string, string>> = {}) {
    this.#urlOf = urlOf;
    const record = async (_url: string, init?: RequestInit): Promise<Response> => {
      this.text = "";
      return this.#record(await fetch(this.#urlOf(), init));
    };
    this.client = new HttpAgent({ url: "http://here", threadId, headers, fetch: record });
  }

  /** Sends a text, and resolves with the events of the run. */
  async say(content: string, parameters: RunAgentParameters = {}): Promise<readonly AgUiEvent[]> {
    this.client.messages.push({ id: `user-${this.client.messages.length}`, role: "user", content });
    return this.run(parameters);
  }

  /** Runs the agent with the messages that the client has. */
  async run(parameters: RunAgentParameters = {}): Promise<readonly AgUiEvent[]> {
    await this.client.runAgent(parameters);
    return this.events;
  }

  /** Answers the open interrupts, each with a payload or, without one, with its cancel. */
  async resume(
    payloads: readonly unknown[],
    parameters: RunAgentParameters = {},
  ): Promise<readonly AgUiEvent[]> {
    const resume = this.client.pendingInterrupts.map(({ id: interruptId }, index) => {
      const payload = payloads[index];
      return payload === undefined
        ? ({ interruptId, status: "cancelled" } as const)
        : ({ interruptId, status: "resolved", payload } as const);
    });
    return this.run({ ...parameters, resume });
  }

  /** Reads a run again, as a client does that has lost its connection: the newest one, or the one that is named. */
  async reread(query = "", headers: Readonly<Record<string, string>> = {}): Promise<string> {
    const url = `${this.#urlOf()}/${encodeURIComponent(this.client.threadId)}${query}`;
    const answer = await fetch(url, { headers });
    const text = await answer.text();
    if (answer.status !== 200) return String(answer.status);
    parseFrames(text);
    return text;
  }

  /** The events of the newest answer. */
  get events(): readonly AgUiEvent[] {
    return parseFrames(this.text);
  }

  /** What the agent has said in the newest answer, without what sub-agents say. */
  get said(): string {
    return saidIn(this.events);
  }

  get interrupts(): readonly Interrupt[] {
    return this.client.pendingInterrupts;
  }

  #record(answer: Response): Response {
    if (answer.body === null) return answer;
    const decoder = new TextDecoder();
    const record = new TransformStream<Uint8Array, Uint8Array>({
      transform: (bytes, controller) => {
        this.text += decoder.decode(bytes, { stream: true });
        controller.enqueue(bytes);
      },
    });
    return new Response(answer.body.pipeThrough(record), { status: answer.status, headers: answer.headers });
  }
}

/** The events of an answer, each parsed by the schema of the protocol. */
export function parseFrames(text: string): readonly AgUiEvent[] {
  return text.split("\n\n").flatMap((frame) => {
    const [data] = frame.split("\n").flatMap((line) => (line.startsWith("data: ") ? [line.slice(6)] : []));
    return data === undefined ? [] : [EventSchema.parse(JSON.parse(data)) as AgUiEvent];
  });
}

export function saidIn(events: readonly AgUiEvent[]): string {
  const own = new Set(
    events.flatMap((event) =>
      event.type === "TEXT_MESSAGE_START" && event.subagentRunId === undefined ? [event.messageId] : [],
    ),
  );
  return events
    .map((event) => (event.type === "TEXT_MESSAGE_CONTENT" && own.has(event.messageId) ? event.delta : ""))
    .join("");
}

export function typesOf(events: readonly AgUiEvent[]): readonly string[] {
  return events.map(({ type }) => type);
}

/** How a run has ended. */
export function endOf(events: readonly AgUiEvent[]): RunFinishedEvent["outcome"] {
  const end = events.at(-1);
  return end?.type === "RUN_FINISHED" ? end.outcome : undefined;
}
