import { memoryLog } from "../../src/storage/memory/log.ts";
import type { MemoryLog } from "../../src/storage/memory/log.ts";
import { testEventLog } from "../../src/testing/event-log/test-event-log.ts";

testEventLog({
  name: "memory",
  open: async () => memoryLog(),
  reopen: async (log) => (log as MemoryLog).reopen(),
});
