import { parseArgs, type ParseArgsOptionsConfig } from 'node:util'

/**
 * What a command of this checkout was told. Where it only has to say how it is used it does so, and the process ends: with 0
 * for `--help`, with 2 where it was given what it does not know. 1 is for what the command finds.
 */
export function optionsOf<const Options extends ParseArgsOptionsConfig>(options: Options, usage: string) {
  if (process.argv.includes('--help')) {
    console.log(usage)
    process.exit(0)
  }
  try {
    return parseArgs({ options }).values
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : String(error)}\n${usage}`)
    process.exit(2)
  }
}
