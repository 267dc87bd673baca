import type { Violation } from "./checks/verify-log.ts";

/** Counts the cycles and violations of each fault. */
export class FaultTable {
  readonly #rows = new Map<string, { cycles: number; violations: number }>();
  /** All violations as text, each with its seed. */
  readonly violations: string[] = [];

  /** Adds a cycle of a fault with its result. */
  add(fault: string, seed: number, violations: readonly (Violation | string)[]): void {
    const row = this.#rows.get(fault) ?? { cycles: 0, violations: 0 };
    row.cycles += 1;
    row.violations += violations.length;
    this.#rows.set(fault, row);
    for (const violation of violations) {
      const text = typeof violation === "string" ? violation : `${violation.invariant}, ${violation.what}`;
      this.violations.push(`seed ${seed}, after ${fault}: ${text}`);
    }
  }

  /** The table of all faults, in the given order. */
  toTable(order: readonly string[]): string {
    const names = [...order, ...[...this.#rows.keys()].filter((name) => !order.includes(name))];
    const rows = names.flatMap((name) => {
      const row = this.#rows.get(name);
      return row === undefined ? [] : [`| ${name} | ${row.cycles} | ${row.violations} |`];
    });
    return ["| fault | cycles | violations |", "| --- | ---: | ---: |", ...rows].join("\n");
  }
}
