import { createRequire } from 'node:module'
import type pretty from 'pino-pretty'

/** Loads pino-pretty only when lines are shown to a person, because it takes longer to load than the whole log. */
const loadPretty = (): typeof pretty => createRequire(import.meta.url)('pino-pretty') as typeof pretty // The package's own types

const OPTIONS = { singleLine: true, translateTime: 'SYS:HH:MM:ss.l', ignore: 'pid,hostname' } as const

/** Opens a stream of readable log lines, which are written to a file descriptor before the call returns. */
export const openPrettyStream = (descriptor: number, colour: boolean): pretty.PrettyStream =>
  loadPretty()({ ...OPTIONS, colorize: colour, destination: descriptor, sync: true })

/** @returns a function that makes a line of JSON readable, and does not change other lines */
export function createLineFormatter(colour: boolean): (line: string) => string {
  const print = loadPretty().prettyFactory({ ...OPTIONS, colorize: colour })
  return (line) => (line.startsWith('{') ? print(line).trimEnd() : line)
}
