import type { Environment } from "../../ports/environment.ts";
import type { Telemetry } from "../../ports/telemetry.ts";

/** A turn to continue, as the gate sees it. */
export interface Suspect {
  /** How often the process has died since the turn last made progress. */
  readonly deaths: number;
  /** The starts that count against it. */
  readonly count: number;
  /** The number of turns, with this one, that were continued together at its last continuation; 0 = unlimited. */
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

/** Longest time of one round of trials, in milliseconds; all other turns of a new process wait during its first round. */
const TRIALS_MS = 30_000;

/** If a round has many suspects, they continue in this many groups, and a group that dies is divided again. */
const GROUPS = 16;

/**
 * Decides when the handlers of turns run. Usually that is immediately. A turn that ran when the process died, twice in
 * succession, is a suspect. Suspects continue one group after the other, so that the next death counts only against the
 * turn that was on trial. In a new process all other turns wait for the first round of trials. A process that runs already
 * has taken its suspects over from another node; its other turns do not wait.
 */
export class StartGate {
  readonly #options: StartGateOptions;
  /** The calls that wait for the gate to open; `undefined` when it is open. */
  #waiting: (() => void)[] | undefined = [];
  /** The turns to continue when the gate opens. */
  #continued: Suspect[] = [];
  /** The suspects of the next round of trials. */
  #suspects: Suspect[] = [];
  #isTrying = false;
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

  /** Continues a turn: now, or when the gate opens; a suspect in the next round of trials. */
  continue(turn: Suspect): void {
    const isOpen = this.#waiting === undefined;
    if (turn.deaths >= SUSPICIOUS_DEATHS) {
      this.#suspects.push(turn);
      if (isOpen) void this.#tryAll();
    } else if (isOpen) void turn.begin(0);
    else this.#continued.push(turn);
  }

  /**
   * Opens the gate after all turns to continue are registered. Resolves when they have started, or when the
   * first suspect is about to start; the others follow later.
   */
  async open(): Promise<void> {
    if (this.#stopped) return;
    if (this.#suspects.length === 0) await this.#openNow();
    else void this.#tryAll();
  }

  /** Drops everything that waits. */
  stop(): void {
    this.#stopped = true;
    this.#stopWindow();
  }

  /** Tries all suspects, round after round: one that arrives during a round is in the next one. */
  async #tryAll(): Promise<void> {
    if (this.#isTrying) return;
    this.#isTrying = true;
    while (this.#suspects.length > 0 && !this.#stopped) {
      const suspects = this.#suspects;
      this.#suspects = [];
      await this.#try(suspects);
      if (this.#waiting !== undefined && !this.#stopped) await this.#openNow();
    }
    this.#isTrying = false;
  }

  /** Tries the suspects of one round. */
  async #try(suspects: readonly Suspect[]): Promise<void> {
    const deaths = suspects.reduce((most, turn) => Math.max(most, turn.deaths), 0);
    const ms = Math.min(TRIAL_MS.first * 2 ** (deaths - SUSPICIOUS_DEATHS), TRIAL_MS.most);
    const groups = toGroups(suspects, Math.min(GROUPS, Math.floor(TRIALS_MS / ms)));
    if (suspects.length > 1) {
      const what = `the process of ${suspects.length} turns died ${SUSPICIOUS_DEATHS} times or more in succession`;
      const how = `they continue in ${groups.length} groups, one after the other`;
      const others = this.#waiting === undefined ? "" : ", and all other turns wait";
      this.#options.telemetry.fault(`${what}; ${how}${others}`);
    }
    for (const group of groups) {
      if (this.#stopped) return;
      await Promise.all(group.map((turn) => turn.begin(group.length)));
      await this.#watch(group, ms);
      if (this.#stopped) return;
      await Promise.all(group.map((turn) => turn.accompany()));
    }
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
