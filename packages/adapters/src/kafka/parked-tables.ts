import type { BusMessage, ParkedKey } from '@penstock/ports/bus.ts'
import type { Views } from '@penstock/ports/views.ts'
import type { Kysely } from 'kysely'
import type { ReceivedMessage } from './consumer/to-bus-message.ts'

/**
 * `consumer` is the group, `part` the partition, `seq` the offset. Messages are copies, so that they outlive the topic's
 * retention.
 */
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
type ParkedDb = Kysely<ParkedTables>

export type ParkedKeyId = { readonly group: string; readonly topic: string; readonly key: string }
/** The state of a parked key, as the members of its group need it. */
export type ParkedKeyState = ParkedKeyId & { readonly partition: number; readonly replaying: boolean }
export type SharedParkedKeys = Awaited<ReturnType<typeof openSharedParkedKeys>>

/** Parked keys in tables that all processes share, because keys move between the members of a group. */
export async function openSharedParkedKeys(views: Views, now: () => number) {
  await views.migrate('bus', [createTables])
  const db = views.db.$extendTables<ParkedTables>()
  const inTransaction = <T>(run: (trx: ParkedDb) => Promise<T>): Promise<T> => db.transaction().execute(run)

  return {
    list: () => listParked(db),
    async listStates(): Promise<readonly ParkedKeyState[]> {
      const rows = await db.selectFrom('bus_parked_keys').select(['consumer', 'topic', 'key', 'part', 'replaying']).execute()
      return rows.map(toParkedKeyState)
    },
    /** Parks a key with the lost messages and then the message that cannot be handled. A replay of the key ends. */
    park: (parkedKey: ParkedKeyId, message: ReceivedMessage, reason: string, lost: readonly BusMessage[] = []): Promise<void> =>
      inTransaction(async (trx) => {
        const { group: consumer, topic, key } = parkedKey
        await trx
          .insertInto('bus_parked_keys')
          .values({ consumer, topic, key, part: message.partition, reason, since: now(), replaying: 0 })
          .onConflict((conflict) => conflict.columns(['consumer', 'topic', 'key']).doUpdateSet({ reason, replaying: 0 }))
          .execute()
        // Lost messages get the offsets just before this message. No parked message has these offsets, because the messages at
        // them were handled.
        const { partition, offset, at } = message
        for (const [index, lostMessage] of lost.entries())
          await insertMessage(trx, parkedKey, { ...lostMessage, partition, offset: offset - lost.length + index, at })
        await insertMessage(trx, parkedKey, message)
      }),
    /** Adds a later message to a parked key. @returns false if the key is not parked */
    parkBehind: (parkedKey: ParkedKeyId, message: ReceivedMessage): Promise<boolean> =>
      inTransaction(async (trx) => {
        const { numUpdatedRows } = await lockKey(trx, parkedKey)
        if (numUpdatedRows === 0n) return false
        const first = await selectFirst(trx, parkedKey)
        if (first && (!isLater(message, first) || (await isStored(trx, parkedKey, message)))) return true
        await insertMessage(trx, parkedKey, message)
        return true
      }),
    async first(parkedKey: ParkedKeyId): Promise<ReceivedMessage | undefined> {
      const row = await selectFirst(db, parkedKey)
      return row && { ...row, headers: JSON.parse(row.headers) as Record<string, string> } // written by `insertMessage` from such a record
    },
    /** Removes a message that was handled in a replay. */
    async remove(parkedKey: ParkedKeyId, { partition, offset }: ReceivedMessage): Promise<void> {
      await whereKey(db.deleteFrom('bus_parked_messages'), parkedKey)
        .where('part', '=', partition)
        .where('seq', '=', offset)
        .execute()
    },
    /** Releases the key if it has no messages. @returns whether it was released */
    release: (parkedKey: ParkedKeyId): Promise<boolean> =>
      inTransaction(async (trx) => {
        await lockKey(trx, parkedKey)
        if (await selectFirst(trx, parkedKey)) return false
        await whereKey(trx.deleteFrom('bus_parked_keys'), parkedKey).execute()
        return true
      }),
    /** @returns the number of messages to handle again */
    startReplay: (parkedKey: ParkedKeyId): Promise<number> =>
      inTransaction(async (trx) => {
        await whereKey(trx.updateTable('bus_parked_keys').set({ replaying: 1 }), parkedKey).execute()
        const count = trx.selectFrom('bus_parked_messages').select((select) => select.fn.countAll<number>().as('messages'))
        return Number((await whereKey(count, parkedKey).executeTakeFirst())?.messages ?? 0)
      }),
  }
}

