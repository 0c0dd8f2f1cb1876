import { parseArgs, type ParseArgsConfig, type ParseArgsOptionsConfig } from 'node:util'

/**
 * Parses the options of a development command. `--help` prints the usage and exits with 0. An unknown option prints the usage and
 * exits with 2. Exit code 1 is reserved for findings of the command.
 */
export const parseCommandOptions = <const Options extends ParseArgsOptionsConfig>(options: Options, usage: string) =>
  parseCommandLine({ options }, usage).values

/** Does the same as `parseCommandOptions` for a command with options and positional arguments. */
export const parseOptionsAndPositionals = <const Options extends ParseArgsOptionsConfig>(options: Options, usage: string) =>
  parseCommandLine({ options, allowPositionals: true }, usage)

/** Does the same as `parseCommandOptions` for a command with only positional arguments. */
export const parsePositionals = (usage: string): readonly string[] => parseOptionsAndPositionals({}, usage).positionals

/** Prints the message and the usage, and exits with 2. */
export function exitWithUsage(message: string, usage: string): never {
  console.error(`${message}\n${usage}`)
  process.exit(2)
}

function parseCommandLine<const Config extends ParseArgsConfig>(config: Config, usage: string) {
  if (process.argv.includes('--help')) {
    console.log(usage)
    process.exit(0)
  }
  try {
    return parseArgs(config)
  } catch (error) {
    return exitWithUsage(error instanceof Error ? error.message : String(error), usage)
  }
}
