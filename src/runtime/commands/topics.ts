import { AgentError } from "../../errors.ts";
import type { RunEntry } from "../../ports/log-entries.ts";
import type { Publication, TopicDetails, TopicSummary } from "../../protocol/answers/topic.ts";
import { toTimestamp } from "../../protocol/events/encode.ts";
import type { EventOf } from "../../protocol/events/events.ts";
import type { Messages } from "../agent/agent.ts";
import { describeMessages } from "../agent/definition/describe.ts";
import { TOPIC_AGENT, topic } from "../agent/topic.ts";
import type { Topic } from "../agent/topic.ts";
import type { Runtime, RuntimeTopics } from "../api.ts";
import type { TopicsPage, TopicsQuery } from "../lists.ts";
import { stateAt } from "../replay/load-run.ts";
import { readOne } from "../replay/beginning.ts";
import type { RunContext } from "../run-context.ts";
import type { Permissions } from "./permissions.ts";

/** How many subscribers are shown. */
const SHOWN = 1_000;

/** What the topics of a caller are read from. */
export interface TopicCommandsParts {
  readonly context: Pick<RunContext, "agents" | "log">;
  readonly permissions: Permissions;
  /** The runs as the caller sees them. */
  readonly runs: Pick<Runtime, "runs" | "find" | "createRun">;
}

/** The topics of one caller. */
export class TopicCommands implements RuntimeTopics {
  readonly #parts: TopicCommandsParts;

  constructor(parts: TopicCommandsParts) {
    this.#parts = parts;
  }

  async list({ owner, limit, cursor }: TopicsQuery): Promise<TopicsPage> {
    const { context, permissions, runs } = this.#parts;
    permissions.checkAgent(TOPIC_AGENT);
    const page = await runs.runs({
      agent: TOPIC_AGENT,
      limit,
      ...(owner !== undefined && { owner }),
      ...(cursor !== undefined && { cursor }),
    });
    const entries = await Promise.all(page.runs.map(({ run_id: runId }) => context.log.run(runId)));
    // A run without a key is one that was renewed, or a copy of a topic.
    const used = entries.flatMap((run) =>
      run?.alias === undefined ? [] : [this.#toSummary(run.alias, run)],
    );
    if (page.next !== undefined) return { topics: used, next: page.next };
    const { all } = context.agents.topics;
    const unused = await Promise.all(
      all.map(async ({ name }) => ((await this.#find(name)) === undefined ? [this.#toSummary(name)] : [])),
    );
    return { topics: [...used, ...unused.flat()] };
  }

  async get(name: string): Promise<TopicDetails> {
    const run = await this.#find(name);
    if (run === undefined && this.#declared(name) === undefined)
      throw new AgentError("not_found", `there is no topic ${name}`, {
        hint: "it is there when something was published to it, or somebody has subscribed",
      });
    return this.#toDetails(name, run);
  }

  async open(name: string): Promise<TopicDetails> {
    const found = await this.#find(name);
    if (found === undefined) await this.#parts.runs.createRun(TOPIC_AGENT, { key: name });
    return this.#toDetails(name, found ?? (await this.#find(name)));
  }

  async newest(name: string): Promise<readonly Publication[]> {
    const run = await this.#find(name);
    if (run === undefined) return [];
    const { log } = this.#parts.context;
    const { runId, head } = run;
    const { newest = [] } = await stateAt(log, runId, head);
    const texts = await Promise.all(newest.map(({ id }) => readOne(log, runId, id)));
    return texts.flatMap((text) => (text === undefined ? [] : [toPublication(text)]));
  }

  /** The run of a topic, if it has one that the caller sees. */
  async #find(name: string): Promise<RunEntry | undefined> {
    const { context, permissions, runs } = this.#parts;
    permissions.checkAgent(TOPIC_AGENT);
    const runId = await runs.find(TOPIC_AGENT, topic(name).name);
    return runId === undefined ? undefined : context.log.run(runId);
  }

  async #toDetails(name: string, run: RunEntry | undefined): Promise<TopicDetails> {
    const { log } = this.#parts.context;
    const { watchers = [] } = run === undefined ? {} : await stateAt(log, run.runId, run.head);
    const subscribers = watchers.filter(({ names }) => names !== undefined);
    return {
      ...this.#toSummary(name, run),
      subscriber_count: subscribers.length,
      subscribers: subscribers.slice(0, SHOWN).map(({ ref, names = [] }) => ({ ...ref, names })),
      newest: run?.head ?? 0,
    };
  }

  #toSummary(name: string, run?: RunEntry): TopicSummary {
    const declared = this.#declared(name);
    const messages = describeMessages(declared?.messages);
    return {
      name,
      ...(run && { run_id: run.runId, ...(run.owner !== undefined && { owner: run.owner }) }),
      ...(messages.length > 0 && { messages }),
      ...(declared && { retain: declared.retain }),
      ...(run && { updated_at: toTimestamp(run.updatedAt) }),
    };
  }

  #declared(name: string): Topic<Messages> | undefined {
    return this.#parts.context.agents.topics.get(name);
  }
}

function toPublication(text: string): Publication {
  const { run_id, id, name, body, ts } = JSON.parse(text) as EventOf<"MessageReceived">;
  return { run_id, id, name, body, at: ts };
}
