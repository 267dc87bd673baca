import { spawn } from "node:child_process";

/** Opens an address in the browser of the person at this machine. Calls `failed` if there is none. */
export function openBrowser(url: string, failed: () => void): void {
  const [program = "", ...args] = OPENERS[process.platform] ?? ["xdg-open"];
  const child = spawn(program, [...args, url], { stdio: "ignore", detached: true });
  child.once("error", failed);
  child.once("exit", (code) => {
    if (code !== 0) failed();
  });
  child.unref();
}

const OPENERS: Partial<Record<NodeJS.Platform, readonly string[]>> = {
  darwin: ["open"],
  win32: ["cmd", "/c", "start", ""],
};
