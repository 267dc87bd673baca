import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout } from "node:timers/promises";
import { findFreePort } from "../machine/free-port.ts";

export const PROXIES = ["caddy", "haproxy", "nginx"] as const;
export type ProxyName = (typeof PROXIES)[number];

/** A proxy that runs with the file of the package. */
export interface RunningProxy extends AsyncDisposable {
  readonly url: string;
}

/** The program of a proxy on this machine. */
export function findProxy(name: ProxyName): string | undefined {
  const folders = [...(process.env["PATH"] ?? "").split(":"), "/usr/sbin", "/usr/local/sbin"];
  return folders.map((folder) => join(folder, name)).find((file) => existsSync(file));
}

/** Starts a proxy with the file of the package, in which only the addresses are replaced. */
export async function startProxy(name: ProxyName, nodes: readonly string[]): Promise<RunningProxy> {
  const program = findProxy(name);
  if (program === undefined) throw new Error(`there is no ${name} on this machine`);
  const folder = await mkdtemp(join(tmpdir(), `troupe-${name}-`));
  const port = await findFreePort();
  const { file, wrap, args } = KINDS[name];
  let text = await readFile(join(SHIPPED, file), "utf8");
  for (const [index, node] of nodes.entries()) text = replaceIn(text, `10.0.0.${index + 1}:4100`, node);
  const config = join(folder, file);
  await writeFile(config, wrap(text, { folder, port }));
  const child = spawn(program, args(config, folder), {
    env: { ...process.env, HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const pipe of [child.stdout, child.stderr])
    pipe.on("data", (chunk: Buffer) => (output += String(chunk)));
  const exited = once(child, "exit");
  const url = `http://127.0.0.1:${port}`;
  for (;;) {
    if (child.exitCode !== null) throw new Error(`${name} has ended: ${output}`);
    const response = await fetch(`${url}/readyz`).catch(() => undefined);
    await response?.arrayBuffer();
    if (response?.status === 200) break;
    await setTimeout(50);
  }
  return {
    url,
    async [Symbol.asyncDispose]() {
      child.kill("SIGTERM");
      await exited;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

const SHIPPED = resolve(import.meta.dirname, "../../deploy/proxies");

interface Place {
  readonly folder: string;
  readonly port: number;
}

interface Kind {
  readonly file: string;
  /** The text of the file with an address of this machine, and with what the file of the system has around it. */
  wrap(text: string, place: Place): string;
  args(config: string, folder: string): readonly string[];
}

const KINDS: Readonly<Record<ProxyName, Kind>> = {
  nginx: {
    file: "nginx.conf",
    wrap: (text, { folder, port }) => {
      const paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
      return [
        `daemon off; worker_processes 2; pid ${folder}/pid; error_log stderr error;`,
        "events { worker_connections 4096; }",
        "http {",
        "  access_log off;",
        ...paths.map((path) => `  ${path}_temp_path ${folder}/${path};`),
        replaceIn(text, "listen 80;", `listen 127.0.0.1:${port};`),
        "}",
      ].join("\n");
    },
    args: (config, folder) => ["-e", "stderr", "-p", folder, "-c", config],
  },
  caddy: {
    file: "Caddyfile",
    wrap: (text, { port }) =>
      `{\n\tadmin off\n\tlog {\n\t\tlevel ERROR\n\t}\n}\n${replaceIn(text, "agents.example.com {", `http://127.0.0.1:${port} {`)}`,
    args: (config) => ["run", "--config", config, "--adapter", "caddyfile"],
  },
  haproxy: {
    file: "haproxy.cfg",
    wrap: (text, { port }) => replaceIn(text, "bind :80", `bind 127.0.0.1:${port}`),
    args: (config) => ["-db", "-f", config],
  },
};

function replaceIn(text: string, what: string, by: string): string {
  if (!text.includes(what)) throw new Error(`the file has no ${what}`);
  return text.replaceAll(what, by);
}
