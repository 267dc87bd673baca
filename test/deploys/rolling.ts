// Replaces two nodes of a database by nodes with changed code, one after the other and without a warning, under runs that wait, and
// prints how the runs ended: npm run test:rolling [-- --runs 1000] [--no-keep]
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { findFreePort } from "../machine/free-port.ts";
import { findPrograms, PostgresServer } from "../machine/postgres-server.ts";
import { DEPLOYS, ORIGINAL } from "./deploys.ts";
import type { DeployOptions, DeployReport } from "./deploys.ts";
import { inParts, newProject, startServer } from "./server.ts";
import type { Project, StartedServer } from "./server.ts";

/** Makes runs that wait on two nodes, and answers a part of them between each two steps of a rolling update. */
export async function rollUnder(
  database: string,
  { runs, keep }: DeployOptions,
): Promise<Omit<DeployReport, "unforeseen">> {
  const projects = [await newProject(), await newProject()] as const;
  const serve = async (project: Project, files: Readonly<Record<string, string>>): Promise<StartedServer> => {
    const cluster = `http://127.0.0.1:${await findFreePort()}`;
    return startServer(
      project,
      { ...ORIGINAL, ...files },
      {
        args: ["--cluster", cluster, ...(keep ? [] : ["--no-keep-versions"])],
        env: {
          TROUPE_LOG: database,
          TROUPE_SECRETS_KEY: "a key of thirty-two characters ..",
          TROUPE_CLUSTER_SECRET: "a secret of all nodes",
        },
      },
    );
  };
  try {
    let [one, two] = [await serve(projects[0], {}), await serve(projects[1], {})];
    const ids = Array.from({ length: runs }, (_, index) => `run-${index}`);
    await inParts(ids, (id) =>
      (Number(id.slice(4)) % 2 === 0 ? one : two).post(
        "order",
        { type: "ChatRequest", input: "", request_id: id },
        "?wait=completed",
      ),
    );
    const answer = (part: number, through: () => StartedServer): Promise<void> =>
      inParts(
        ids.filter((_, index) => index % 3 === part),
        (id) =>
          through().post(
            "order",
            { type: "ResumeWithInput", request_id: id, request_keys: { ok: id } },
            "?wait=true",
          ),
      );
    // Each node dies while answers come in; those that it has taken are in the log.
    const changed = DEPLOYS["text"] ?? {};
    const [first] = await Promise.all([
      one.kill().then(() => serve(projects[0], changed)),
      answer(0, () => two),
    ]);
    one = first;
    const [second] = await Promise.all([
      two.kill().then(() => serve(projects[1], changed)),
      answer(1, () => one),
    ]);
    two = second;
    await answer(2, () => two);
    let held = 0;
    await inParts(ids, async (id) => {
      if ((await one.status(id))["status"] === "held") held += 1;
    });
    if (!keep) {
      await one.kill();
      one = await serve(projects[0], {});
      await two.kill();
      two = await serve(projects[1], {});
    }
    const ends: Record<string, number> = {};
    await inParts(ids, async (id) => {
      const { finish_reason: reason, result } = await two.ended(id);
      const end = String(result) === `ok: ${id}` ? String(reason) : `${String(reason)} without its answer`;
      ends[end] = (ends[end] ?? 0) + 1;
    });
    await Promise.all([one.kill(), two.kill()]);
    return { held, ended: Object.values(ends).reduce((sum, count) => sum + count, 0), ends };
  } finally {
    await Promise.all(projects.map((project) => project.remove()));
  }
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: { runs: { type: "string", default: "1000" }, keep: { type: "boolean", default: true } },
    allowNegative: true,
  });
  const programs = findPrograms();
  if (programs === undefined) throw new Error("there is no PostgreSQL on this machine");
  const server = new PostgresServer(programs, mkdtempSync(join(tmpdir(), "troupe-pg-")));
  await server.create();
  await server.start();
  try {
    const report = await rollUnder(server.url, { runs: Number(values.runs), keep: values.keep });
    process.stdout.write(`${JSON.stringify(report)}\n`);
    if (report.ends["success"] !== Number(values.runs) || (values.keep && report.held > 0))
      process.exitCode = 1;
  } finally {
    await server.remove();
  }
}
