import { defineAgent } from "troupe";
import { z } from "zod";

/**
 * Collects notes and sends a digest of them each morning. Send it notes with
 * `{"type": "Message", "name": "note", "body": "…", "key": "schedule-digest"}`; `DIGEST_CRON` sets other times.
 */
export const digest = defineAgent({
  name: "digest",
  purpose: "Collects notes and sends a digest of them each morning.",
  messages: { note: z.string().max(1_000) },
  operations: (operation) => ({
    send: operation({
      description: "Sends the notes since the last digest.",
      input: z.object({}),
      output: z.object({ notes: z.int() }),
      async run(_input, turn) {
        const notes = turn.received("note");
        const given = turn.metadata["scheduled_at"];
        const time = typeof given === "string" ? given : new Date(turn.now()).toISOString();
        await turn.text(`Digest of ${time}: ${notes.length === 0 ? "no notes" : ""}\n`);
        for (const note of notes) await turn.text(`- ${note}\n`);
        return { notes: notes.length };
      },
    }),
  }),
  schedules: {
    digest: { cron: process.env["DIGEST_CRON"] ?? "0 8 * * *", timezone: "Europe/Berlin", operation: "send" },
  },
});
