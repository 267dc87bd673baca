import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { postgresLog } from "troupe/postgres";
import type { PostgresLog } from "troupe/postgres";
import { createRandom } from "../../../../src/testing/event-log/random.ts";
import { runClient } from "../../../faults/client.ts";
import type { History } from "../../../faults/checks/read-history.ts";
import { readLog } from "../../../faults/checks/read-history.ts";
import { verifyArtifacts } from "../../../faults/checks/verify-artifacts.ts";
import { verifyLog } from "../../../faults/checks/verify-log.ts";
import type { Violation } from "../../../faults/checks/verify-log.ts";
import { openJournal, readLines } from "../../../faults/journal.ts";
import type { Journal } from "../../../faults/journal.ts";
import type { OutsideEffect } from "../../../faults/server/outside.ts";
import type { Proxy } from "../../postgres/proxy.ts";
import type { Engine } from "./engine.ts";
import { NodeProcess } from "./node-process.ts";
import { PauseWatch } from "./pause-watch.ts";

/** The load of a scene. */
export interface LoadOptions {
  /** The number of turns. */
  readonly turns: number;
  /** The load lasts at least until this settles. */
  readonly until?: Promise<unknown>;
}

/** Three nodes on one database, and clients that change node again and again. */
export class SceneCluster implements AsyncDisposable {
  readonly engine: Engine;
  readonly seed: number;
  /** The log, as it is without the nodes. */
  readonly log: PostgresLog;
  readonly watch = new PauseWatch();
  readonly #folder: string;
  readonly #effects: string;
  readonly schema: string;
  readonly #database: Proxy;
  readonly #journal: Journal;
  readonly #reported = new Set<string>();
  readonly #random;
  #nodes: NodeProcess[] = [];
  #clients = 0;
  #ids = 0;
  #isForgotten = false;
  #isClosed = false;
  #earlier: { readonly history: History; readonly effects: readonly OutsideEffect[] } | undefined;

  private constructor(engine: Engine, seed: number, schema: string, database: Proxy, log: PostgresLog) {
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
  }

  /** Opens an empty log; nodes are started by `restore` or `startNode`. */
  static async open(engine: Engine, seed: number, schema = "scenes"): Promise<SceneCluster> {
    const database = await engine.openProxy();
    const log = await postgresLog({ url: database.url, schema, node: "checks", max: 4 });
    return new SceneCluster(engine, seed, schema, database, log);
  }

  /** The running nodes. */
  get nodes(): readonly NodeProcess[] {
    this.#nodes = this.#nodes.filter((node) => node.isRunning);
    return this.#nodes;
  }

  /** A running node, at random. */
  get anyNode(): NodeProcess {
    const { nodes } = this;
    return nodes[this.#random.below(nodes.length)] as NodeProcess;
  }

  async startNode({ clockMs }: { readonly clockMs?: number } = {}): Promise<NodeProcess> {
    const options = {
      schema: this.schema,
      effects: this.#effects,
      ...(clockMs !== undefined && { clockMs }),
    };
    const node = await NodeProcess.start(options, await this.engine.openProxy());
    this.#nodes.push(node);
    return node;
  }

  /** An id that nothing in the log has. */
  newId(): string {
    return `s${this.seed}-${(this.#ids += 1)}`;
  }

  /** Starts nodes until there are three. */
  async restore(): Promise<void> {
    await Promise.all(Array.from({ length: Math.max(0, 3 - this.nodes.length) }, () => this.startNode()));
  }

  /** Sends requests from four clients, and resolves when all of them have ended. */
  async load({ turns, until = Promise.resolve() }: LoadOptions): Promise<void> {
    let left = turns;
    let isOver = false;
    const end = (): void => void (isOver = true);
    until.then(end, end);
    await Promise.all(
      Array.from({ length: 4 }, () => this.#runClient({ goesOn: () => (left -= 1) >= 0 || !isOver })),
    );
  }

  /** Starts turns of an agent on a node; resolves with their runs when all of them have ended. */
  async turnsOn(node: NodeProcess, agent: string, count: number): Promise<readonly string[]> {
    const runs = new Set<string>();
    await Promise.all(
      Array.from({ length: count }, () => {
        let left = 1;
        return this.#runClient({
          first: node,
          agents: [agent],
          goesOn: () => (left -= 1) >= 0,
          journal: {
            ...this.#journal,
            note: (heard) => {
              if (heard.kind === "event")
                runs.add((JSON.parse(heard.text) as { readonly run_id: string }).run_id);
              this.#journal.note(heard);
            },
          },
        });
      }),
    );
    return [...runs];
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

  /** Expects nothing more of what the log had, and clients got, before. */
  forget(): void {
    this.#earlier = undefined;
    this.#isForgotten = true;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    await Promise.all(this.nodes.map((node) => node.kill()));
    await this.log.close();
    this.#database.close();
    if (this.#reported.size === 0) rmSync(this.#folder, { recursive: true, force: true });
    else console.error(`What the clients heard and the agents did is kept in ${this.#folder}.`);
  }

  /** Runs a client that asks another node each time. */
  #runClient({
    goesOn,
    agents,
    first,
    journal = this.#journal,
  }: {
    readonly goesOn: () => boolean;
    readonly agents?: readonly string[];
    readonly first?: NodeProcess;
    readonly journal?: Journal;
  }): Promise<void> {
    this.#clients += 1;
    let at = this.#clients;
    let next = first;
    return runClient({
      name: `s${this.seed}-c${this.#clients}`,
      random: createRandom(this.seed * 1_000 + this.#clients),
      journal,
      address: async () => {
        if (this.#isClosed) throw new Error("the scenes are over");
        const node = next?.isRunning === true ? next : this.nodes[(at += 1) % this.nodes.length];
        next = undefined;
        return node?.url ?? "";
      },
      goesOn,
      patienceMs: PATIENCE_MS,
      hops: true,
      watch: this.watch,
      ...(agents && { agents }),
    });
  }

  /** Waits until no turn runs or sleeps and no message is on its way, also those that no client follows. */
  async #allEnded(): Promise<void> {
    for (;;) {
      const { runs } = await this.log.list({ status: "running", limit: 1 });
      if (runs.length === 0 && (await this.log.outbox({})).length === 0) return;
      await setTimeout(50);
    }
  }
}

/** How long a client waits for the next byte of a node before it asks another one, in milliseconds. */
const PATIENCE_MS = 1_500;
