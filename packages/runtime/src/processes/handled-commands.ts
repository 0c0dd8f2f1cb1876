import { splitForStatements } from '@penstock/kernel/statement-sizes.ts'
import type { Views } from '@penstock/ports/views.ts'
import type { Kysely } from 'kysely'
import { LRUCache } from 'lru-cache'
import { STREAM_CACHE_SIZE } from '../stream-cache-size.ts'

/**
 * The commands of own streams that other services have handled, as their facts and outcomes show. `command` contains the
 * category of the receiver and the id of the command. A row that is lost or pruned costs one repetition of its command.
 */
type HandledCommandsTable = {
  handled_commands: { service: string; stream: string; command: string; handled_at: number }
}

/** A command as its receiver handles it. */
export type HandledCommandId = { readonly category: string; readonly commandId: string }

export type HandledCommands = {
  /** Whether a fact or an outcome has shown that the receiver handled this command of the stream. */
  has(stream: string, command: HandledCommandId): boolean
  /** Records that the receiver handled a command of the stream; the next flush saves it. */
  record(stream: string, command: HandledCommandId): void
  /** Reads what the replicas have recorded about these streams. */
  load(streams: readonly string[]): Promise<void>
  /** Saves the records since the last flush. @returns their streams */
  flush(now: number): Promise<readonly string[]>
  /** Deletes the rows of commands that were handled before `before`. */
  prune(before: number): Promise<void>
}

export async function createHandledCommandsTable(db: Kysely<object>): Promise<void> {
  await db.schema
    .createTable('handled_commands')
    .addColumn('service', 'text', (column) => column.notNull())
    .addColumn('stream', 'text', (column) => column.notNull())
    .addColumn('command', 'text', (column) => column.notNull())
    .addColumn('handled_at', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('handled_commands_pk', ['service', 'stream', 'command'])
    .execute()
}

export function trackHandledCommands(views: Views, service: string): HandledCommands {
  const db = views.db.$extendTables<HandledCommandsTable>()
  const known = new LRUCache<string, ReadonlySet<string>>({ max: STREAM_CACHE_SIZE })
  const add = (stream: string, command: string): void => void known.set(stream, new Set(known.get(stream)).add(command))
  let pending = new Map<string, ReadonlySet<string>>()

  async function save(batch: ReadonlyMap<string, ReadonlySet<string>>, handledAt: number): Promise<void> {
    const rows = [...batch]
      .flatMap(([stream, commands]) => [...commands].map((command) => ({ service, stream, command, handled_at: handledAt })))
      // Two flushes lock their common rows in the same order.
      .toSorted((a, b) => (a.stream + a.command < b.stream + b.command ? -1 : 1))
    for (const group of splitForStatements(rows))
      await db
        .insertInto('handled_commands')
        .values(group)
        .onConflict((conflict) =>
          conflict
            .columns(['service', 'stream', 'command'])
            .doUpdateSet((row) => ({ handled_at: row.ref('excluded.handled_at') })),
        )
        .execute()
  }

  return {
    has: (stream, command) => known.get(stream)?.has(keyOf(command)) ?? false,
    record(stream, command) {
      const key = keyOf(command)
      add(stream, key)
      pending.set(stream, new Set(pending.get(stream)).add(key))
    },
    async load(streams) {
      for (const group of splitForStatements(streams)) {
        const rows = db.selectFrom('handled_commands').select(['stream', 'command']).where('service', '=', service)
        for (const { stream, command } of await rows.where('stream', 'in', group).execute()) add(stream, command)
      }
    },
    async flush(now) {
      if (pending.size === 0) return []
      const batch = pending
      pending = new Map()
      const streams = [...batch.keys()]
      try {
        await save(batch, now)
      } catch (error) {
        for (const [stream, commands] of batch) pending.set(stream, new Set([...commands, ...(pending.get(stream) ?? [])]))
        throw error
      }
      return streams
    },
    async prune(before) {
      await db.deleteFrom('handled_commands').where('service', '=', service).where('handled_at', '<', before).execute()
    },
  }
}

/** The category belongs to the key, so that only the receiver's own messages show that it handled a command. */
const keyOf = ({ category, commandId }: HandledCommandId): string => `${category} ${commandId}`
