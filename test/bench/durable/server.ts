import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sqliteLog } from "troupe/storage/sqlite";
import { serveTurns } from "../servers/turn-server.ts";

const given = process.env["DATA"];
const directory = given ?? mkdtempSync(join(tmpdir(), "troupe-bench-"));
if (given === undefined) process.on("exit", () => rmSync(directory, { recursive: true, force: true }));

await serveTurns(sqliteLog(directory));
