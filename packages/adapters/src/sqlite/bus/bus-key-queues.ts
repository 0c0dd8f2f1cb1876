import type { KeyQueueSource } from '../../shared/key-queue-source.ts'
import { type ParkedKeyStore, toSequencedMessage } from './bus-parked-keys.ts'
import type { MarketLog } from '../market-log.ts'

const SAVE_EVERY_MS = 100

export type GroupTopic = { readonly group: string; readonly topic: string; readonly topicId: number }
export type ProgressStore = ReturnType<typeof createProgressStore>

/** Stores the progress of all consumer groups in one write every 100 ms. The log commits this write together with others. */
export function createProgressStore(log: MarketLog) {
  const upsert = log.db.prepare(`insert into checkpoints (consumer, topic, seq) values (?, ?, ?)
    on conflict do update set seq = excluded.seq`)
  const insert = log.db.prepare('insert or ignore into checkpoints (consumer, topic, seq) values (?, ?, 0)')
  const find = log.db.prepare('select seq from checkpoints where consumer = ? and topic = ?')
  const unsaved = new Map<GroupTopic, () => number>()
  let timer: NodeJS.Timeout | undefined

  function saveAll(): void {
    timer = undefined
    const saves = [...unsaved]
    unsaved.clear()
    // A failed save needs no retry, because the next save stores a newer number.
    log.write(() => saves.forEach(([{ group, topic }, progress]) => upsert.run(group, topic, progress()))).catch(() => {})
  }
  return {
    /** Adds the consumer group; runs in the caller's transaction. Retention then keeps the messages that it has not handled. */
    register: (group: string, topic: string): void => void insert.run(group, topic),
    load: ({ group, topic }: GroupTopic): number => Number(find.get(group, topic)?.['seq'] ?? 0),
    saveSoon(groupTopic: GroupTopic, progress: () => number): void {
      unsaved.set(groupTopic, progress)
      timer ??= setTimeout(saveAll, SAVE_EVERY_MS)
    },
    async saveNow(groupTopic: GroupTopic, progress: number): Promise<void> {
      unsaved.delete(groupTopic)
      await log.write(() => upsert.run(groupTopic.group, groupTopic.topic, progress))
    },
    close: (): void => clearTimeout(timer),
  }
}

export function createKeyQueueSource(
  log: MarketLog,
  progressStore: ProgressStore,
  parked: ParkedKeyStore,
  groupTopic: GroupTopic,
): KeyQueueSource {
  const { group, topic, topicId } = groupTopic
  const read = log.db.prepare('select seq, id, key, headers, body from messages where topic = ? and seq > ? order by seq limit ?')
  // There is no index by key, because this query runs only for a key with more messages than its queue buffers.
  const readKey = log.db.prepare(`select seq, id, key, headers, body from messages
    where topic = ? and seq > ? and seq <= ? and key = ? order by seq limit ?`)
  return {
    read: (after, max) => read.all(topicId, after, max).map(toSequencedMessage),
    readKey: (key, after, until, max) => readKey.all(topicId, after, until, key, max).map(toSequencedMessage),
    progress: () => progressStore.load(groupTopic),
    saveSoon: (progress) => progressStore.saveSoon(groupTopic, progress),
    saveNow: (progress) => progressStore.saveNow(groupTopic, progress),
    parkedKeys: () => parked.listForGroup(group, topic),
    park: (message, reason) => parked.park(group, topic, message, reason),
    parkBehind: (message) => parked.parkBehind(group, topic, message),
    firstParked: (key) => parked.first(group, topic, key),
    unpark: (message) => parked.remove(group, topic, message),
    release: (key) => parked.release(group, topic, key),
  }
}
