import type { DatabaseSync, SQLOutputValue } from 'node:sqlite'
import type { ParkedKey } from '@penstock/ports/bus.ts'
import type { SequencedMessage } from '../../shared/key-queue-source.ts'
import type { MarketLog } from '../market-log.ts'

export type ParkedKeyStore = ReturnType<typeof createParkedKeyStore>

/** Stores parked keys with copies of their messages, so that retention may delete the originals. */
export function createParkedKeyStore(log: MarketLog, now: () => number) {
  const { db } = log
  const { insertKey, hasKey, dropKey, setReplaying, insertMessage, firstMessage, dropMessage, count } = prepareStatements(db)
  const insert = (group: string, topic: string, { key, seq, id, headers, body }: SequencedMessage): void =>
    void insertMessage.run(group, topic, key, seq, id, JSON.stringify(headers), body)

  return {
    ...createListings(db),
    park: (group: string, topic: string, message: SequencedMessage, reason: string): Promise<void> =>
      log.write(() => {
        insertKey.run(group, topic, message.key, reason, now())
        insert(group, topic, message)
      }),
    parkBehind: (group: string, topic: string, message: SequencedMessage): Promise<boolean> =>
      log.write(() => {
        if (!hasKey.get(group, topic, message.key)) return false
        // A message before the first parked one was handled already. It arrives again only because of a crash.
        const first = firstMessage.get(group, topic, message.key)?.['seq']
        if (first === undefined || message.seq > Number(first)) insert(group, topic, message)
        return true
      }),
    first(group: string, topic: string, key: string): SequencedMessage | undefined {
      const row = firstMessage.get(group, topic, key)
      return row && toSequencedMessage(row)
    },
    remove: async (group: string, topic: string, { key, seq }: SequencedMessage): Promise<void> => {
      await log.write(() => dropMessage.run(group, topic, key, seq))
    },
    release: (group: string, topic: string, key: string): Promise<boolean> =>
      log.write(() => {
        if (firstMessage.get(group, topic, key)) return false
        dropKey.run(group, topic, key)
        return true
      }),
    /** @returns the number of messages to replay */
    startReplay: (group: string, topic: string, key: string): Promise<number> =>
      log.write(() => {
        setReplaying.run(group, topic, key)
        return Number(count.get(group, topic, key)?.['messages'])
      }),
  }
}

/** Lists parked keys, for operators and for a starting dispatcher. */
function createListings(db: DatabaseSync) {
  const all = db.prepare(`select consumer, topic, key, reason, since, (select count(*) from parked_messages m
    where m.consumer = k.consumer and m.topic = k.topic and m.key = k.key) as messages from parked_keys k order by since`)
  const keysOf = db.prepare('select key, replaying from parked_keys where consumer = ? and topic = ?')
  const replaying = db.prepare('select consumer, topic, key from parked_keys where replaying = 1')
  const parkedKeyOf = (row: Record<string, SQLOutputValue>) => ({
    group: String(row['consumer']),
    topic: String(row['topic']),
    key: String(row['key']),
  })
  return {
    list: (): readonly ParkedKey[] =>
      all.all().map((row) => ({
        ...parkedKeyOf(row),
        reason: String(row['reason']),
        since: Number(row['since']),
        messages: Number(row['messages']),
      })),
    listForGroup: (group: string, topic: string) =>
      keysOf.all(group, topic).map((row) => ({ key: String(row['key']), replaying: row['replaying'] === 1 })),
    replaying: () => replaying.all().map(parkedKeyOf),
  }
}

function prepareStatements(db: DatabaseSync) {
  return {
    insertKey: db.prepare(`insert into parked_keys (consumer, topic, key, reason, since, replaying) values (?, ?, ?, ?, ?, 0)
    on conflict do update set reason = excluded.reason, replaying = 0`),
    hasKey: db.prepare('select 1 from parked_keys where consumer = ? and topic = ? and key = ?'),
    dropKey: db.prepare('delete from parked_keys where consumer = ? and topic = ? and key = ?'),
    setReplaying: db.prepare('update parked_keys set replaying = 1 where consumer = ? and topic = ? and key = ?'),
    insertMessage: db.prepare(`insert or ignore into parked_messages (consumer, topic, key, seq, id, headers, body)
    values (?, ?, ?, ?, ?, ?, ?)`),
    firstMessage: db.prepare(`select seq, id, key, headers, body from parked_messages
    where consumer = ? and topic = ? and key = ? order by seq limit 1`),
    dropMessage: db.prepare('delete from parked_messages where consumer = ? and topic = ? and key = ? and seq = ?'),
    count: db.prepare('select count(*) as messages from parked_messages where consumer = ? and topic = ? and key = ?'),
  }
}

export const toSequencedMessage = (row: Record<string, SQLOutputValue>): SequencedMessage => ({
  seq: Number(row['seq']),
  id: String(row['id']),
  key: String(row['key']),
  headers: JSON.parse(String(row['headers'])) as Record<string, string>, // `publish` wrote it from such a record
  body: String(row['body']),
})