const toParkedKeyState = (row: Omit<ParkedTables['bus_parked_keys'], 'reason' | 'since'>): ParkedKeyState => ({
  group: row.consumer,
  topic: row.topic,
  key: row.key,
  partition: row.part,
  replaying: row.replaying === 1,
})

/**
 * Whether a message is later than the first parked message. An earlier message was handled before the parking, and arrives again
 * after a crash. In a recreated topic a new message may have a lower offset, so a later timestamp counts too. A message of
 * another partition counts as later, because the offsets of two partitions cannot be compared.
 */
const isLater = (message: ReceivedMessage, first: ReceivedMessage | Omit<ReceivedMessage, 'headers'>): boolean =>
  message.partition !== first.partition || message.offset > first.offset || message.at > first.at

type Filtered<Q> = { where(column: 'consumer' | 'topic' | 'key', operator: '=', value: string): Q }
const whereKey = <Q extends Filtered<Q>>(query: Q, { group, topic, key }: ParkedKeyId): Q =>
  query.where('consumer', '=', group).where('topic', '=', topic).where('key', '=', key)

/** Locks the key by a write before the reads, so that transactions of two processes run one after the other. */
const lockKey = (trx: ParkedDb, parkedKey: ParkedKeyId) =>
  whereKey(
    trx.updateTable('bus_parked_keys').set((set) => ({ reason: set.ref('reason') })),
    parkedKey,
  ).executeTakeFirstOrThrow()

async function insertMessage(
  trx: ParkedDb,
  { group: consumer, topic, key }: ParkedKeyId,
  message: ReceivedMessage,
): Promise<void> {
  const { partition: part, offset: seq, at, id, headers, body } = message
  await trx
    .insertInto('bus_parked_messages')
    .values({ consumer, topic, key, part, seq, at, id, headers: JSON.stringify(headers), body })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

/**
 * Selects the next message of a replay. Offsets order the messages of one partition. The brokers' timestamps order the first
 * messages of two partitions, which a key has if its messages have two priorities.
 */
async function selectFirst(db: ParkedDb, parkedKey: ParkedKeyId) {
  const query = whereKey(db.selectFrom('bus_parked_messages').selectAll(), parkedKey)
    .where((build) =>
      build.not(
        build.exists(
          build
            .selectFrom('bus_parked_messages as earlier')
            .select('earlier.seq')
            .where('earlier.consumer', '=', parkedKey.group)
            .where('earlier.topic', '=', parkedKey.topic)
            .where('earlier.key', '=', parkedKey.key)
            .whereRef('earlier.part', '=', 'bus_parked_messages.part')
            .whereRef('earlier.seq', '<', 'bus_parked_messages.seq'),
        ),
      ),
    )
    .orderBy('at')
    .orderBy('part')
    .limit(1)
  const row = await query.executeTakeFirst()
  if (!row) return undefined
  const { id, key, headers, body, part, seq, at } = row
  return { id, key, headers, body, partition: part, offset: Number(seq), at: Number(at) }
}

/** Compares ids, because a republished message has another offset. */
async function isStored(db: ParkedDb, parkedKey: ParkedKeyId, { id }: ReceivedMessage): Promise<boolean> {
  const same = whereKey(db.selectFrom('bus_parked_messages').select('seq'), parkedKey).where('id', '=', id)
  return (await same.executeTakeFirst()) !== undefined
}

async function listParked(db: ParkedDb): Promise<readonly ParkedKey[]> {
  const rows = await db
    .selectFrom('bus_parked_keys as k')
    .selectAll('k')
    .select((select) =>
      select
        .selectFrom('bus_parked_messages as m')
        .whereRef('m.consumer', '=', 'k.consumer')
        .whereRef('m.topic', '=', 'k.topic')
        .whereRef('m.key', '=', 'k.key')
        .select((expression) => expression.fn.countAll<number>().as('messages'))
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
