import { parseArgs, type ParseArgsConfig, type ParseArgsOptionsConfig } from 'node:util'

/**
 * What a command of this checkout was told. Where it only has to say how it is used it does so, and the process ends: with 0
 * for `--help`, with 2 where it was given what it does not know. 1 is for what the command finds.
 */
export const optionsOf = <const Options extends ParseArgsOptionsConfig>(options: Options, usage: string) =>
  told({ options }, usage).values

/** The same for a command that takes words beside its options. */
export const optionsAndWordsOf = <const Options extends ParseArgsOptionsConfig>(options: Options, usage: string) =>
  told({ options, allowPositionals: true }, usage)

/** The same for a command that takes words alone. */
export const wordsOf = (usage: string): readonly string[] => optionsAndWordsOf({}, usage).positionals

/** Ends the process where what it was told is wrong. */
export function refuse(sentence: string, usage: string): never {
  console.error(`${sentence}\n${usage}`)
  process.exit(2)
}

function told<const Config extends ParseArgsConfig>(config: Config, usage: string) {
  if (process.argv.includes('--help')) {
    console.log(usage)
    process.exit(0)
  }
  try {
    return parseArgs(config)
  } catch (error) {
    return refuse(error instanceof Error ? error.message : String(error), usage)
  }
}
