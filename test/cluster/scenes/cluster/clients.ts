import { setTimeout } from "node:timers/promises";
import { createRandom } from "../../../../src/testing/event-log/random.ts";
import { runClient } from "../../../faults/client.ts";
import type { Journal } from "../../../faults/journal.ts";
import type { NodeProcess } from "./node-process.ts";
import { PauseWatch } from "./pause-watch.ts";

/** The load of a scene. */
export interface LoadOptions {
  /** The number of turns. */
  readonly turns: number;
  /** The load lasts at least until this settles. */
  readonly until?: Promise<unknown>;
}

/** Turns that clients have started. */
export interface TurnsUnderWay {
  /** Resolves when each of them has had an event. */
  readonly begun: Promise<void>;
  readonly ended: Promise<void>;
}

/** Clients that send each request to another node than the one before, and write down what they get. */
export class SceneClients {
  readonly watch = new PauseWatch();
  /** How long each client of a load rests between its turns, in milliseconds. */
  restMs = 0;
  readonly #journal: Journal;
  readonly #seed: number;
  readonly #nodes: () => readonly NodeProcess[];
  #count = 0;
  #isClosed = false;

  constructor(journal: Journal, seed: number, nodes: () => readonly NodeProcess[]) {
    this.#journal = journal;
    this.#seed = seed;
    this.#nodes = nodes;
  }

  /** Sends requests from clients, one for each twelve turns and at most four, and resolves when all of them have ended. */
  async load({ turns, until = Promise.resolve() }: LoadOptions): Promise<void> {
    let left = turns;
    let isOver = false;
    const end = (): void => void (isOver = true);
    until.then(end, end);
    const goesOn = async (): Promise<boolean> => {
      await setTimeout(this.restMs);
      return (left -= 1) >= 0 || !isOver;
    };
    await Promise.all(
      Array.from({ length: Math.min(4, Math.ceil(turns / 12)) }, () => this.#runClient({ goesOn })),
    );
  }

  /** Starts turns of an agent on a node. */
  turnsOn(
    node: NodeProcess,
    agent: string,
    count: number,
    { cancels = true }: { readonly cancels?: boolean } = {},
  ): TurnsUnderWay {
    const begun = Array.from({ length: count }, () => Promise.withResolvers<void>());
    const ended = begun.map(({ resolve }) => {
      let left = 1;
      return this.#runClient({
        first: node,
        agents: [agent],
        cancels,
        goesOn: () => (left -= 1) >= 0,
        journal: {
          ...this.#journal,
          note: (heard) => {
            if (heard.kind === "event") resolve();
            this.#journal.note(heard);
          },
        },
      });
    });
    return { begun: settle(begun.map(({ promise }) => promise)), ended: settle(ended) };
  }

  close(): void {
    this.#isClosed = true;
  }

  /** Runs a client that asks another node each time. */
  #runClient({
    goesOn,
    agents,
    cancels,
    first,
    journal = this.#journal,
  }: {
    readonly goesOn: () => boolean | Promise<boolean>;
    readonly agents?: readonly string[];
    readonly cancels?: boolean;
    readonly first?: NodeProcess;
    readonly journal?: Journal;
  }): Promise<void> {
    this.#count += 1;
    let at = this.#count;
    let next = first;
    const avoidedUntilMs = new Map<string, number>();
    const isAvoided = ({ url }: NodeProcess): boolean => (avoidedUntilMs.get(url) ?? 0) > performance.now();
    return runClient({
      name: `s${this.#seed}-c${this.#count}`,
      random: createRandom(this.#seed * 1_000 + this.#count),
      journal,
      address: async () => {
        // A client of a scene that has failed ends here.
        if (this.#isClosed) return new Promise(() => {});
        const running = this.#nodes();
        const nodes = running.every(isAvoided) ? running : running.filter((node) => !isAvoided(node));
        const node = next?.isRunning === true ? next : nodes[(at += 1) % nodes.length];
        next = undefined;
        return node?.url ?? "";
      },
      goesOn,
      patienceMs: PATIENCE_MS,
      unanswered: (url) => avoidedUntilMs.set(url, performance.now() + AVOIDED_MS),
      hops: true,
      watch: this.watch,
      ...(agents && { agents }),
      ...(cancels !== undefined && { cancels }),
    });
  }
}

/** How long a client waits for the next byte of a node before it asks another one, in milliseconds. */
const PATIENCE_MS = 1_500;

/** How long a client does not ask a node that has not answered, if another one is there, in milliseconds. */
const AVOIDED_MS = 5_000;

async function settle(all: readonly Promise<void>[]): Promise<void> {
  await Promise.all(all);
}
