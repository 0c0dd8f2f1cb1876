import { type Findings, WHOLE_LOG } from './audit-fold.ts'
import { isSigned, NO_HEAD, type ReadHeads, readEnd, type segment } from './audit-heads.ts'

/** What the log was up to a position, as somebody says who knows it. `who`: for the sentence that says otherwise. */
type Noted = { readonly position: string; readonly hash: string; readonly who: string; isMet: boolean }

const LAST_END = 'last known end'

/** Compares the log with an auditor's own note, and with its end as the market saw it last. */
export async function notesOf(log: ReadHeads, note: string | undefined, findings: Findings) {
  const given = note === undefined ? undefined : noted(parseNote(note), 'given note')
  const known = await knownEnd(log, findings)
  const notes = [given, known].filter((one) => one !== undefined)
  const wrong = (revision: number, what: string) => ({ stream: WHOLE_LOG, revision, what })
  return {
    meet(position: string, read: ReturnType<typeof segment>): void {
      for (const one of notes) if (one.position === position) one.isMet = read.reached().hash === one.hash
    },
    /** Whether a note was given, and met, that was made at a position or after it. */
    isGivenFrom: (position: string): boolean => given?.isMet === true && !isAfter(position, given.position),
    /** Whether it is of this very position. That of an empty log fits whatever was emptied. */
    isGivenOf: (position: string): boolean =>
      given?.isMet === true && given.position === position && position !== NO_HEAD.position,
    /** @param end the position of the store's last event. @param last that of the last head */
    judge(end: string, last: string, events: number): void {
      const isShort = isAfter(last, end)
      if (isShort) findings.foundFirst(wrong(events, `${endsAt(end)}, the heads know ${last}`))
      for (const { position, who, isMet } of notes) {
        if (isMet || (isShort && who === LAST_END)) continue
        const isMissing = isAfter(position, end)
        const other = `the log up to position ${position} is not the one of the ${who}`
        findings.found(wrong(events, isMissing ? `${endsAt(end)}, the ${who} knows ${position}` : other))
      }
    },
  }
}

const noted = ({ position, hash }: Pick<Noted, 'position' | 'hash'>, who: string): Noted => ({
  position,
  hash,
  who,
  isMet: position === NO_HEAD.position,
})

/** It stays where somebody takes the newest heads away. */
async function knownEnd({ key, end }: ReadHeads, { found }: Findings): Promise<Noted | undefined> {
  const line = await end?.()
  if (line === undefined) return undefined
  const known = readEnd(line)
  const wrong = !known
    ? 'the last known end of the log cannot be read'
    : key && !isSigned(key, line)
      ? 'the last known end of the log is not signed by the audit key'
      : undefined
  if (wrong !== undefined) found({ stream: WHOLE_LOG, revision: known?.events ?? 0, what: wrong })
  return known && wrong === undefined ? noted(known, LAST_END) : undefined
}

const endsAt = (position: string): string =>
  position === NO_HEAD.position ? 'the store is empty' : `the store ends at ${position}`

const placeOf = (position: string): bigint => (position === NO_HEAD.position ? -1n : BigInt(position))
const isAfter = (position: string, other: string): boolean => placeOf(position) > placeOf(other)

function parseNote(note: string): { readonly position: string; readonly hash: string } {
  const [, position, hash] = /^(\d+|start):([0-9a-f]{64})$/.exec(note) ?? []
  if (position === undefined || hash === undefined)
    throw new Error(`"${note}" is no note of an audit: it looks like <position>:<64 hex digits>.`)
  return { position, hash }
}
