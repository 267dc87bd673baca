import type { Agent } from "troupe";
import { calculator } from "../../agents/calculator.ts";
import { echo } from "../../agents/echo.ts";
import { interviewer } from "../../agents/interviewer.ts";
import { notebook } from "../../agents/notebook.ts";
import { order } from "../../agents/order.ts";
import { payments } from "../../agents/payments.ts";
import { pdfWriter } from "../../agents/pdf-writer.ts";
import { member, room } from "../../agents/room.ts";
import { team } from "../../agents/team.ts";
import { ticker } from "../../agents/ticker.ts";
import { listener } from "../runtime/messages/agents.ts";
import { hurried } from "./hurried.ts";
import { stubborn } from "./stubborn.ts";

/** One agent for each role of the protocol suite. */
export const agents: readonly Agent[] = [
  echo,
  notebook,
  ticker,
  calculator,
  payments,
  interviewer,
  team,
  pdfWriter,
  listener,
  room,
  member,
  order,
  hurried,
  stubborn,
];
