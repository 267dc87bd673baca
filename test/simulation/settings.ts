import type { RunId } from "troupe/protocol";
import type { JsonObject } from "../../src/protocol/json.ts";
import { SECRET } from "../laws/cast.ts";
import type { History } from "../laws/history.ts";
import { levelIn } from "../laws/model.ts";
import type { Line, Surroundings } from "./line.ts";
import type { Witness } from "./witness.ts";

/** How often each agent's configuration had been changed when somebody was last told that it was. */
export type Told = ReadonlyMap<string, number>;

/** What clients have set agents and runs to: one level after the other, now and then with a secret. */
export class Settings {
  readonly #told = new Map<string, number>();
  #level = 0;

  /** What was told so far: whatever begins later must have it. */
  get told(): Told {
    return new Map(this.#told);
  }

  /** Configures an agent, or a run. */
  async configure(
    { witness, pick }: Surroundings,
    line: Line,
    { agent, runId }: { readonly agent: string; readonly runId?: RunId },
  ): Promise<void> {
    const level = (this.#level += 1);
    const token = pick.chance(40) ? { token: `${SECRET} ${level}` } : {};
    const args = { level, ...token };
    const run = runId === undefined ? {} : { run_id: runId };
    const receipt = await line.unlessGone((runtime) =>
      runtime.process(agent, { type: "ConfigureRequest", args, ...run }),
    );
    if (receipt === undefined) return;
    const place = runId ?? configRunOf(agent);
    const index = levelsOf(witness, place).lastIndexOf(level);
    if (index < 0 && witness.runs.get(place)?.removed !== true)
      witness.say(`${place} was said to be set to level ${level}, which the log does not have`);
    if (runId === undefined) this.#told.set(agent, Math.max(this.#told.get(agent) ?? 0, index + 1));
  }
}

/** Whether each agent that a turn called was configured no earlier than somebody had been told by then. */
export function whatIsMisconfigured(witness: Witness, told: Told, history: History): readonly string[] {
  const faults: string[] = [];
  for (const [callId, { name }] of history.calls) {
    if (name !== "agent" && name !== "keeper") continue;
    const level = levelIn(history.configs.get(callId));
    const changes = levelsOf(witness, configRunOf(name)).lastIndexOf(level) + 1;
    if (changes < (told.get(name) ?? 0) || (level !== 0 && changes === 0))
      faults.push(`${callId} is at level ${JSON.stringify(level)}, though ${name} was set to another before`);
  }
  return faults;
}

/** The levels that the log of a run has, in their order. */
function levelsOf({ runs }: Witness, runId: string): readonly unknown[] {
  const records = runs.get(runId)?.records ?? [];
  return records
    .filter(({ type }) => type === "ConfigRecorded")
    .map(({ args }) => levelIn(args as JsonObject));
}

/** The run in which the configuration of an agent is kept. */
function configRunOf(agent: string): string {
  return `config-${agent}`;
}
