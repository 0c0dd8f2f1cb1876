import type { BusMessage, ParkedKey } from '@penstock/ports/bus.ts'
import type { Views } from '@penstock/ports/views.ts'
import type { Kysely } from 'kysely'
import type { Received } from './received.ts'

/** `part`: the partition. Messages are copies, so that the topic's retention does not take them. */
type ParkedTables = {
  bus_parked_keys: {
    consumer: string
    topic: string
    key: string
    part: number
    reason: string
    since: number
    replaying: number
  }
  bus_parked_messages: {
    consumer: string
    topic: string
    key: string
    part: number
    seq: number
    at: number
    id: string
    headers: string
    body: string
  }
}
type Tables = Kysely<ParkedTables>

export type Place = { readonly group: string; readonly topic: string; readonly key: string }
/** A parked key as the members of its group look at it. */
export type Waiting = Place & { readonly partition: number; readonly replaying: boolean }
export type ParkedKeys = Awaited<ReturnType<typeof parkedKeys>>

/** Parked keys in tables that all processes share, since the group's members change hands. */
export async function parkedKeys(views: Views, now: () => number) {
  await views.migrate('bus', [createTables])
  const db = views.db.$extendTables<ParkedTables>()
  const inTransaction = <T>(work: (trx: Tables) => Promise<T>): Promise<T> => db.transaction().execute(work)

  return {
    list: () => listParked(db),
    async waiting(): Promise<readonly Waiting[]> {
      const rows = await db.selectFrom('bus_parked_keys').select(['consumer', 'topic', 'key', 'part', 'replaying']).execute()
      return rows.map(({ consumer, topic, key, part, replaying }) => ({
        group: consumer,
        topic,
        key,
        partition: part,
        replaying: replaying === 1,
      }))
    },
    /** Sets a key aside with the message that cannot be handled, behind what was lost; a key under replay goes back to waiting. */
    park: (place: Place, message: Received, reason: string, lost: readonly BusMessage[] = []): Promise<void> =>
      inTransaction(async (trx) => {
        const { group: consumer, topic, key } = place
        await trx
          .insertInto('bus_parked_keys')
          .values({ consumer, topic, key, part: message.partition, reason, since: now(), replaying: 0 })
          .onConflict((conflict) => conflict.columns(['consumer', 'topic', 'key']).doUpdateSet({ reason, replaying: 0 }))
          .execute()
        // In the places before it, where nothing of this key is kept: whatever came before was handled.
        const { partition, offset, at } = message
        for (const [index, one] of lost.entries())
          await keep(trx, place, { ...one, partition, offset: offset - lost.length + index, at })
        await keep(trx, place, message)
      }),
    /** Adds a later message to a parked key. @returns false where the key is not parked any more */
    parkBehind: (place: Place, message: Received): Promise<boolean> =>
      inTransaction(async (trx) => {
        const { numUpdatedRows } = await locked(trx, place)
        if (numUpdatedRows === 0n) return false
        const first = await firstRow(trx, place)
        if (first && (!isLater(message, first) || (await isKept(trx, place, message)))) return true
        await keep(trx, place, message)
        return true
      }),
    async first(place: Place): Promise<Received | undefined> {
      const row = await firstRow(db, place)
      return row && { ...row, headers: JSON.parse(row.headers) as Record<string, string> } // written by `keep` from such a record
    },
    /** Removes a message that was handled in a replay. */
    async remove(place: Place, { partition, offset }: Received): Promise<void> {
      await ofKey(db.deleteFrom('bus_parked_messages'), place).where('part', '=', partition).where('seq', '=', offset).execute()
    },
    /** Frees the key if none of its messages is left. @returns whether it is free */
    release: (place: Place): Promise<boolean> =>
      inTransaction(async (trx) => {
        await locked(trx, place)
        if (await firstRow(trx, place)) return false
        await ofKey(trx.deleteFrom('bus_parked_keys'), place).execute()
        return true
      }),
    /** @returns how many messages wait to be handled again */
    startReplay: (place: Place): Promise<number> =>
      inTransaction(async (trx) => {
        await ofKey(trx.updateTable('bus_parked_keys').set({ replaying: 1 }), place).execute()
        const count = trx.selectFrom('bus_parked_messages').select((select) => select.fn.countAll<number>().as('messages'))
        return Number((await ofKey(count, place).executeTakeFirst())?.messages ?? 0)
      }),
  }
}

