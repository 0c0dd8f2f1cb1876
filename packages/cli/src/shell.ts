import { type Command, InvalidArgumentError } from 'commander'
import type { Json } from './json.ts'
import type { Ask } from './operator.ts'

/** What a command has at hand. */
export type Shell = {
  readonly ask: Ask
  readonly out: (text: string) => void
  /** Where the service of this machine keeps its data. */
  readonly dataDir: string
}

/** A group's command with what every command has: `--json`, and an example in its help. */
export const leaf = (parent: Command, name: string, about: string, example: string): Command =>
  parent
    .command(name)
    .description(about)
    .option('--json', 'print one JSON value and nothing else')
    .addHelpText('after', `\nExample:\n  $ penstock ${example}`)

/** Prints what the service answered, for programs or for people. */
export function print(shell: Shell, options: { readonly json?: boolean }, answer: Json, toText: (answer: Json) => string): void {
  shell.out(`${options.json ? JSON.stringify(answer) : toText(answer)}\n`)
}

/** @throws InvalidArgumentError, whose text the command line puts behind the argument's name */
export function wholeNumber(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError('It is a whole number above zero.')
  return Number(text)
}

/** An amount stays text: no number type loses digits on the way. */
export function amountSat(text: string): string {
  if (!/^[1-9]\d{0,15}$/.test(text)) throw new InvalidArgumentError('It is a whole number of satoshis above zero.')
  return text
}

/** A part of a path that came from the caller. */
export const segment = (text: string): string => encodeURIComponent(text)
