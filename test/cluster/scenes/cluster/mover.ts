// A process that moves shards as `troupe shards move` does: mover.ts CONNECTIONS_JSON MOVE_JSON. It prints a line for each that has moved.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { PostgresConnection } from "troupe/postgres";
import { movePostgresShards } from "../../../../src/storage/postgres/inspect-shards.ts";
import type { ShardMove } from "../../../../src/storage/postgres/shards/move-shards.ts";

/** Such a process. */
export interface MoverProcess {
  /** Resolves when so many shards have moved, or when it has ended. */
  moved(count: number): Promise<void>;
  /** Kills it, and resolves when it is gone, with whether it had not ended before. */
  kill(): Promise<boolean>;
}

/** Starts a move. */
export function startMover(databases: readonly PostgresConnection[], move: ShardMove): MoverProcess {
  const args = [
    "--conditions=troupe-source",
    import.meta.filename,
    JSON.stringify(databases),
    JSON.stringify(move),
  ];
  const child = spawn(process.execPath, args, {
    env: { NODE_COMPILE_CACHE: join(tmpdir(), "troupe-scenes-cache"), ...process.env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const exited = once(child, "exit");
  const lines = createInterface(child.stdout);
  let seen = 0;
  lines.on("line", () => (seen += 1));
  return {
    async moved(count) {
      const isRunning = (): boolean => child.exitCode === null && child.signalCode === null;
      while (seen < count && isRunning()) await Promise.race([once(lines, "line"), exited]);
    },
    async kill() {
      child.kill("SIGKILL");
      await exited;
      return child.signalCode === "SIGKILL";
    },
  };
}

if (import.meta.main) {
  const [databases = "", move = ""] = process.argv.slice(2);
  await movePostgresShards(
    JSON.parse(databases) as readonly PostgresConnection[],
    JSON.parse(move) as ShardMove,
    ({ shard }) => console.log(shard),
  );
}