/** What lies before the first was handled before, and comes again after a crash. In a topic that was made anew it lies later in time. */
const isLater = (message: Received, first: Received | Omit<Received, 'headers'>): boolean =>
  message.partition !== first.partition || message.offset > first.offset || message.at > first.at

type Filtered<Q> = { where(column: 'consumer' | 'topic' | 'key', operator: '=', value: string): Q }
const ofKey = <Q extends Filtered<Q>>(query: Q, { group, topic, key }: Place): Q =>
  query.where('consumer', '=', group).where('topic', '=', topic).where('key', '=', key)

/** Written before it is read, so that two processes take turns. */
const locked = (trx: Tables, place: Place) =>
  ofKey(
    trx.updateTable('bus_parked_keys').set((set) => ({ reason: set.ref('reason') })),
    place,
  ).executeTakeFirstOrThrow()

async function keep(trx: Tables, { group: consumer, topic, key }: Place, message: Received): Promise<void> {
  const { partition: part, offset: seq, at, id, headers, body } = message
  await trx
    .insertInto('bus_parked_messages')
    .values({ consumer, topic, key, part, seq, at, id, headers: JSON.stringify(headers), body })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

async function firstRow(db: Tables, place: Place) {
  const query = ofKey(db.selectFrom('bus_parked_messages').selectAll(), place).orderBy('seq').limit(1)
  const row = await query.executeTakeFirst()
  if (!row) return undefined
  const { id, key, headers, body, part, seq, at } = row
  return { id, key, headers, body, partition: part, offset: Number(seq), at: Number(at) }
}

/** What was published again has another place in the topic. */
async function isKept(db: Tables, place: Place, { id }: Received): Promise<boolean> {
  const same = ofKey(db.selectFrom('bus_parked_messages').select('seq'), place).where('id', '=', id)
  return (await same.executeTakeFirst()) !== undefined
}

async function listParked(db: Tables): Promise<readonly ParkedKey[]> {
  const rows = await db
    .selectFrom('bus_parked_keys as k')
    .selectAll('k')
    .select((select) =>
      select
        .selectFrom('bus_parked_messages as m')
        .whereRef('m.consumer', '=', 'k.consumer')
        .whereRef('m.topic', '=', 'k.topic')
        .whereRef('m.key', '=', 'k.key')
        .select((of) => of.fn.countAll<number>().as('messages'))
        .as('messages'),
    )
    .orderBy('since')
    .execute()
  return rows.map(({ consumer, topic, key, reason, since, messages }) => ({
    group: consumer,
    topic,
    key,
    reason,
    since: Number(since),
    messages: Number(messages),
  }))
}

async function createTables(db: Views['db']): Promise<void> {
  await db.schema
    .createTable('bus_parked_keys')
    .addColumn('consumer', 'text', (column) => column.notNull())
    .addColumn('topic', 'text', (column) => column.notNull())
    .addColumn('key', 'text', (column) => column.notNull())
    .addColumn('part', 'integer', (column) => column.notNull())
    .addColumn('reason', 'text', (column) => column.notNull())
    .addColumn('since', 'bigint', (column) => column.notNull())
    .addColumn('replaying', 'integer', (column) => column.notNull())
    .addPrimaryKeyConstraint('bus_parked_keys_key', ['consumer', 'topic', 'key'])
    .execute()
  await db.schema
    .createTable('bus_parked_messages')
    .addColumn('consumer', 'text', (column) => column.notNull())
    .addColumn('topic', 'text', (column) => column.notNull())
    .addColumn('key', 'text', (column) => column.notNull())
    .addColumn('part', 'integer', (column) => column.notNull())
    .addColumn('seq', 'bigint', (column) => column.notNull())
    .addColumn('at', 'bigint', (column) => column.notNull())
    .addColumn('id', 'text', (column) => column.notNull())
    .addColumn('headers', 'text', (column) => column.notNull())
    .addColumn('body', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('bus_parked_messages_key', ['consumer', 'topic', 'key', 'part', 'seq'])
    .execute()
}
