import { isHumanReadable, type LogFormat } from '@penstock/runtime/observability/log.ts'
import { createLineFormatter } from '@penstock/runtime/observability/pretty-log.ts'
import type { PrintLine } from './process-supervisor.ts'

/** Prints the lines of processes, and the sentences of the launcher. */
export type Display = { readonly printLine: PrintLine; readonly printText: (text: string) => void }

const WIDTH = 17

/** @param print receives whole lines without their line break */
export function display(format: LogFormat, output: { readonly isTTY?: boolean }, print: (line: string) => void): Display {
  if (!isHumanReadable(format, output))
    return { printLine: (who, line) => print(toJsonLine(who, line)), printText: (text) => print(toJsonLine('launcher', text)) }
  const readable = createLineFormatter(output.isTTY === true)
  return { printLine: (who, line) => print(`${who.padEnd(WIDTH)}  ${readable(line)}`), printText: print }
}

/** Adds the process's name to a line of JSON. Any other line becomes the `msg` of a new JSON object. */
function toJsonLine(who: string, line: string): string {
  const fields = parseFields(line)
  return JSON.stringify(
    fields ? { ...fields, process: who } : { level: INFO, time: new Date().toISOString(), process: who, msg: line },
  )
}
/** The level `info` of pino. */
const INFO = 30

function parseFields(line: string): object | undefined {
  if (!line.startsWith('{')) return undefined
  try {
    return JSON.parse(line) as object // it begins with a brace
  } catch {
    return undefined
  }
}
