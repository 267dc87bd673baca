// A registry of npm packages for tests without a network.
import { readFile } from "node:fs/promises";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { root, run } from "../house/packed.ts";

/** A registry on this machine. */
export interface Registry {
  readonly url: string;
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Serves what is packed in a folder, by name, and every package that is installed in this repository as it is there. There is
 * one version of each.
 */
export async function startRegistry(
  folder: string,
  archives: Readonly<Record<string, string>>,
): Promise<Registry> {
  const server = createServer((request, response) => {
    const path = decodeURIComponent(new URL(request.url ?? "/", "http://registry").pathname).slice(1);
    const answer = path.endsWith(".tgz")
      ? readFile(join(folder, path.slice(path.lastIndexOf("/") + 1)))
      : describe(path);
    answer.then(
      (body) => response.end(body),
      () => response.writeHead(404).end("{}"),
    );
  });
  const describe = async (name: string): Promise<string> => {
    const archive = archives[name] ?? (await pack(name));
    const packed = await run("tar", ["-xzOf", archive, "package/package.json"], folder);
    const description = JSON.parse(packed) as { readonly version: string };
    const { version } = description;
    const { port } = server.address() as AddressInfo;
    const dist = { tarball: `http://127.0.0.1:${port}/${archive}` };
    return JSON.stringify({
      name,
      "dist-tags": { latest: version },
      versions: { [version]: { ...description, dist } },
    });
  };
  /** Packs an installed package, without the packages in it. */
  const pack = async (name: string): Promise<string> => {
    const archive = `${name.replaceAll("/", "-")}.tgz`;
    const transform = `--transform=s,^${name},package,`;
    const source = ["-C", join(root, "node_modules"), "--exclude=*/node_modules", name];
    await run("tar", ["-czhf", archive, transform, ...source], folder);
    return archive;
  };
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
