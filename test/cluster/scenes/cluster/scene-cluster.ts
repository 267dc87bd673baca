import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import type { PostgresConnection, PostgresLog } from "troupe/postgres";
import type { Event } from "../../../../src/protocol/events/events.ts";
import { forEachConcurrent } from "../../../../src/shared/map-concurrent.ts";
import { createRandom } from "../../../../src/testing/event-log/random.ts";
import type { History, RunHistory } from "../../../faults/checks/read-history.ts";
import { readLog } from "../../../faults/checks/read-history.ts";
import { verifyArtifacts } from "../../../faults/checks/verify-artifacts.ts";
import { verifyLog } from "../../../faults/checks/verify-log.ts";
import type { Violation } from "../../../faults/checks/verify-log.ts";
import { openJournal, readLines } from "../../../faults/journal.ts";
import type { Journal } from "../../../faults/journal.ts";
import type { OutsideEffect } from "../../../faults/server/outside.ts";
import { SceneClients } from "./clients.ts";
import type { Engine, Way } from "./engine.ts";
import { NodeProcess } from "./node-process.ts";
import { openSceneLog, schemasOf } from "./open-log.ts";

/** How a cluster is. */
export interface ClusterOptions {
  /** Default `scenes`. */
  readonly schema?: string;
  /** In how many databases the log is. Default 1. */
  readonly databases?: number;
  /** How many nodes `restore` starts. Default 3. */
  readonly nodes?: number;
  /** Whether the nodes use gossip. Default: no, they are too few. */
  readonly gossips?: boolean;
}

interface OpenedLog extends Required<ClusterOptions> {
  readonly database: Way;
  readonly log: PostgresLog;
}

/** Nodes on one log, and clients that change node again and again. */
export class SceneCluster implements AsyncDisposable {
  readonly engine: Engine;
  readonly seed: number;
  /** The log, as it is without the nodes. */
  readonly log: PostgresLog;
  /** How long the newest start of a node took. */
  startMs = 0;
  readonly #folder: string;
  readonly #effects: string;
  readonly schema: string;
  readonly #database: Way;
  readonly #journal: Journal;
  readonly clients: SceneClients;
  readonly #reported = new Set<string>();
  readonly #random;
  /** The nodes that run, and those that have ended since the last call of `takeCrashes`. */
  #nodes: NodeProcess[] = [];
  #ids = 0;
  #isForgotten = false;
  #isKept = false;
  #earlier: { readonly history: History; readonly effects: readonly OutsideEffect[] } | undefined;

  /** In how many databases the log is. */
  readonly #databases: number;
  readonly #nodeCount: number;
  /** Whether the nodes use gossip. */
  readonly #gossips: boolean;

