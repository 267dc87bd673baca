import { postgresLog } from "troupe/postgres";
import { serveTurns } from "../servers/turn-server.ts";

await serveTurns(await postgresLog({ url: process.env["DATA"] ?? "" }));
