import type { LaneSource } from '../shared/lane-source.ts'
import { type ParkedKeys, sequenced } from './bus-parked.ts'
import type { MarketLog } from './log.ts'

const SAVE_EVERY_MS = 100

export type Lane = { readonly group: string; readonly topic: string; readonly topicId: number }
export type ProgressKeeper = ReturnType<typeof progressKeeper>

/** Keeps the progress of all groups with one write a few times a second, in a commit that others share. */
export function progressKeeper(log: MarketLog) {
  const upsert = log.db.prepare(`insert into checkpoints (consumer, topic, seq) values (?, ?, ?)
    on conflict do update set seq = excluded.seq`)
  const insert = log.db.prepare('insert or ignore into checkpoints (consumer, topic, seq) values (?, ?, 0)')
  const find = log.db.prepare('select seq from checkpoints where consumer = ? and topic = ?')
  const dirty = new Map<Lane, () => number>()
  let timer: NodeJS.Timeout | undefined

  function saveAll(): void {
    timer = undefined
    const work = [...dirty]
    dirty.clear()
    // A fault is not this one's to handle: the next save carries the newer number.
    log.write(() => work.forEach(([{ group, topic }, progress]) => upsert.run(group, topic, progress()))).catch(() => {})
  }
  return {
    /** In a transaction: from now on the group counts, and what it has not handled is kept for it. */
    register: (group: string, topic: string): void => void insert.run(group, topic),
    load: ({ group, topic }: Lane): number => Number(find.get(group, topic)?.['seq'] ?? 0),
    saveSoon(lane: Lane, progress: () => number): void {
      dirty.set(lane, progress)
      timer ??= setTimeout(saveAll, SAVE_EVERY_MS)
    },
    async saveNow(lane: Lane, progress: number): Promise<void> {
      dirty.delete(lane)
      await log.write(() => upsert.run(lane.group, lane.topic, progress))
    },
    close: (): void => clearTimeout(timer),
  }
}

export function laneSource(log: MarketLog, keeper: ProgressKeeper, parked: ParkedKeys, lane: Lane): LaneSource {
  const { group, topic, topicId } = lane
  const read = log.db.prepare('select seq, id, key, headers, body from messages where topic = ? and seq > ? order by seq limit ?')
  // Without an index by key: this is read only for a key with more messages than a lane keeps, and from its place on.
  const readKey = log.db.prepare(`select seq, id, key, headers, body from messages
    where topic = ? and seq > ? and seq <= ? and key = ? order by seq limit ?`)
  return {
    read: (after, max) => read.all(topicId, after, max).map(sequenced),
    readKey: (key, after, until, max) => readKey.all(topicId, after, until, key, max).map(sequenced),
    progress: () => keeper.load(lane),
    saveSoon: (progress) => keeper.saveSoon(lane, progress),
    saveNow: (progress) => keeper.saveNow(lane, progress),
    parkedKeys: () => parked.of(group, topic),
    park: (message, reason) => parked.park(group, topic, message, reason),
    parkBehind: (message) => parked.parkBehind(group, topic, message),
    firstParked: (key) => parked.first(group, topic, key),
    unpark: (message) => parked.remove(group, topic, message),
    release: (key) => parked.release(group, topic, key),
  }
}
