/**
 * Parses a launcher's arguments. A request for help prints it and ends the process with 0. A wrong argument prints the
 * error and the help, and ends the process with 2.
 * @param parse returns undefined for a request for help, and throws Error for a wrong argument
 */
export function parseLauncherOptions<T>(help: string, parse: () => T | undefined): T {
  try {
    const options = parse()
    if (options !== undefined) return options
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : String(error)}\n\n${help}`)
    process.exit(2)
  }
  console.log(help)
  process.exit(0)
}

/** Parses the value of `--log`. @throws Error with a sentence for the user */
export function parseLogFormat(value: string | undefined): 'json' | 'text' | undefined {
  if (value === undefined || value === 'json' || value === 'text') return value
  throw new Error(`--log is "${value}"; it must be json or text.`)
}

export const LOG_HELP = '--log <format>  format of log lines: text or json; by default text on a terminal and json elsewhere'
