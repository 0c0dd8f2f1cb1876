import type { DeterministicBus } from '@penstock/adapters/deterministic/bus.ts'
import type { Logger } from '@penstock/runtime/observability/log.ts'

/** Log lines of processes and notes about actions, with simulated times. A failure report contains the last lines. */
export type SimulationTrace = {
  createLog(process: string): Logger
  note(text: string): void
  readonly recent: () => readonly string[]
  /** Descriptions of all messages that the bus has parked, including those that were replayed. */
  readonly parkedMessages: readonly string[]
}

type TraceLine = { readonly at: number; readonly source: string; readonly text: string; readonly fields: object }

const MAX_LINES = 600

export function createTrace(now: () => number, { parkings }: Pick<DeterministicBus, 'parkings'>): SimulationTrace {
  const lines: TraceLine[] = []
  const addLine = (line: TraceLine): void => {
    lines.push(line)
    if (lines.length > 2 * MAX_LINES) lines.splice(0, MAX_LINES)
  }
  const createLog = (source: string, boundFields: object = {}): Logger => {
    const logAt = (level: string) => (fields: object, text: string) =>
      addLine({ at: now(), source: `${level} ${source}`, text, fields: { ...boundFields, ...fields } })
    return {
      debug: () => undefined,
      info: logAt('info '),
      warn: logAt('warn '),
      error: logAt('ERROR'),
      child: (fields) => createLog(source, { ...boundFields, ...fields }),
    }
  }
  return {
    createLog: (process) => createLog(process),
    note: (text) => addLine({ at: now(), source: 'world', text, fields: {} }),
    recent: () => lines.slice(-MAX_LINES).map(formatLine),
    get parkedMessages() {
      return parkings().map(({ group, topic, key, reason }) => `${group} has set ${key} of ${topic} aside: ${reason}`)
    },
  }
}

const formatLine = ({ at, source, text, fields }: TraceLine): string =>
  `${at} ${source}: ${text}${Object.keys(fields).length > 0 ? ` ${JSON.stringify(fields)}` : ''}`
