import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { setTimeout } from "node:timers/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fsArtifacts } from "troupe/storage/fs";
import { createRandom } from "../../src/testing/event-log/random.ts";
import { runClient } from "./client.ts";
import { openJournal, readLines } from "./journal.ts";
import type { Journal } from "./journal.ts";
import type { OutsideEffect } from "./server/outside.ts";
import { readHistory } from "./checks/read-history.ts";
import type { History } from "./checks/read-history.ts";
import { ServerProcess } from "./server/server-process.ts";
import type { Places, StartOptions } from "./server/server-process.ts";
import { verifyArtifacts } from "./checks/verify-artifacts.ts";
import { verifyLog } from "./checks/verify-log.ts";
import type { Violation } from "./checks/verify-log.ts";

/** The options of a session. */
export interface SessionOptions {
  /** Determines the requests of the clients. */
  readonly seed: number;
  readonly clients?: number;
  /** The log directory as this process sees it, and as the server does. Default: a temporary one. */
  readonly log?: { readonly here: string; readonly there: string };
}

/** Consecutive servers on one directory, under the load of clients that survive them all. */
export class Session implements AsyncDisposable {
  /** The log directory as this process sees it. */
  readonly log: string;
  readonly #folder: string;
  readonly #places: Places;
  readonly #journal: Journal;
  readonly #clients: Promise<unknown>;
  #address = Promise.withResolvers<string>();
  #server: ServerProcess | undefined;
  #goesOn = true;
  readonly #reported = new Set<string>();
  #earlier: { readonly history: History; readonly effects: readonly OutsideEffect[] } | undefined;

  constructor({ seed, clients = 6, log }: SessionOptions) {
    const folder = mkdtempSync(join(tmpdir(), "troupe-faults-"));
    this.#folder = folder;
    this.log = log?.here ?? join(folder, "log");
    this.#places = {
      log: log?.there ?? this.log,
      files: join(folder, "files"),
      effects: join(folder, "effects"),
    };
    writeFileSync(this.#places.effects, "");
    this.#journal = openJournal(join(folder, "heard"));
    const names = Array.from({ length: clients }, (_, index) => `s${seed}-c${index}`);
    const running = names.map((name, index) =>
      runClient({
        name,
        random: createRandom(seed * 1_000 + index),
        journal: this.#journal,
        address: () => this.#address.promise,
        goesOn: () => this.#goesOn,
      }),
    );
    this.#clients = Promise.all(running);
  }

  /** How many messages the clients have received so far. */
  get heard(): number {
    return this.#journal.read().length;
  }

  /** Starts a server; the clients find its address themselves. */
  start(options?: StartOptions): ServerProcess {
    const server = this.rival(options);
    this.#server = server;
    void server.address.then((found) => {
      if (found === undefined) return;
      this.#address.resolve(found);
      void server.exited.then(() => {
        this.#address = Promise.withResolvers<string>();
      });
    });
    return server;
  }

  /** Starts a server on the same directory without the clients. */
  rival(options?: StartOptions): ServerProcess {
    return new ServerProcess(this.#places, options);
  }

  /** Checks the invariants on the data of a dead server. */
  async verify({ finished = false }: { readonly finished?: boolean } = {}): Promise<Violation[]> {
    const history = await readHistory(this.log);
    const effects = readLines(this.#places.effects) as OutsideEffect[];
    const violations = verifyLog({
      history,
      heard: this.#journal.read(),
      effects,
      finished,
      ...(this.#earlier && { earlier: this.#earlier.history, earlierEffects: this.#earlier.effects }),
    });
    this.#earlier = { history, effects };
    const store = fsArtifacts(this.#places.files);
    const all = [...violations, ...(await verifyArtifacts(history, store))];
    await store.close();
    // A violation stays in the log, so it is reported once.
    const news = all.filter(({ what }) => !this.#reported.has(what));
    for (const { what } of news) this.#reported.add(what);
    return news;
  }

  /** Lets everything end without faults, stops the server properly, and checks all data. */
  async finish(options?: StartOptions): Promise<Violation[]> {
    const server = this.start(options);
    this.#goesOn = false;
    const over = await Promise.race([this.#clients.then(() => true), server.exited.then(() => false)]);
    if (!over) return [{ invariant: "I2", what: `the server ended by itself: ${server.said.join(" ")}` }];
    await allEnded(await server.address);
    const exit = await server.terminate();
    const violations = await this.verify({ finished: true });
    if (exit !== 0) violations.push({ invariant: "ends", what: `the server ended with ${exit}` });
    return violations;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#goesOn = false;
    await this.#server?.kill();
    if (this.#reported.size === 0) rmSync(this.#folder, { recursive: true, force: true });
    else console.error(`What the violations were found in is kept in ${this.#folder}.`);
  }
}

/** Waits until no turn runs or sleeps on a server, also those that no client follows. */
async function allEnded(address: string | undefined): Promise<void> {
  for (;;) {
    const response = await fetch(`${address}/runs?status=running&limit=1`);
    const runs = (await response.json()) as readonly unknown[];
    if (runs.length === 0) return;
    await setTimeout(20);
  }
}
