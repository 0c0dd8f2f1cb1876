import { type Command, InvalidArgumentError } from 'commander'
import type { Json } from './json.ts'
import type { OperatorCall } from './operator-client.ts'

/** The dependencies of a command. */
export type CommandContext = {
  readonly callOperator: OperatorCall
  readonly out: (text: string) => void
  /** The key that proves an operator's decisions to settlement. @throws Failure if none can be read */
  readonly readDecisionKey: () => string
  /** The data folder of the service on this machine. */
  readonly dataDir: string
}

/** Adds a command to a group, with the parts that every command has: `--json`, and an example in its help. */
export const addCommand = (parent: Command, name: string, description: string, example: string): Command =>
  parent
    .command(name)
    .description(description)
    .option('--json', 'print one JSON value and nothing else')
    .addHelpText('after', `\nExample:\n  $ penstock ${example}`)

/** Prints the service's answer, as JSON for programs or as text for people. */
export function printResult(
  context: CommandContext,
  options: { readonly json?: boolean },
  answer: Json,
  toText: (answer: Json) => string,
): void {
  context.out(`${options.json ? JSON.stringify(answer) : toText(answer)}\n`)
}

/** @throws InvalidArgumentError, whose text is printed after the argument's name */
export function parsePositiveInteger(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError('It must be a whole number above zero.')
  return Number(text)
}

/** Checks an amount and returns it as text, because a number could lose digits. */
export function parseAmountSat(text: string): string {
  if (!/^[1-9]\d{0,15}$/.test(text)) throw new InvalidArgumentError('It must be a whole number of satoshis above zero.')
  return text
}

/** Encodes an argument of the user as one segment of a path. */
export const encodePathSegment = (text: string): string => encodeURIComponent(text)
