import type { Violation } from "../../faults/checks/verify-log.ts";
import type { Scene } from "./scene.ts";

/** What one playing of a scene has shown. */
export interface SceneResult {
  readonly seed: number;
  readonly wrong: readonly (Violation | string)[];
  /** The longest pause that a client saw, in milliseconds. */
  readonly ms: number;
  /** The request of the turn whose pause that was. */
  readonly requestId: string;
}

interface Row {
  cycles: number;
  violations: number;
  readonly pausesMs: number[];
}

/** Counts the cycles and violations of each scene, and keeps their longest pauses. */
export class SceneTable {
  readonly #rows: ReadonlyMap<Scene, Row>;
  /** All violations as text, each with its seed. */
  readonly violations: string[] = [];
  /** The pauses that are longer than the goal of their scene. */
  readonly slow: string[] = [];

  constructor(scenes: readonly Scene[]) {
    this.#rows = new Map(scenes.map((scene) => [scene, { cycles: 0, violations: 0, pausesMs: [] }]));
  }

  add(scene: Scene, { seed, wrong, ms, requestId }: SceneResult): void {
    const row = this.#rows.get(scene);
    if (row === undefined) throw new Error(`the table has no row for ${scene.name}`);
    row.cycles += 1;
    row.violations += wrong.length;
    row.pausesMs.push(ms);
    if (scene.goalMs !== undefined && ms > scene.goalMs)
      this.slow.push(`seed ${seed}, ${scene.name}: ${requestId} paused for ${toS(ms)}`);
    for (const one of wrong) {
      const text = typeof one === "string" ? one : `${one.invariant}, ${one.what}`;
      this.violations.push(`seed ${seed}, ${scene.name}: ${text}`);
    }
  }

  toString(): string {
    const rows = [...this.#rows].map(([{ name, goalMs }, { cycles, violations, pausesMs }]) => {
      pausesMs.sort((a, b) => a - b);
      const [half, most] = [pausesMs[pausesMs.length >>> 1] ?? 0, pausesMs.at(-1) ?? 0];
      const pauses = goalMs === undefined ? "| | |" : `| ${toS(half)} | ${toS(most)} | ${goalMs / 1_000} s`;
      return `| ${name} | ${cycles} | ${violations} ${pauses} |`;
    });
    return [
      "| scene | cycles | violations | longest pause, median | longest pause of all | goal |",
      "| --- | ---: | ---: | ---: | ---: | ---: |",
      ...rows,
    ].join("\n");
  }
}

function toS(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}
