import type { RunId } from "troupe/protocol";
import type { JsonObject } from "../../../src/protocol/json.ts";
import { SECRET } from "../../laws/agents.ts";
import type { History } from "../../laws/history.ts";
import { levelIn } from "../../laws/model.ts";
import type { Connection, SimulationAccess } from "./connection.ts";
import type { Observer } from "../checks/observer.ts";

/** The acknowledged configuration version of each agent. */
export type ConfigVersions = ReadonlyMap<string, number>;

/** The configurations that clients have set: one level after the other, sometimes with a secret. */
export class Settings {
  readonly #acknowledged = new Map<string, number>();
  /** Whether the log tells the processes of a change only after it is acknowledged. */
  readonly #isFollowed: boolean;
  #level = 0;

  constructor({ isFollowed }: { readonly isFollowed: boolean }) {
    this.#isFollowed = isFollowed;
  }

  /** The acknowledged configurations: everything that starts later must have them. */
  get acknowledged(): ConfigVersions {
    return new Map(this.#isFollowed ? [] : this.#acknowledged);
  }

  /** Configures an agent or a run. */
  async configure(
    { observer, pick }: SimulationAccess,
    connection: Connection,
    { agent, runId }: { readonly agent: string; readonly runId?: RunId },
  ): Promise<void> {
    const level = (this.#level += 1);
    const token = pick.chance(40) ? { token: `${SECRET} ${level}` } : {};
    const args = { level, ...token };
    const run = runId === undefined ? {} : { run_id: runId };
    const receipt = await connection.unlessGone((runtime) =>
      runtime.process(agent, { type: "ConfigureRequest", args, ...run }),
    );
    if (receipt === undefined) return;
    const place = runId ?? configRunOf(agent);
    const index = levelsOf(observer, place).lastIndexOf(level);
    if (index < 0 && observer.runs.get(place)?.removed !== true)
      observer.say(`a client set ${place} to level ${level}, which the log does not have`);
    if (runId === undefined)
      this.#acknowledged.set(agent, Math.max(this.#acknowledged.get(agent) ?? 0, index + 1));
  }
}

/** Whether each called agent had at least the configuration that was acknowledged before the call. */
export function findMisconfigured(
  observer: Observer,
  acknowledged: ConfigVersions,
  history: History,
): readonly string[] {
  const faults: string[] = [];
  for (const [callId, { name }] of history.calls) {
    if (name !== "agent" && name !== "keeper") continue;
    const level = levelIn(history.configs.get(callId));
    const changes = levelsOf(observer, configRunOf(name)).lastIndexOf(level) + 1;
    if (changes < (acknowledged.get(name) ?? 0) || (level !== 0 && changes === 0))
      faults.push(`${callId} is at level ${JSON.stringify(level)}, though ${name} was set to another before`);
  }
  return faults;
}

/** The levels in the log of a run, in order. */
function levelsOf({ runs }: Observer, runId: string): readonly unknown[] {
  const records = runs.get(runId)?.records ?? [];
  return records
    .filter(({ type }) => type === "ConfigRecorded")
    .map(({ args }) => levelIn(args as JsonObject));
}

/** The run that contains the configuration of an agent. */
function configRunOf(agent: string): string {
  return `config-${agent}`;
}
