import { compare, middle, ratio, warmUp } from "./load.ts";
import type { Sample } from "./load.ts";
import { ms, toTable } from "./result.ts";
import { percentile } from "./statistics.ts";
import { ServerProcess } from "./server-process.ts";
import type { ServerName, ServerOptions } from "./server-process.ts";

/** A row of a table: its label and the server to measure. */
export type Row = readonly [label: string, name: ServerName, options: ServerOptions];

/** Started and warm servers, each for a row of a table. The last one is the unit of the ratios. */
export class TurnTable implements AsyncDisposable {
  readonly #rows: readonly Row[];
  readonly #servers: readonly ServerProcess[];

  private constructor(rows: readonly Row[], servers: readonly ServerProcess[]) {
    this.#rows = rows;
    this.#servers = servers;
  }

  /** Starts the servers and warms them up, all at once. */
  static async start(rows: readonly Row[], concurrency: number, turns: number): Promise<TurnTable> {
    const servers = await Promise.all(rows.map(([, name, options]) => ServerProcess.start(name, options)));
    const table = new TurnTable(rows, servers);
    try {
      await Promise.all(servers.map((server) => warmUp({ server, load: { concurrency, ms: 0 } }, turns)));
    } catch (error) {
      await table[Symbol.asyncDispose]();
      throw error;
    }
    return table;
  }

  /** Measures the servers in alternating rounds, and prints the table. Returns the samples of each row. */
  async measure(
    title: string,
    load: { readonly concurrency: number; readonly ms: number },
    rounds: number,
  ): Promise<readonly (readonly Sample[])[]> {
    const samples = await compare(
      this.#servers.map((server) => ({ server, load })),
      rounds,
    );
    console.log(`\n${title}\n\n${this.#format(samples)}`);
    return samples;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#servers.map((server) => server[Symbol.asyncDispose]()));
  }

  #format(samples: readonly (readonly Sample[])[]): string {
    const unit = samples.at(-1) ?? [];
    const rows = this.#rows.map(([label], index) => {
      const own = samples[index] ?? [];
      const { cpuMs, turnsPerS, firstP50Ms, firstP99Ms, writes } = middle(own);
      const costs = own.map((sample) => sample.cpuMs);
      const [low, high] = [percentile(costs, 0.25), percentile(costs, 0.75)];
      return [
        label,
        `${cpuMs.toFixed(3)} ms (${low.toFixed(2)} to ${high.toFixed(2)})`,
        ratio(own, unit, "cpuMs").toFixed(2),
        turnsPerS.toFixed(0),
        `${ms(firstP50Ms)}, ${ms(firstP99Ms)}`,
        writes.toFixed(1),
      ];
    });
    const head = [
      "server",
      "CPU a turn (middle half)",
      "× bare Hono",
      "turns/s",
      "first event p50, p99",
      "writes",
    ];
    return toTable([head, ...rows]);
  }
}
