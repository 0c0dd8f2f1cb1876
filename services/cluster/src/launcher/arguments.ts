/**
 * What a launcher was asked for by its arguments. Who asks for help gets it and the process ends with 0; who cannot be
 * understood is told why, and it ends with 2.
 * @param parse undefined: help was asked for
 */
export function understood<T>(help: string, parse: () => T | undefined): T {
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
