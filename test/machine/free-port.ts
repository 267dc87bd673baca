import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

/**
 * Finds a port of this machine that nothing listens on, and keeps it for this process: no other process of the tests is given it until
 * this one ends, so a server that stops finds it free again. It is none of those that systems give to outgoing connections and to
 * servers that listen on port 0 (Linux: from 32768, others: from 49152).
 */
export async function findFreePort(): Promise<number> {
  for (let tries = 0; tries < TRIES; tries += 1) {
    const port = randomInt(10_000, 32_768);
    if (!reserve(port)) continue;
    const server = createServer().listen(port, "127.0.0.1");
    try {
      await once(server, "listening");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "EADDRINUSE") continue;
      throw error;
    }
    await once(server.close(), "close");
    return port;
  }
  throw new Error(`${TRIES} ports were tried and none was free`);
}

const TRIES = 100;

/** Finds an address of this machine that nothing listens on. */
export async function findFreeUrl(): Promise<string> {
  return `http://127.0.0.1:${await findFreePort()}`;
}

/** A file for each port that was given away, with the id of the process that has it. */
const RESERVATIONS = join(tmpdir(), "troupe-test-ports");

/** Whether this process has the port now: nobody had it, or only a process that has ended. */
function reserve(port: number): boolean {
  mkdirSync(RESERVATIONS, { recursive: true });
  const file = join(RESERVATIONS, String(port));
  try {
    writeFileSync(file, String(process.pid), { flag: "wx" });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
  if (isRunning(Number(readFileSync(file, "utf8")))) return false;
  writeFileSync(file, String(process.pid));
  return true;
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
