import { fileURLToPath } from "node:url";
import { setTimeout as pause } from "node:timers/promises";
import { ServerProcess } from "../../flows/server.ts";
import type { ServerOptions } from "./laws-server.ts";

type Answer = Readonly<Record<string, unknown>>;

/**
 * Servers on one log that are killed and started again, one after the other, each time that clients have got so much done. Clients
 * ask whichever runs. A kill waits for work and not for a time, so that a slow machine gets everything done too.
 */
export class KilledServers implements AsyncDisposable {
  kills = 0;
  readonly #servers: readonly ServerProcess[];
  readonly #urls: string[] = [];
  #asked = 0;
  #done = 0;
  /** Resolves when a number of things is done. */
  #next: { readonly at: number; readonly reached: () => void } | undefined;

  private constructor(servers: readonly ServerProcess[]) {
    this.#servers = servers;
  }

  static async start(nodes: number, options: ServerOptions): Promise<KilledServers> {
    const created = Array.from({ length: nodes }, () =>
      ServerProcess.create(PROGRAM, JSON.stringify(options)),
    );
    const killed = new KilledServers(await Promise.all(created));
    // One after the other: the first one creates the tables.
    for (const server of killed.#servers) killed.#urls.push(await server.start());
    return killed;
  }

  /** Waits for work, and meanwhile kills a server each time that `every` more things are done. */
  async killUntil(work: Promise<unknown>, every: number): Promise<void> {
    let isOver = false;
    const over = work.finally(() => {
      isOver = true;
    });
    for (let index = 0; ; index = (index + 1) % this.#servers.length) {
      const enough = new Promise<void>((reached) => {
        this.#next = { at: this.#done + every, reached };
      });
      await Promise.race([enough, over]);
      if (isOver) return;
      this.#urls[index] = (await this.#servers[index]?.restart()) ?? "";
      this.kills += 1;
    }
  }

  /** Something is done that is done once. */
  did(): void {
    this.#done += 1;
    if (this.#done === this.#next?.at) this.#next.reached();
  }

  /** Sends a request, which must have an id, until a server has answered it. */
  post(agent: string, request: object): Promise<Answer> {
    const headers = { "content-type": "application/json" };
    return this.#ask(`/${agent}/process`, { method: "POST", headers, body: JSON.stringify(request) });
  }

  /** Calls an operation, and waits for its end. */
  async end(agent: string, call: object): Promise<Answer> {
    for (;;) {
      const answer = await this.post(agent, { ...call, wait: "completed" });
      if (answer["type"] !== "RequestCompleted") continue;
      this.did();
      return answer;
    }
  }

  status(requestId: string): Promise<Answer> {
    return this.#ask(`/request/${requestId}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#servers.map((server) => server[Symbol.asyncDispose]()));
  }

  async #ask(path: string, init?: RequestInit): Promise<Answer> {
    for (;;) {
      this.#asked += 1;
      try {
        const response = await fetch(`${this.#urls[this.#asked % this.#urls.length]}${path}`, init);
        const answer = (await response.json()) as Answer;
        // 410: its history is removed, which is an answer here.
        if (response.ok || response.status === 410) return answer;
        if (![429, 503].includes(response.status))
          throw new Error(`${path}: ${response.status} ${JSON.stringify(answer)}`);
      } catch (error) {
        // The server has died.
        if (!(error instanceof TypeError)) throw error;
      }
      await pause(50);
    }
  }
}

const PROGRAM = fileURLToPath(new URL("laws-server.ts", import.meta.url));
