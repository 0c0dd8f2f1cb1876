import type { Views } from '@penstock/ports/views.ts'
import { withOutcomeTable } from './outcome-table.ts'

/** `revision`: the last revision of the aggregate's stream after the command; null if the stream has no facts. */
export type CommandAnswer =
  | { readonly outcome: 'accepted'; readonly revision: number | null }
  | { readonly outcome: 'refused'; readonly code: string; readonly message: string }
  /** No answer arrived before `until`. A receiver drops a command that arrives after `until`. */
  | { readonly outcome: 'unanswered' }

type Lookup = PromiseWithResolvers<CommandAnswer | undefined>

/** Limits the parameters of a statement. */
const MAX_IDS = 1000

/**
 * Creates a lookup of recorded answers. Lookups that arrive during a query share the next query, so many waiting requests cost few
 * queries.
 */
export function createAnswerLookup(views: Pick<Views, 'db'>): (commandId: string) => Promise<CommandAnswer | undefined> {
  const waiting = new Map<string, Lookup>()
  let isReading = false

  async function readWaiting(): Promise<void> {
    isReading = true
    while (waiting.size > 0) {
      const lookups = [...waiting].slice(0, MAX_IDS)
      const ids = lookups.map(([id]) => id)
      for (const id of ids) waiting.delete(id)
      try {
        const answers = await readAnswers(views, ids)
        for (const [id, { resolve }] of lookups) resolve(answers.get(id))
      } catch (error) {
        for (const [, { reject }] of lookups) reject(error)
      }
    }
    isReading = false
  }

  return (commandId) => {
    const lookup: Lookup = waiting.get(commandId) ?? Promise.withResolvers()
    waiting.set(commandId, lookup)
    if (!isReading) void readWaiting()
    return lookup.promise
  }
}

async function readAnswers(views: Pick<Views, 'db'>, ids: readonly string[]): Promise<ReadonlyMap<string, CommandAnswer>> {
  const rows = await withOutcomeTable(views)
    .selectFrom('gateway_commands')
    .select(['id', 'revision', 'code', 'message'])
    .where('id', 'in', ids)
    .execute()
  return new Map(
    rows.map(({ id, revision, code, message }) => [
      id,
      code === null ? { outcome: 'accepted', revision } : { outcome: 'refused', code, message: message ?? code },
    ]),
  )
}
