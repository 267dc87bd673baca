/** What the command line uses of commander. The build bundles the library into this file. */
export { Argument, Command, CommanderError, Help, InvalidArgumentError, Option } from "commander";
