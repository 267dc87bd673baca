import type { Environment } from "../../ports/environment.ts";
import type { Telemetry } from "../../ports/telemetry.ts";

/** A turn to continue, as the gate sees it. */
export interface Suspect {
  /** How often the process has died since the turn last made progress. */
  readonly deaths: number;
  /** The starts that count against it. */
  readonly count: number;
  /** The number of turns, with this one, that ran after its last continuation; 0 = unlimited. */
  readonly among: number;
  /**
   * Continues the turn together with `among - 1` others; 0 = unlimited. Resolves when that is recorded.
   */
  begin(among: number): Promise<void>;
  /** Resolves when the turn has made progress, waits or sleeps, or has ended. */
  readonly sound: Promise<void>;
  /** Records that other turns may run beside it again; does nothing once it made progress. */
  accompany(): Promise<void>;
}

export interface StartGateOptions {
  readonly environment: Environment;
  readonly telemetry: Telemetry;
}

/** A turn that ran at this many consecutive deaths is a suspect. */
const SUSPICIOUS_DEATHS = 2;

/** Time for a suspect to make progress or survive, in milliseconds; doubled for each further death. */
const TRIAL_MS = { first: 1_000, most: 15_000 };

/** Longest time of all trials after one start together, in milliseconds, because all other turns wait during them. */
const TRIALS_MS = 30_000;

/** If there are many suspects, they continue in this many groups, and a group that dies is divided again. */
const GROUPS = 16;

/**
 * Decides when the handlers of turns run. Usually that is immediately. After the process has died twice in
 * succession, the turns that ran both times continue one after the other while all others wait. This finds
 * the turn that ends the process, and only its own starts count against it.
 */
export class StartGate {
  readonly #options: StartGateOptions;
  /** The calls that wait for the gate to open; `undefined` when it is open. */
  #waiting: (() => void)[] | undefined = [];
  #continued: Suspect[] = [];
  #stopWindow = (): void => {};
  #stopped = false;

  constructor(options: StartGateOptions) {
    this.#options = options;
  }

  /** Runs code of a turn that is not continued after a crash: now, or when the gate opens. */
  pass(run: () => void): void {
    if (this.#waiting === undefined) run();
    else this.#waiting.push(run);
  }

  /** Continues a turn: now, or when the gate opens. */
  continue(turn: Suspect): void {
    if (this.#waiting === undefined) void turn.begin(0);
    else this.#continued.push(turn);
  }

  /**
   * Opens the gate after all turns to continue are registered. Resolves when they have started, or when the
   * first suspect is about to start; the others follow later.
   */
  async open(): Promise<void> {
    if (this.#stopped) return;
    const suspects = this.#continued.filter(({ deaths }) => deaths >= SUSPICIOUS_DEATHS);
    if (suspects.length === 0) {
      await this.#openNow();
      return;
    }
    this.#continued = this.#continued.filter(({ deaths }) => deaths < SUSPICIOUS_DEATHS);
    if (suspects.length > 1) {
      const what = `the process died ${SUSPICIOUS_DEATHS} times or more while the same ${suspects.length} turns ran`;
      this.#options.telemetry.fault(`${what}; they continue one at a time, and all other turns wait`);
    }
    void this.#try(suspects);
  }

  /** Drops everything that waits. */
  stop(): void {
    this.#stopped = true;
    this.#stopWindow();
  }

  async #try(suspects: readonly Suspect[]): Promise<void> {
    const deaths = suspects.reduce((most, turn) => Math.max(most, turn.deaths), 0);
    const ms = Math.min(TRIAL_MS.first * 2 ** (deaths - SUSPICIOUS_DEATHS), TRIAL_MS.most);
    for (const group of toGroups(suspects, Math.min(GROUPS, Math.floor(TRIALS_MS / ms)))) {
      if (this.#stopped) return;
      await Promise.all(group.map((turn) => turn.begin(group.length)));
      await this.#watch(group, ms);
      if (this.#stopped) return;
      await Promise.all(group.map((turn) => turn.accompany()));
    }
    await this.#openNow();
  }

  /** Resolves when all turns of a group have made progress, or have had enough time to end the process. */
  async #watch(group: readonly Suspect[], ms: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const stopTimer = this.#options.environment.timer(ms, resolve);
      this.#stopWindow = () => {
        stopTimer();
        resolve();
      };
      void Promise.all(group.map(({ sound }) => sound)).then(this.#stopWindow);
    });
  }

  async #openNow(): Promise<void> {
    const waiting = this.#waiting ?? [];
    const continued = this.#continued;
    this.#waiting = undefined;
    this.#continued = [];
    for (const run of waiting) run();
    await Promise.all(continued.map((turn) => turn.begin(0)));
  }
}

/** The order in which suspects are tried: the least tested first. */
function toGroups(suspects: readonly Suspect[], most: number): readonly (readonly Suspect[])[] {
  const groups: Suspect[][] = [];
  const size = ({ among }: Suspect): number => (among === 0 ? Infinity : among);
  const sorted = suspects.toSorted((a, b) =>
    size(a) === size(b) ? a.count - b.count : size(b) > size(a) ? 1 : -1,
  );
  for (let start = 0; start < sorted.length;) {
    const among = size(sorted[start] as Suspect);
    const alike = sorted.filter((turn) => size(turn) === among);
    const length = Math.min(Math.ceil(alike.length / most), Math.max(1, Math.floor(among / 2)));
    for (let at = 0; at < alike.length; at += length) groups.push(alike.slice(at, at + length));
    start += alike.length;
  }
  return groups;
}
