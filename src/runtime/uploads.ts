import type { ArtifactStore } from "../ports/artifact-store.ts";
import type { Environment } from "../ports/environment.ts";
import type { Telemetry } from "../ports/telemetry.ts";

/** What the removal of uploads needs. */
export interface UploadsOptions {
  readonly artifacts: ArtifactStore;
  readonly environment: Environment;
  readonly telemetry: Telemetry;
}

/** How long a file that belongs to no run waits for a request that attaches it. */
const WAIT_MS = 86_400_000;

/** Between two looks for files that waited too long. */
const LOOKS_MS = 3_600_000;

/** Removes files that were uploaded and then attached to nothing for a day. */
export class Uploads {
  readonly #options: UploadsOptions;
  #stopTimer: (() => void) | undefined;
  #stopped = false;

  /** Looks for what was left over from before. */
  constructor(options: UploadsOptions) {
    this.#options = options;
    this.#look();
  }

  /** Hears of a file without a run: as long as there are any, they are looked after. */
  came(): void {
    if (this.#stopped) return;
    this.#stopTimer ??= this.#options.environment.timer(LOOKS_MS, () => {
      this.#stopTimer = undefined;
      this.#look();
    });
  }

  stop(): void {
    this.#stopped = true;
    this.#stopTimer?.();
  }

  #look(): void {
    const { artifacts, environment, telemetry } = this.#options;
    artifacts.removeUnattached(environment.now() - WAIT_MS).then(
      (kept) => {
        if (kept > 0) this.came();
      },
      (error: unknown) => {
        telemetry.fault("old files could not be removed", error);
        this.came();
      },
    );
  }
}