  private constructor(
    engine: Engine,
    seed: number,
    { schema, database, databases, nodes, gossips, log }: OpenedLog,
  ) {
    this.#databases = databases;
    this.#nodeCount = nodes;
    this.#gossips = gossips;
    this.engine = engine;
    this.seed = seed;
    this.log = log;
    this.schema = schema;
    this.#database = database;
    this.#random = createRandom(seed);
    this.#folder = mkdtempSync(join(tmpdir(), "troupe-scenes-"));
    this.#effects = join(this.#folder, "effects");
    writeFileSync(this.#effects, "");
    this.#journal = openJournal(join(this.#folder, "heard"));
    this.clients = new SceneClients(this.#journal, seed, () => this.nodes);
  }

  /** Opens an empty log; nodes are started by `restore` or `startNode`. */
  static async open(
    engine: Engine,
    seed: number,
    { schema = "scenes", databases = 1, nodes = 3, gossips = false }: ClusterOptions = {},
  ): Promise<SceneCluster> {
    const database = await engine.openProxy();
    const { url, listenUrl } = database;
    const way = { url, ...(listenUrl !== undefined && { listenUrl }) };
    const log = await openSceneLog({ ...way, schema, node: "checks", max: 4 }, databases);
    return new SceneCluster(engine, seed, { schema, database, databases, nodes, gossips, log });
  }

  /** The running nodes. */
  get nodes(): readonly NodeProcess[] {
    return this.#nodes.filter((node) => node.isRunning);
  }

  /** The databases of the log. */
  get connections(): readonly PostgresConnection[] {
    return schemasOf(this.schema, this.#databases).map((schema) => ({ url: this.#database.url, schema }));
  }

  /** A running node, at random. */
  get anyNode(): NodeProcess {
    const { nodes } = this;
    return nodes[this.#random.below(nodes.length)] as NodeProcess;
  }

  async startNode({ clockMs }: { readonly clockMs?: number } = {}): Promise<NodeProcess> {
    const options = {
      schema: this.schema,
      databases: this.#databases,
      gossips: this.#gossips,
      effects: this.#effects,
      ...(clockMs !== undefined && { clockMs }),
    };
    const startedAt = performance.now();
    const node = await NodeProcess.start(options, await this.engine.openProxy());
    this.startMs = performance.now() - startedAt;
    this.#nodes.push(node);
    return node;
  }

  /** An id that nothing in the log has. */
  newId(): string {
    return `s${this.seed}-${(this.#ids += 1)}`;
  }

  /** Starts nodes until there are as many as at the start. */
  async restore(): Promise<void> {
    const lacking = Array.from({ length: Math.max(0, this.#nodeCount - this.nodes.length) });
    await forEachConcurrent(lacking, STARTED_AT_ONCE, () => this.startNode());
  }

  /**
   * The longest pause that a client saw in the scene that was verified last. Talkers wait for each other, and the runtime ends
   * the youngest ask of such a cycle, a second or more later, also when no node fails. So a pause of a talker does not count
   * if a cycle was broken in it.
   */
  takePause(): { readonly ms: number; readonly requestId: string } {
    const { runs } = this.#earlier?.history ?? { runs: new Map<string, RunHistory>() };
    return this.clients.watch.take(new Set(["talker"]), brokenCycles(runs));
  }

  /** The nodes that have ended by an error of their own since the last call. */
  takeCrashes(): readonly string[] {
    const crashed = this.#nodes.filter((node) => node.hasCrashed);
    this.#nodes = this.#nodes.filter((node) => node.isRunning);
    return crashed.map(({ id }) => `node ${id} has crashed`);
  }

  /** Checks everything after all turns have ended. */
  async verify(): Promise<Violation[]> {
    await this.#allEnded();
    const history = { ...(await readLog(this.log)), unanswered: new Map<string, number>(), chain: [] };
    const effects = readLines(this.#effects) as OutsideEffect[];
    const violations = verifyLog({
      history,
      heard: this.#isForgotten ? [] : this.#journal.read(),
      effects,
      finished: true,
      ...(this.#earlier && { earlier: this.#earlier.history, earlierEffects: this.#earlier.effects }),
    });
    this.#earlier = { history, effects };
    const all = [...violations, ...(await verifyArtifacts(history, this.log.artifacts()))];
    // A violation stays in the log, so it is reported once.
    const news = all.filter(({ what }) => !this.#reported.has(what));
    for (const { what } of news) this.#reported.add(what);
    return news;
  }

  /** What the nodes say of themselves, for a scene that does not end. */
  async describe(): Promise<string> {
    const ready = this.nodes.map(async ({ id, url }) => {
      const signal = AbortSignal.timeout(2_000);
      const answer = await fetch(`${url}/readyz`, { signal }).then((response) => response.text(), String);
      return `${id}: ${answer}`;
    });
    const open = await this.log.open().then((entries) => entries.map(({ requestId }) => requestId), String);
    return [
      ...this.clients.watch.open,
      ...(await Promise.all(ready)),
      `open in the log: ${String(open)}`,
    ].join("; ");
  }

  /** Expects nothing more of what the log had, and clients got, before. */
  forget(): void {
    this.#earlier = undefined;
    this.#isForgotten = true;
  }

  /** Keeps what the clients heard and the agents did, after a violation. */
  keep(): void {
    this.#isKept = true;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.clients.close();
    await Promise.all(this.nodes.map((node) => node.kill()));
    await this.log.close();
    this.#database.close();
    if (!this.#isKept) rmSync(this.#folder, { recursive: true, force: true });
    else console.error(`What the clients heard and the agents did is kept in ${this.#folder}.`);
  }

  /** Waits until no turn runs or sleeps and no message is on its way, also those that no client follows. */
  async #allEnded(): Promise<void> {
    const isOutboxEmpty = async (): Promise<boolean> => (await this.log.outbox({})).length === 0;
    for (;;) {
      // The outbox before and after: what leaves it between two questions is in neither answer.
      const wasEmpty = await isOutboxEmpty();
      const { runs } = await this.log.list({ status: "running", limit: 1 });
      if (wasEmpty && runs.length === 0 && (await isOutboxEmpty())) return;
      await setTimeout(50);
    }
  }
}

/** How many nodes start at once: each has a time to be ready in, and a start keeps a core busy. */
const STARTED_AT_ONCE = 4;

/** When the runtime ended asks of actors that waited for each other, in milliseconds since 1970. */
function brokenCycles(runs: ReadonlyMap<string, RunHistory>): readonly number[] {
  const texts = [...runs.values()].flatMap(({ events }) =>
    events.filter((text) => text.includes("the actors wait for each other")),
  );
  return texts
    .map((text) => JSON.parse(text) as Event)
    .filter(({ type }) => type === "ToolError")
    .map(({ ts }) => Date.parse(ts));
}
