import type { ArtifactId } from "../../protocol/ids.ts";
import type { Upload } from "../api.ts";
import { artifactUrl } from "../artifacts/artifact.ts";
import { sendMessage } from "../run/messages.ts";
import { readRenewed, renewedError } from "../run/renewal.ts";
import type { Queries } from "../queries/queries.ts";
import type { HostContext } from "../run-context.ts";

/** How long a file without a run waits for a request that attaches it. */
const WAIT_MS = 86_400_000;

/** The interval between two checks for such files. */
const LOOKS_MS = 3_600_000;

/** Stores client files, and removes those that no request attaches within a day. */
export class Uploads {
  readonly #context: HostContext;
  readonly #queries: Queries;
  #stopTimer: (() => void) | undefined;
  #stopped = false;

  /** Checks for files that were left by an earlier process. */
  constructor(context: HostContext, queries: Queries) {
    this.#context = context;
    this.#queries = queries;
    this.#look();
  }

  /** Stores a file for a run or for a later request. */
  async take({ runId, ...file }: Upload): Promise<{ readonly artifactId: ArtifactId; readonly url: string }> {
    const { environment, files, log, router } = this.#context;
    const artifactId = environment.newId() as ArtifactId;
    const url = artifactUrl(artifactId);
    const artifact = { artifactId, createdAt: environment.now(), ...file };
    try {
      if (runId === undefined) {
        await files.store.put(artifact);
      } else {
        const run = await this.#queries.run(runId);
        const renewed = await readRenewed(log, run);
        if (renewed) throw renewedError(runId, renewed.to);
        const { agent } = run;
        await files.offer({ ...artifact, runId }, ({ name, mimeType, sizeBytes }) =>
          sendMessage(router, runId, {
            kind: "uploaded",
            agent,
            artifact: { artifactId, name, mimeType, sizeBytes, url },
          }),
        );
      }
    } finally {
      this.#came();
    }
    return { artifactId, url };
  }

  stop(): void {
    this.#stopped = true;
    this.#stopTimer?.();
  }

  /** Starts the periodic check. It runs while there are files without a run or reserved ones, and always with several nodes. */
  #came(): void {
    if (this.#stopped) return;
    this.#stopTimer ??= this.#context.environment.timer(LOOKS_MS, () => {
      this.#stopTimer = undefined;
      this.#look();
    });
  }

  #look(): void {
    const { environment, files, log, telemetry } = this.#context;
    files.store.removeUnattached(environment.now() - WAIT_MS).then(
      (kept) => {
        if (kept > 0 || log.node !== undefined) this.#came();
      },
      (error: unknown) => {
        telemetry.fault("old files could not be removed", error);
        this.#came();
      },
    );
  }
}
