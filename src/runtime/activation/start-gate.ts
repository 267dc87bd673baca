import type { Environment } from "../../ports/environment.ts";
import type { Telemetry } from "../../ports/telemetry.ts";
import { backoffMs } from "../../shared/backoff.ts";

/** A turn to continue, as the gate sees it. */
export interface Suspect {
  /** How often the process has died since the turn last made progress. */
  readonly deaths: number;
  /** The starts that count against it. */
  readonly count: number;
  /** The number of turns, with this one, that were continued together at its last continuation; 0 = unlimited. */
  readonly among: number;
  /** Records that the turn is held back until it begins. */
  hold(): Promise<void>;
  /**
   * Continues the turn together with `among - 1` others; 0 = unlimited. Resolves when that is recorded.
   */
  begin(among: number): Promise<void>;
  /** Resolves when the turn has made progress, only waits, or has ended. */
  readonly sound: Promise<void>;
  /** Records that the turn has survived its trial; does nothing once it made progress. */
  accompany(): Promise<void>;
}

export interface StartGateOptions {
  readonly environment: Environment;
  readonly telemetry: Telemetry;
}

/** A turn that ran at this many consecutive deaths is a suspect. */
const SUSPICIOUS_DEATHS = 2;

/** Time for a suspect to make progress or survive, in milliseconds; doubled for each further death. */
const TRIAL = { firstMs: 250, mostMs: 15_000 };

/**
 * How long suspects are held back before they are tried, as a multiple of a trial: a process that somebody else kills
 * dies more likely in this time than in the trial. The hold after a death is longer than the hold and the trial before it,
 * so that a process which is always killed at the same age dies without its suspects.
 */
const HOLD_TRIALS = 4;

/** Longest hold, and longest time of one round of trials, in milliseconds. */
const ROUND_MS = 30_000;

/** If a round has many suspects, they continue in this many groups, and a group that dies is divided again. */
const GROUPS = 16;

/**
 * Decides when the handlers of turns run. Usually that is immediately. A turn that ran when the process died, twice in
 * succession, is a suspect. Suspects are held back for a while: if the process dies then, somebody else has killed it, and
 * they are suspects no more. Then they continue one group after the other, so that the next death counts only against the
 * turn that was on trial. A turn that ran at the last death only continues after the round, because a second cause would
 * make deaths during a hold meaningless. All other turns cannot have been the cause and go on.
 */
export class StartGate {
  readonly #options: StartGateOptions;
  /** The calls that wait until all turns to continue are registered; `undefined` afterwards. */
  #waiting: (() => void)[] | undefined = [];
  /** The turns that ran at the last death only. */
  #possible: Suspect[] = [];
  /** The suspects of the next round of trials. */
  #suspects: Suspect[] = [];
  #isTrying = false;
  #stopWindow = (): void => {};
  #stopped = false;

  constructor(options: StartGateOptions) {
    this.#options = options;
  }

  /** Runs code of a turn that is not continued after a crash: now, or when all turns to continue are registered. */
  pass(run: () => void): void {
    if (this.#waiting === undefined) run();
    else this.#waiting.push(run);
  }

  /** Continues a turn: at once if it cannot have ended the process, otherwise in or after a round of trials. */
  continue(turn: Suspect): void {
    if (turn.deaths === 0) this.pass(() => void turn.begin(0));
    else if (turn.deaths < SUSPICIOUS_DEATHS) this.#possible.push(turn);
    else this.#suspects.push(turn);
    if (this.#waiting === undefined) void this.#tryAll();
  }

  /** All turns to continue are registered. Resolves when those have started that are not to wait for a round of trials. */
  async open(): Promise<void> {
    if (this.#stopped) return;
    const waiting = this.#waiting ?? [];
    this.#waiting = undefined;
    for (const run of waiting) run();
    const hasTrials = this.#suspects.length > 0;
    const trying = this.#tryAll();
    if (!hasTrials) await trying;
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
    while (this.#suspects.length + this.#possible.length > 0 && !this.#stopped) {
      const suspects = this.#suspects;
      this.#suspects = [];
      if (suspects.length > 0) await this.#try(suspects);
      const possible = this.#possible;
      this.#possible = [];
      if (!this.#stopped) await Promise.all(possible.map((turn) => turn.begin(0)));
    }
    this.#isTrying = false;
  }

  /** Tries the suspects of one round. */
  async #try(suspects: readonly Suspect[]): Promise<void> {
    const deaths = suspects.reduce((most, turn) => Math.max(most, turn.deaths), 0);
    const ms = backoffMs(TRIAL, deaths - SUSPICIOUS_DEATHS);
    const holdMs = Math.min(ms * HOLD_TRIALS, ROUND_MS);
    const groups = toGroups(suspects, Math.min(GROUPS, Math.floor(ROUND_MS / ms)));
    if (suspects.length > 1) {
      const what = `the process of ${suspects.length} turns died ${SUSPICIOUS_DEATHS} times or more in succession`;
      const how = `after ${holdMs} ms they continue in ${groups.length} groups, one after the other`;
      this.#options.telemetry.fault(`${what}; ${how}`);
    }
    await Promise.all(suspects.map((turn) => turn.hold()));
    await this.#watch(suspects, holdMs);
    for (const group of groups) {
      if (this.#stopped) return;
      await Promise.all(group.map((turn) => turn.begin(group.length)));
      await this.#watch(group, ms);
      if (this.#stopped) return;
      await Promise.all(group.map((turn) => turn.accompany()));
    }
  }

  /** Waits for a time, or until all turns are sound. */
  async #watch(turns: readonly Suspect[], ms: number): Promise<void> {
    if (this.#stopped) return;
    await new Promise<void>((resolve) => {
      const stopTimer = this.#options.environment.timer(ms, resolve);
      this.#stopWindow = () => {
        stopTimer();
        resolve();
      };
      void Promise.all(turns.map(({ sound }) => sound)).then(this.#stopWindow);
    });
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
