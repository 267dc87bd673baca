// Serves an agent whose model is an HTTP server with OpenAI's API. Arguments: the directory that survives it, and in the
// environment the address of the model.
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { createRuntime } from "troupe";
import { aiSdkModel, llmAgent } from "troupe/llm";
import { serve } from "troupe/node";
import { sqliteLog } from "troupe/storage/sqlite";

const [, , directory = "."] = process.argv;
const { MODEL_URL: baseURL = "", MODEL_CONCURRENCY = "20" } = process.env;
const provider = createOpenAICompatible({ name: "local", baseURL, includeUsage: true });

const runtime = createRuntime({
  agents: [
    llmAgent({
      name: "clerk",
      purpose: "Answers.",
      instructions: "Be brief.",
      model: aiSdkModel(provider("small"), { concurrency: Number(MODEL_CONCURRENCY) }),
      retry: { minMs: 100, maxMs: 2_000 },
    }),
  ],
  log: sqliteLog(directory),
  limits: { idleRuns: 50 },
});
const { url } = await serve(runtime, { port: 0 });
console.log(url);
