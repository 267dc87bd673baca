import { REST } from "../../ports/statistics.ts";
import type { StatisticsKey } from "../../ports/statistics.ts";

/**
 * What turns and completions of the present hour are counted under. The names of owners, operations and models come from users and
 * their code, so an hour has at most so many rows by this process; what comes later is counted together, by its agent.
 */
export class HourRows {
  #hour = 0;
  readonly #rows = new Set<string>();

  keyOf(key: StatisticsKey): StatisticsKey {
    const { hour, owner, kind, agent, name, outcome } = key;
    if (hour !== this.#hour) {
      this.#hour = hour;
      this.#rows.clear();
    }
    const row = `${owner} ${kind} ${agent} ${outcome} ${name}`;
    if (this.#rows.has(row)) return key;
    if (this.#rows.size >= ROWS_LIMIT) return { ...key, owner: REST, name: REST };
    this.#rows.add(row);
    return key;
  }
}

const ROWS_LIMIT = 5_000;
