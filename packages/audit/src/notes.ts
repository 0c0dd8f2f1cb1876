import { type Findings, WHOLE_LOG } from './fold.ts'
import { isSigned, NO_HEAD, type LogHeadReader, parseLogEnd, type openSegment } from './heads.ts'

/** A known hash of the log up to a position, from an auditor or from the market. `label`: its name in findings. */
type KnownNote = { readonly position: string; readonly hash: string; readonly label: string; isMet: boolean }

const LAST_END = 'last known end'

/** Compares the log with an auditor's own note, and with the last known end of the log. */
export async function createNoteChecks(log: LogHeadReader, note: string | undefined, findings: Findings) {
  const given = note === undefined ? undefined : toNote(parseNote(note), 'given note')
  const known = await readKnownEnd(log, findings)
  const notes = [given, known].filter((one) => one !== undefined)
  const wrong = (revision: number, what: string) => ({ stream: WHOLE_LOG, revision, what })
  return {
    meet(position: string, read: ReturnType<typeof openSegment>): void {
      for (const one of notes) if (one.position === position) one.isMet = read.reached().hash === one.hash
    },
    /** Whether the given note matches the log at this or a later position. */
    isGivenFrom: (position: string): boolean => given?.isMet === true && !isAfter(position, given.position),
    /** Whether the given note matches the log at exactly this position. The note of an empty log would match every log. */
    isGivenOf: (position: string): boolean =>
      given?.isMet === true && given.position === position && position !== NO_HEAD.position,
    /** @param end the position of the store's last event. @param last the position of the last head */
    judge(end: string, last: string, events: number): void {
      const isShort = isAfter(last, end)
      if (isShort) findings.reportFirst(wrong(events, `${describeEnd(end)}, the heads know ${last}`))
      for (const { position, label, isMet } of notes) {
        if (isMet || (isShort && label === LAST_END)) continue
        const isMissing = isAfter(position, end)
        const other = `the log up to position ${position} is not the one of the ${label}`
        findings.report(wrong(events, isMissing ? `${describeEnd(end)}, the ${label} knows ${position}` : other))
      }
    },
  }
}

const toNote = ({ position, hash }: Pick<KnownNote, 'position' | 'hash'>, label: string): KnownNote => ({
  position,
  hash,
  label,
  isMet: position === NO_HEAD.position,
})

/** Reads the last known end of the log, which remains if an attacker removes the newest heads. */
async function readKnownEnd({ key, end }: LogHeadReader, { report }: Findings): Promise<KnownNote | undefined> {
  const line = await end?.()
  if (line === undefined) return undefined
  const known = parseLogEnd(line)
  const wrong = !known
    ? 'the last known end of the log cannot be read'
    : key && !isSigned(key, line)
      ? 'the last known end of the log is not signed by the audit key'
      : undefined
  if (wrong !== undefined) report({ stream: WHOLE_LOG, revision: known?.events ?? 0, what: wrong })
  return known && wrong === undefined ? toNote(known, LAST_END) : undefined
}

const describeEnd = (position: string): string =>
  position === NO_HEAD.position ? 'the store is empty' : `the store ends at ${position}`

const toPosition = (position: string): bigint => (position === NO_HEAD.position ? -1n : BigInt(position))
const isAfter = (position: string, other: string): boolean => toPosition(position) > toPosition(other)

function parseNote(note: string): { readonly position: string; readonly hash: string } {
  const [, position, hash] = /^(\d+|start):([0-9a-f]{64})$/.exec(note) ?? []
  if (position === undefined || hash === undefined)
    throw new Error(`"${note}" is not the note of an audit: a note has the form <position>:<64 hex digits>.`)
  return { position, hash }
}
