import { createRuntime } from "troupe";
import type { Agent, Runtime } from "troupe";
import type { Event, JsonObject, RequestId, RunId } from "troupe/protocol";
import { Projection } from "../../../../src/adapters/agentscope/response/projection.ts";
import type { AgentScopeObject } from "../../../../src/adapters/agentscope/index.ts";

/** A turn of one agent on a memory log, whose responses are read as objects. */
export class ProjectedTurn implements AsyncDisposable {
  readonly #runtime: Runtime;
  readonly #agent: string;
  #requestId!: RequestId;
  #runId!: RunId;

  private constructor(agent: Agent) {
    this.#runtime = createRuntime({ agents: [agent] });
    this.#agent = agent.name;
  }

  /** Asks an agent, and waits until it ends or asks something. */
  static async start(agent: Agent, input: string): Promise<ProjectedTurn> {
    const turn = new ProjectedTurn(agent);
    await turn.#runtime.ready();
    const receipt = await turn.#runtime.process(agent.name, { type: "ChatRequest", input });
    turn.#requestId = receipt.requestId;
    turn.#runId = receipt.runId as RunId;
    await turn.events();
    return turn;
  }

  /** All events of the request until it ends or waits. */
  async events(): Promise<readonly Event[]> {
    return (await this.#texts()).map((text) => JSON.parse(text) as Event);
  }

  /** Answers a question. */
  async answer(waitId: number, values: JsonObject): Promise<void> {
    await this.#runtime.process(this.#agent, {
      type: "ResumeWithInput",
      request_id: this.#requestId,
      wait_id: waitId,
      request_keys: values,
    });
    await this.events();
  }

  /** Cancels the request. */
  async cancel(): Promise<void> {
    await this.#runtime.process(this.#agent, { type: "CancelRequest", request_id: this.#requestId });
    await this.events();
  }

  /** The objects of a response; the first, or the one that the event with an id began. */
  async objects(began?: number): Promise<readonly AgentScopeObject[]> {
    const projection = new Projection({ sessionId: "s", began });
    const objects = (await this.#texts()).flatMap((text) => projection.take(text));
    return [...objects, ...projection.endAtWait()];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#runtime.close();
  }

  async #texts(): Promise<readonly string[]> {
    const address = {
      kind: "request",
      runId: this.#runId,
      requestId: this.#requestId,
      agent: this.#agent,
    } as const;
    const texts: string[] = [];
    const feed = await this.#runtime.follow(address, { after: 0 });
    for await (const { events } of feed.pages) texts.push(...events);
    return texts;
  }
}
